import type { Hex } from "viem";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { SettlementFixture } from "../settlement-fixture.ts";
import type { Payload } from "../x402-fixture.ts";
import { type SmartWallet, walletOf, withDeployment } from "./smart-wallet.ts";

/** A factory that works like the one on the list, and is not on it. */
const STRANGER = `0x${"5a".repeat(20)}` as const;

let fixture: SettlementFixture;
let owner: Awaited<ReturnType<SettlementFixture["x402"]["buyer"]>>;
let wallet: SmartWallet;
/** Bodies of the requests that reached the node. */
let asked: string[] = [];

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-erc6492");
  const { x402 } = fixture;
  const code = await x402.rpc<Hex>("eth_getCode", x402.contracts.walletFactory, "latest");
  await x402.rpc("anvil_setCode", STRANGER, code);
});

beforeEach(async () => {
  const { x402 } = fixture;
  owner = await x402.buyer();
  wallet = await walletOf(x402, owner);
  fixture.source = await x402.source();
  asked = [];
  fixture.onRpc(({ body, forward }) => {
    asked.push(body.toLowerCase());
    return forward();
  });
});
afterEach(() => vi.unstubAllGlobals());

/** A payment of the wallet, signed by its owner; without a word of how to deploy it. */
const signed = (signer = owner, method: "eip3009" | "permit2" = "eip3009") =>
  fixture.x402.payment(signer, fixture.source, method, wallet.address);

const isDeployed = async (address: Hex) =>
  (await fixture.x402.rpc("eth_getCode", address, "latest")) !== "0x";

/** What the facilitator wallet has spent so far: transactions and gas. */
async function spent() {
  const { x402 } = fixture;
  const { address } = x402.facilitator;
  const transactions = await x402.rpc("eth_getTransactionCount", address, "pending");
  return { transactions, balance: await x402.rpc("eth_getBalance", address, "latest") };
}

/** The payment fails with the reason, and leaves the chain and the facilitator as they were. */
async function expectRefused(payment: Payload, errorReason: string): Promise<void> {
  const before = await spent();
  fixture.payment = payment;
  const { status, data } = await fixture.settle();
  expect(status).toBe(200);
  expect(data).toMatchObject({
    replay: false,
    settleResponse: { success: false, errorReason, transaction: "" },
  });
  await fixture.expectFailedOnce(errorReason);
  expect(await spent()).toEqual(before);
  expect(await isDeployed(wallet.address)).toBe(false);
}

