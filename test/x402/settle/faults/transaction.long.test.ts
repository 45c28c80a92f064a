import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readAuthorization } from "../../../../src/x402/evm/authorization.ts";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, isForAnybody, SettlementFixture } from "../../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A separate node for each test, since they set time and blocks back.
  fixture = await SettlementFixture.open(`84532-transaction-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

const EXPIRED = "invalid_exact_evm_payload_authorization_valid_before";
const BY_DAYS = 86_400;

interface Transaction {
  nonce: string;
  maxFeePerGas: string;
  maxPriorityFeePerGas: string;
}

const transactionOf = (hash: string) =>
  fixture.x402.rpc<Transaction | null>("eth_getTransactionByHash", hash);

/** The next block comes when every authorization of the test has expired. */
async function letExpire(): Promise<void> {
  await fixture.x402.rpc("evm_increaseTime", BY_DAYS);
  await fixture.x402.rpc("evm_mine");
}

describe("a transaction that no block includes in time", () => {
  it("is pending with its hash, and the payment sent again joins it", async () => {
    const pending = await fixture.settlePending();
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified", Settlement: null }]);
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.x402.rpc("evm_mine");
    expect((await fixture.settleDecided()).data).toMatchObject({
      replay: true,
      settleResponse: { success: true, transaction: pending.settleResponse.transaction },
    });
    await fixture.expectSettledOnce();
  });

  it("is settled by the alarms, without its caller", async () => {
    await fixture.settlePending();
    await fixture.x402.rpc("evm_mine");
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    await fixture.expectSettledOnce();
  });

  it("is settled after its caller went away", async () => {
    await fixture.x402.rpc("evm_setAutomine", false);
    let isSent = false;
    fixture.onRpc(async (sent) => {
      const answer = await sent.forward();
      isSent ||= broadcasts(sent);
      return answer;
    });
    const caller = new AbortController();
    const answer = fixture.settleFor(caller.signal);
    await vi.waitUntil(() => isSent, { timeout: 120_000 });
    caller.abort();
    await expect(answer).rejects.toThrow();
    await fixture.x402.rpc("evm_mine");
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    await fixture.expectSettledOnce();
  });

  it("is sent again when the node has forgotten it", async () => {
    const { settleResponse } = await fixture.settlePending();
    await fixture.x402.rpc("anvil_dropAllTransactions");
    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
    expect(await fixture.paidIn()).toEqual([settleResponse.transaction]);
  });

  it("is signed again when another transaction of the wallet uses its nonce", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    const { nonce, maxFeePerGas: gasPrice } =
      (await transactionOf(settleResponse.transaction)) ?? {};
    await x402.rpc("anvil_dropAllTransactions");
    const from = x402.facilitator.address;
    await x402.rpc("anvil_impersonateAccount", from);
    const rival = await x402.rpc<string>("eth_sendTransaction", { from, to: from, gasPrice });
    expect(await transactionOf(rival)).toMatchObject({ nonce });
    await x402.rpc("evm_mine");
    await x402.rpc("evm_setAutomine", true);
    await fixture.expectSettledOnce();
    expect(await fixture.paidIn()).not.toContain(settleResponse.transaction);
    expect(await x402.rpc("eth_getTransactionReceipt", settleResponse.transaction)).toBeNull();
  });

  it("is replaced at a higher fee with the same nonce when it pays too little", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    const first = await transactionOf(settleResponse.transaction);
    // The base fee rises above what it offers, within the reservation for a permit; four blocks pass it by.
    const baseFee = (BigInt(first?.maxFeePerGas ?? 0) * 3n) / 2n;
    for (let block = 0; block < 4; block++) {
      await x402.rpc("anvil_setNextBlockBaseFeePerGas", toHex(baseFee));
      await x402.rpc("evm_increaseTime", 5);
      await x402.rpc("evm_mine");
    }
    await x402.rpc("evm_setAutomine", true);
    await fixture.expectSettledOnce();
    const [paidIn = ""] = await fixture.paidIn();
    expect(paidIn).not.toBe(settleResponse.transaction);
    const second = await transactionOf(paidIn);
    expect(second?.nonce).toBe(first?.nonce);
    const fees = ["maxFeePerGas", "maxPriorityFeePerGas"] as const;
    for (const fee of fees)
      expect(BigInt(second?.[fee] ?? 0) * 1000n).toBeGreaterThanOrEqual(
        BigInt(first?.[fee] ?? 0) * 1125n,
      );
  });

  if (isForAnybody())
    it("settles the payment even when another sender brings the authorization to the chain first", async () => {
      await fixture.settlePending();
      await fixture.x402.bringToChain(fixture.payment);
      await fixture.x402.rpc("evm_mine");
      await fixture.expectSettledOnce();
    });
});

describe("a transaction that reverts", () => {
  it("fails the payment, which settles when it is sent again with funds", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    const { from } = readAuthorization(fixture.payment.payload);
    // The payer spends the money elsewhere before the block is made.
    await x402.emptyAccount(from);
    await x402.rpc("evm_mine");
    await fixture.fireAlarms();
    const failed = await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(failed?.Settlement).toMatchObject({
      success: false,
      txHash: settleResponse.transaction,
    });
    expect(await fixture.events()).toEqual(["X402_PAYMENT_FAILED"]);

    await x402.rpc("evm_setAutomine", true);
    await x402.mint(x402.contracts.token, from, 10_000n);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });
});

describe("an authorization that expires while its transaction waits", () => {
  it("fails permanently, and another transaction uses up the wallet's nonce", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    const { nonce } = (await transactionOf(settleResponse.transaction)) ?? {};
    await x402.rpc("anvil_dropAllTransactions");
    await letExpire();
    await x402.rpc("evm_setAutomine", true);
    await fixture.fireAlarms();
    await fixture.expectFailedOnce(EXPIRED);
    const next = await x402.rpc("eth_getTransactionCount", x402.facilitator.address, "latest");
    expect(Number(next)).toBe(Number(nonce) + 1);
  });

  it("fails with the transaction when a block includes the transaction too late", async () => {
    const { settleResponse } = await fixture.settlePending();
    await letExpire();
    await fixture.fireAlarms();
    const failed = await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(failed?.Settlement).toMatchObject({ txHash: settleResponse.transaction });
    expect((await fixture.settle()).data.settleResponse.success).toBe(false);
    expect(await fixture.paidIn()).toEqual([]);
  });

  if (isForAnybody())
    it("is settled when another sender had brought it to the chain in time", async () => {
      const { x402 } = fixture;
      await fixture.settlePending();
      await x402.rpc("anvil_dropAllTransactions");
      await x402.bringToChain(fixture.payment);
      await x402.rpc("evm_mine");
      await letExpire();
      await x402.rpc("evm_setAutomine", true);
      await fixture.fireAlarms();
      const [paidIn] = await fixture.paidIn();
      expect(await fixture.paidIn()).toHaveLength(1);
      expect(await fixture.attempts()).toMatchObject([
        { status: "Settled", Settlement: { success: true, txHash: paidIn } },
      ]);
    });
});
