import type { Hex } from "viem";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import type { Payload } from "../rail.ts";
import { Scene } from "../scene.ts";
import { type SmartWallet, walletOf, withDeployment } from "./smart-wallet.ts";

/** A factory that works like the one on the list, and is not on it. */
const STRANGER = `0x${"5a".repeat(20)}` as const;

let scene: Scene;
let owner: Awaited<ReturnType<Scene["rail"]["buyer"]>>;
let wallet: SmartWallet;
/** Bodies of the requests that reached the node. */
let asked: string[] = [];

beforeAll(async () => {
  await emptyTables();
  scene = await Scene.open("84532-erc6492");
  const { rail } = scene;
  const code = await rail.rpc<Hex>("eth_getCode", rail.contracts.walletFactory, "latest");
  await rail.rpc("anvil_setCode", STRANGER, code);
});

beforeEach(async () => {
  const { rail } = scene;
  owner = await rail.buyer();
  wallet = await walletOf(rail, owner);
  scene.source = await rail.source();
  asked = [];
  scene.onRpc(({ body, forward }) => {
    asked.push(body.toLowerCase());
    return forward();
  });
});
afterEach(() => vi.unstubAllGlobals());

/** A payment of the wallet, signed by its owner; without a word of how to deploy it. */
const signed = (signer = owner, method: "eip3009" | "permit2" = "eip3009") =>
  scene.rail.payment(signer, scene.source, method, wallet.address);

const isDeployed = async (address: Hex) =>
  (await scene.rail.rpc("eth_getCode", address, "latest")) !== "0x";

/** What the facilitator wallet has spent so far: transactions and gas. */
async function spent() {
  const { rail } = scene;
  const { address } = rail.facilitator;
  const transactions = await rail.rpc("eth_getTransactionCount", address, "pending");
  return { transactions, balance: await rail.rpc("eth_getBalance", address, "latest") };
}

/** The payment fails with the reason, and leaves the chain and the facilitator as they were. */
async function expectRefused(payment: Payload, errorReason: string): Promise<void> {
  const before = await spent();
  scene.payment = payment;
  const { status, data } = await scene.settle();
  expect(status).toBe(200);
  expect(data).toMatchObject({
    replay: false,
    settleResponse: { success: false, errorReason, transaction: "" },
  });
  await scene.expectFailedOnce(errorReason);
  expect(await spent()).toEqual(before);
  expect(await isDeployed(wallet.address)).toBe(false);
}

