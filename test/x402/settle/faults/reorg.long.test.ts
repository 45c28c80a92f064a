import { type Hex, toHex } from "viem";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { readAuthorization } from "../../../../src/x402/evm/authorization.ts";
import { emptyTables } from "../../../support/app.ts";
import { type Attempt, isForAnybody, SettlementFixture } from "../../settlement-fixture.ts";
import { api } from "../../x402-fixture.ts";

/** So many blocks on top and the wallet takes a transaction for final. */
const FINAL_BLOCKS = 12;

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-reorg-${++nodes}`);
});

/** Takes the last blocks back, and keeps the next one for what is put into it. */
async function takeBack(transaction: string, blocks = 1): Promise<void> {
  const { x402 } = fixture;
  await x402.rpc("anvil_rollback", blocks);
  await x402.rpc("evm_setAutomine", false);
  expect(await x402.rpc("eth_getTransactionReceipt", transaction)).toBeNull();
  expect(await fixture.paidIn()).toEqual([]);
}

async function mine(): Promise<void> {
  await fixture.x402.rpc("evm_mine");
  await fixture.x402.rpc("evm_setAutomine", true);
}

/** Waits for a transaction that no block can take yet, and lets blocks pass it by. */
async function passBy(): Promise<void> {
  const { x402 } = fixture;
  const queued = async () => Number((await x402.rpc<{ queued: Hex }>("txpool_status")).queued);
  await vi.waitUntil(async () => (await queued()) > 0, { timeout: 120_000 });
  for (let block = 0; block < 4; block++) {
    await x402.rpc("evm_increaseTime", 5);
    await x402.rpc("evm_mine");
  }
}

describe("a settled payment whose block is rolled back", () => {
  it("is sent again, and stays settled by the same transaction", async () => {
    const { data } = await fixture.settle();
    await takeBack(data.settleResponse.transaction);
    await mine();
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
    expect(await fixture.paidIn()).toEqual([data.settleResponse.transaction]);
  });

  it("fails when its payer has spent the funds since, and settles once the payer has funds", async () => {
    const { x402 } = fixture;
    const { data } = await fixture.settle();
    const { from } = readAuthorization(fixture.payment.payload);
    await takeBack(data.settleResponse.transaction);
    await x402.emptyAccount(from);
    await mine();
    await fixture.fireAlarms();
    const failed = await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(failed?.id).toBe(data.attemptId);
    const events = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];
    expect(await fixture.events()).toEqual(events);

    await x402.mint(x402.contracts.token, from, 10_000n);
    expect((await fixture.settle()).data).toMatchObject({ replay: false });
    await fixture.expectSettledOnce(events);
  });

  it("fails when its authorization has expired since, and loses its settlement", async () => {
    const { data } = await fixture.settle();
    await takeBack(data.settleResponse.transaction);
    await fixture.x402.rpc("evm_increaseTime", 86_400);
    await mine();
    await fixture.fireAlarms();
    expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"]);
    await fixture.expectFailedOnce("invalid_exact_evm_payload_authorization_valid_before");
  });

  if (isForAnybody())
    it("that another sender had brought to the chain is sent by the wallet itself", async () => {
      const { x402 } = fixture;
      await fixture.settlePending();
      await x402.bringToChain(fixture.payment);
      // Both are in one block, in which the wallet's own comes too late and reverts.
      await mine();
      await fixture.fireAlarms();
      const [theirs = ""] = await fixture.paidIn();
      expect(await fixture.attempts()).toMatchObject([{ Settlement: { txHash: theirs } }]);

      await takeBack(theirs);
      await mine();
      await fixture.fireAlarms();
      // A second event tells of the transaction that it is settled by now.
      await fixture.expectSettledOnce(["X402_PAYMENT_SETTLED"]);
      expect(await fixture.paidIn()).not.toContain(theirs);
    });
});

if (isForAnybody())
  describe("payments of which each has a block", () => {
    it("are settled on the chain after the last two blocks are rolled back", async () => {
      const { x402 } = fixture;
      const settleNext = async () => {
        await fixture.again();
        const { data } = await fixture.settle();
        await fixture.fireAlarms();
        return data.settleResponse.transaction;
      };
      await settleNext();
      await settleNext();
      await fixture.again();
      await fixture.settlePending();
      const { source, payment } = fixture;
      await x402.bringToChain(payment);
      await mine();
      await fixture.fireAlarms();
      await takeBack(await settleNext(), 2);
      await x402.rpc("anvil_dropAllTransactions");
      await mine();
      await fixture.fireAlarms();
      Object.assign(fixture, { source, payment });
      await fixture.fireAlarms();
      const { data } = await api<{ PaymentAttempts: Attempt[] }>("/x402/payments?status=Settled");
      const settled = data.PaymentAttempts.map(({ Settlement }) => Settlement?.txHash);
      expect(new Set(settled).size).toBe(4);
      for (const hash of settled)
        expect(await x402.rpc("eth_getTransactionReceipt", hash)).toMatchObject({ status: "0x1" });
    });
  });

describe("a payment that reverted in a block that is rolled back", () => {
  const extensions = { "payment-identifier": { info: { id: "order_taken_back_01" } } };
  let raw: string;
  let transaction: string;

  beforeEach(async () => {
    const { x402 } = fixture;
    ({ transaction } = (await fixture.settlePending({ extensions })).settleResponse);
    raw = await x402.rpc("eth_getRawTransactionByHash", transaction);
    await x402.emptyAccount(fixture.payer);
    await mine();
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");
  });

  /** A node keeps for the next block what was in one that is gone. */
  async function takeInstead(blocks: number): Promise<void> {
    const { x402 } = fixture;
    await takeBack(transaction, blocks);
    await x402.rpc("anvil_dropAllTransactions");
    await x402.rpc("eth_sendRawTransaction", raw);
    await mine();
    // The chain that replaces another is no shorter.
    await x402.rpc("anvil_mine", toHex(blocks - 1));
    expect(await fixture.paidIn()).toEqual([transaction]);
    await fixture.fireAlarms();
  }

  it("is settled after all when the next block takes its transaction", async () => {
    await takeInstead(1);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("is sent again, and stays failed when it reverts again", async () => {
    await takeBack(transaction);
    await fixture.x402.emptyAccount(fixture.payer);
    await mine();
    await fixture.fireAlarms();
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(await fixture.events()).toEqual(["X402_PAYMENT_FAILED"]);
  });

  it("is settled after all when a repeat of it was refused in between", async () => {
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: false } });
    await takeInstead(1);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED", "X402_PAYMENT_FAILED"]);
  });

  it("leaves the funds with the repeat that settled in between", async () => {
    const { x402 } = fixture;
    await x402.mint(x402.contracts.token, fixture.payer, 10_000n);
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    await takeInstead(3);
    const [settled] = (await fixture.attempts()).filter(({ status }) => status === "Settled");
    expect(settled).toMatchObject({ id: data.attemptId, Settlement: { txHash: transaction } });
    // That the payment was settled by another transaction is told once more.
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"]);
  });

  it("is settled after all, and leaves its identifier with the payment that took it over since", async () => {
    const { source, payment, x402 } = fixture;
    await x402.mint(x402.contracts.token, fixture.payer, 10_000n);
    await fixture.again({}, fixture.impatientBuyer);
    const { payment: next } = fixture;
    fixture.payment = { ...next, extensions: { ...next.extensions, ...extensions } };
    const other = (await fixture.settle()).data;
    expect(other.settleResponse.success).toBe(true);

    Object.assign(fixture, { source, payment });
    await takeInstead(3);
    const { data } = await api<{ PaymentAttempts: Attempt[] }>("/x402/payments?status=Settled");
    expect(data.PaymentAttempts).toMatchObject([
      { id: other.attemptId, paymentIdentifier: other.paymentIdentifier },
      { paymentIdentifier: null, Settlement: { txHash: transaction } },
    ]);
  });
});

describe("a facilitator wallet that regains a nonce by a reorg", () => {
  it("uses the nonce again, so that the following payments settle", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    await x402.emptyAccount(readAuthorization(fixture.payment.payload).from);
    await mine();
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");

    // Deeper than the wallet looks, so that it does not send the same again.
    await x402.rpc("anvil_mine", toHex(FINAL_BLOCKS));
    await fixture.fireAlarms();
    await takeBack(settleResponse.transaction, FINAL_BLOCKS + 1);
    await mine();
    await fixture.again();
    const answer = fixture.settle();
    await passBy();
    expect((await answer).data.settleResponse).toMatchObject({ success: true });
    await fixture.expectSettledOnce();
  });
});