describe("POST /x402/settle for a wallet that is not deployed yet", () => {
  it("deploys it and moves the money in one transaction, once", async () => {
    const before = Number((await spent()).transactions);
    fixture.payment = withDeployment(await signed(), wallet);
    const { data } = await fixture.settle();
    expect(data).toMatchObject({
      replay: false,
      settleResponse: { success: true, payer: wallet.address.toLowerCase(), amount: "10000" },
    });
    expect(await isDeployed(wallet.address)).toBe(true);
    expect(await fixture.x402.balance(wallet.address)).toBe(990_000n);
    expect(Number((await spent()).transactions)).toBe(before + 1);

    const again = (await fixture.settle()).data;
    expect(again).toMatchObject({ replay: true, settleResponse: data.settleResponse });
    expect(Number((await spent()).transactions)).toBe(before + 1);
    await fixture.expectSettledOnce();
  });

  it("moves the money once for ten submissions at once", async () => {
    fixture.payment = withDeployment(await signed(), wallet);
    const answers = await Promise.all(Array.from({ length: 10 }, () => fixture.settle()));
    expect(answers.every(({ data }) => data.settleResponse.success)).toBe(true);
    expect(answers.filter(({ data }) => !data.replay)).toHaveLength(1);
    await fixture.expectSettledOnce();
  });

  it("answers 409 to its authorization without the deployment, once it is settled", async () => {
    const bare = await signed();
    fixture.payment = withDeployment(bare, wallet);
    const { attemptId } = (await fixture.settle()).data;
    fixture.payment = bare;
    const { status, message } = await fixture.settle();
    expect({ status, message }).toEqual({
      status: 409,
      message: expect.stringContaining(attemptId),
    });
    expect(await fixture.paidIn()).toHaveLength(1);
  });

  it("fails a deployment that reverts, and settles with one that does not", async () => {
    const bare = await signed();
    const failing = withDeployment(bare, { ...wallet, deployment: "0xdeadbeef" });
    await expectRefused(failing, "smart_wallet_deployment_failed");
    fixture.payment = withDeployment(bare, wallet);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("fails a deployment that reverts although the payer needs none", async () => {
    const payment = await fixture.x402.payment(owner, fixture.source);
    const failing = withDeployment(payment, { ...wallet, deployment: "0xdeadbeef" });
    await expectRefused(failing, "smart_wallet_deployment_failed");
  });

  it("fails a deployment of another wallet, which is not deployed either", async () => {
    const other = await walletOf(fixture.x402, await fixture.x402.buyer());
    const payment = withDeployment(await signed(), other);
    await expectRefused(payment, "invalid_exact_evm_transaction_simulation_failed");
    expect(await isDeployed(other.address)).toBe(false);
  });

  it("fails what its owner did not sign, and deploys nothing", async () => {
    const payment = withDeployment(await signed(await fixture.x402.buyer()), wallet);
    await expectRefused(payment, "invalid_exact_evm_transaction_simulation_failed");
  });

  it("fails a payment by Permit2, which knows no such wallets", async () => {
    const payment = withDeployment(await signed(owner, "permit2"), wallet);
    await expectRefused(payment, "invalid_permit2_signature");
  });
});

describe("POST /x402/settle with a factory that is not on the network's list", () => {
  const expectNotAsked = () => {
    expect(asked.some((body) => body.includes("eth_getcode"))).toBe(true);
    expect(asked.filter((body) => body.includes(STRANGER.slice(2)))).toEqual([]);
  };

  it("fails the payment and never calls the factory", async () => {
    wallet = await walletOf(fixture.x402, owner, STRANGER);
    asked = [];
    const payment = withDeployment(await signed(), wallet);
    await expectRefused(payment, "eip6492_factory_not_allowed");
    expectNotAsked();
  });

  it("never calls the factory for a wallet that is there already", async () => {
    const { factory, deployment } = wallet;
    await fixture.x402.transact(owner.address, factory, deployment);
    fixture.payment = withDeployment(await signed(), { factory: STRANGER, deployment });
    await fixture.expectSettledOnce();
    expectNotAsked();
  });

  it("never calls the factory for a payer with a key of its own", async () => {
    const payment = await fixture.x402.payment(owner, fixture.source);
    const { deployment } = wallet;
    const wrapped = withDeployment(payment, { factory: STRANGER, deployment });
    await expectRefused(wrapped, "eip6492_factory_not_allowed");
    expectNotAsked();
  });
});

describe("a wallet that is deployed already", () => {
  beforeEach(async () => {
    const { x402 } = fixture;
    await x402.transact(owner.address, wallet.factory, wallet.deployment);
    await x402.approvePermit2(wallet.address);
  });

  it.each(["eip3009", "permit2"] as const)(
    "pays by %s with a signature that keeps its wrapper",
    async (method) => {
      fixture.payment = withDeployment(await signed(owner, method), wallet);
      const verdict = await facilitate("verify", fixture.payment);
      expect(verdict.body).toMatchObject({ isValid: true });
      await fixture.expectSettledOnce();
    },
  );

  it.each([
    ["eip3009", "invalid_exact_evm_signature"],
    ["permit2", "invalid_permit2_signature"],
  ] as const)("does not pay by %s what another key signed", async (method, errorReason) => {
    const stranger = await fixture.x402.buyer();
    fixture.payment = withDeployment(await signed(stranger, method), wallet);
    expect((await fixture.settle()).data.settleResponse).toMatchObject({
      success: false,
      errorReason,
    });
    await fixture.expectFailedOnce(errorReason);
  });

  it.each([
    ["eip3009", "invalid_exact_evm_signature"],
    ["permit2", "invalid_permit2_signature"],
  ] as const)("does not pay by %s with a wrapper around nothing", async (method, errorReason) => {
    const payment = await signed(owner, method);
    const signature = `0x${"6492".repeat(16)}`;
    fixture.payment = { ...payment, payload: { ...payment.payload, signature } };
    expect((await fixture.settle()).data.settleResponse).toMatchObject({
      success: false,
      errorReason,
    });
  });
});