describe("POST /x402/settle for a wallet that is not deployed yet", () => {
  it("deploys it and moves the money in one transaction, once", async () => {
    const before = Number((await spent()).transactions);
    scene.payment = withDeployment(await signed(), wallet);
    const { data } = await scene.settle();
    expect(data).toMatchObject({
      replay: false,
      settleResponse: { success: true, payer: wallet.address.toLowerCase(), amount: "10000" },
    });
    expect(await isDeployed(wallet.address)).toBe(true);
    expect(await scene.rail.balance(wallet.address)).toBe(990_000n);
    expect(Number((await spent()).transactions)).toBe(before + 1);

    const again = (await scene.settle()).data;
    expect(again).toMatchObject({ replay: true, settleResponse: data.settleResponse });
    expect(Number((await spent()).transactions)).toBe(before + 1);
    await scene.expectSettledOnce();
  });

  it("moves the money once for ten submissions at once", async () => {
    scene.payment = withDeployment(await signed(), wallet);
    const answers = await Promise.all(Array.from({ length: 10 }, () => scene.settle()));
    expect(answers.every(({ data }) => data.settleResponse.success)).toBe(true);
    expect(answers.filter(({ data }) => !data.replay)).toHaveLength(1);
    await scene.expectSettledOnce();
  });

  it("answers 409 to its authorization without the deployment, once it is settled", async () => {
    const bare = await signed();
    scene.payment = withDeployment(bare, wallet);
    const { attemptId } = (await scene.settle()).data;
    scene.payment = bare;
    const { status, message } = await scene.settle();
    expect({ status, message }).toEqual({
      status: 409,
      message: expect.stringContaining(attemptId),
    });
    expect(await scene.paidIn()).toHaveLength(1);
  });

  it("fails a deployment that reverts, and settles with one that does not", async () => {
    const bare = await signed();
    const failing = withDeployment(bare, { ...wallet, deployment: "0xdeadbeef" });
    await expectRefused(failing, "smart_wallet_deployment_failed");
    scene.payment = withDeployment(bare, wallet);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("fails a deployment that reverts although the payer needs none", async () => {
    const payment = await scene.rail.payment(owner, scene.source);
    const failing = withDeployment(payment, { ...wallet, deployment: "0xdeadbeef" });
    await expectRefused(failing, "smart_wallet_deployment_failed");
  });

  it("fails a deployment of another wallet, which is not deployed either", async () => {
    const other = await walletOf(scene.rail, await scene.rail.buyer());
    const payment = withDeployment(await signed(), other);
    await expectRefused(payment, "invalid_exact_evm_transaction_simulation_failed");
    expect(await isDeployed(other.address)).toBe(false);
  });

  it("fails what its owner did not sign, and deploys nothing", async () => {
    const payment = withDeployment(await signed(await scene.rail.buyer()), wallet);
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
    wallet = await walletOf(scene.rail, owner, STRANGER);
    asked = [];
    const payment = withDeployment(await signed(), wallet);
    await expectRefused(payment, "eip6492_factory_not_allowed");
    expectNotAsked();
  });

  it("never calls the factory for a wallet that is there already", async () => {
    const { factory, deployment } = wallet;
    await scene.rail.transact(owner.address, factory, deployment);
    scene.payment = withDeployment(await signed(), { factory: STRANGER, deployment });
    await scene.expectSettledOnce();
    expectNotAsked();
  });

  it("never calls the factory for a payer with a key of its own", async () => {
    const payment = await scene.rail.payment(owner, scene.source);
    const { deployment } = wallet;
    const wrapped = withDeployment(payment, { factory: STRANGER, deployment });
    await expectRefused(wrapped, "eip6492_factory_not_allowed");
    expectNotAsked();
  });
});

describe("a wallet that is deployed already", () => {
  beforeEach(async () => {
    const { rail } = scene;
    await rail.transact(owner.address, wallet.factory, wallet.deployment);
    await rail.approvePermit2(wallet.address);
  });

  it.each(["eip3009", "permit2"] as const)(
    "pays by %s with a signature that keeps its wrapper",
    async (method) => {
      scene.payment = withDeployment(await signed(owner, method), wallet);
      const verdict = await facilitate("verify", scene.payment);
      expect(verdict.body).toMatchObject({ isValid: true });
      await scene.expectSettledOnce();
    },
  );

  it.each([
    ["eip3009", "invalid_exact_evm_signature"],
    ["permit2", "invalid_permit2_signature"],
  ] as const)("does not pay by %s what another key signed", async (method, errorReason) => {
    const stranger = await scene.rail.buyer();
    scene.payment = withDeployment(await signed(stranger, method), wallet);
    expect((await scene.settle()).data.settleResponse).toMatchObject({
      success: false,
      errorReason,
    });
    await scene.expectFailedOnce(errorReason);
  });

  it.each([
    ["eip3009", "invalid_exact_evm_signature"],
    ["permit2", "invalid_permit2_signature"],
  ] as const)("does not pay by %s with a wrapper around nothing", async (method, errorReason) => {
    const payment = await signed(owner, method);
    const signature = `0x${"6492".repeat(16)}`;
    scene.payment = { ...payment, payload: { ...payment.payload, signature } };
    expect((await scene.settle()).data.settleResponse).toMatchObject({
      success: false,
      errorReason,
    });
  });
});
