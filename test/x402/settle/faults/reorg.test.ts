import { type Hex, toHex } from "viem";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { readAuthorization } from "../../../../src/x402/evm/authorization.ts";
import { emptyTables } from "../../../support/app.ts";
import { api } from "../../rail.ts";
import { type Attempt, Scene } from "../../scene.ts";

/** So many blocks on top and the wallet takes a transaction for final. */
const FINAL_BLOCKS = 12;

let scene: Scene;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  scene = await Scene.open(`84532-reorg-${++nodes}`);
});

/** Takes the last blocks back, and keeps the next one for what is put into it. */
async function takeBack(transaction: string, blocks = 1): Promise<void> {
  const { rail } = scene;
  await rail.rpc("anvil_rollback", blocks);
  await rail.rpc("evm_setAutomine", false);
  expect(await rail.rpc("eth_getTransactionReceipt", transaction)).toBeNull();
  expect(await scene.paidIn()).toEqual([]);
}

async function mine(): Promise<void> {
  await scene.rail.rpc("evm_mine");
  await scene.rail.rpc("evm_setAutomine", true);
}

/** Waits for a transaction that no block can take yet, and lets blocks pass it by. */
async function passBy(): Promise<void> {
  const { rail } = scene;
  const queued = async () => Number((await rail.rpc<{ queued: Hex }>("txpool_status")).queued);
  await vi.waitUntil(async () => (await queued()) > 0, { timeout: 120_000 });
  for (let block = 0; block < 4; block++) {
    await rail.rpc("evm_increaseTime", 5);
    await rail.rpc("evm_mine");
  }
}

describe("a settled payment whose block is taken back", () => {
  it("is sent again, and stays settled by the same transaction", async () => {
    const { data } = await scene.settle();
    await takeBack(data.settleResponse.transaction);
    await mine();
    await scene.fireAlarms();
    await scene.expectSettledOnce();
    expect(await scene.paidIn()).toEqual([data.settleResponse.transaction]);
  });

  it("fails when its payer has spent the money since, and settles once there is some", async () => {
    const { rail } = scene;
    const { data } = await scene.settle();
    const { from } = readAuthorization(scene.payment.payload);
    await takeBack(data.settleResponse.transaction);
    await rail.emptyAccount(from);
    await mine();
    await scene.fireAlarms();
    const failed = await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(failed?.id).toBe(data.attemptId);
    const events = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];
    expect(await scene.events()).toEqual(events);

    await rail.mint(rail.contracts.token, from, 10_000n);
    expect((await scene.settle()).data).toMatchObject({ replay: false });
    await scene.expectSettledOnce(events);
  });

  it("fails when its authorization has expired since, and its settlement is taken back", async () => {
    const { data } = await scene.settle();
    await takeBack(data.settleResponse.transaction);
    await scene.rail.rpc("evm_increaseTime", 86_400);
    await mine();
    await scene.fireAlarms();
    expect(await scene.events()).toEqual(["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"]);
    await scene.expectFailedOnce("invalid_exact_evm_payload_authorization_valid_before");
  });

  it("that somebody else had brought to the chain is sent by the wallet itself", async () => {
    const { rail } = scene;
    await scene.settlePending();
    await rail.bringToChain(scene.payment);
    // Both are in one block, in which the wallet's own comes too late and reverts.
    await mine();
    await scene.fireAlarms();
    const [theirs = ""] = await scene.paidIn();
    expect(await scene.attempts()).toMatchObject([{ Settlement: { txHash: theirs } }]);

    await takeBack(theirs);
    await mine();
    await scene.fireAlarms();
    // A second event tells of the transaction that it is settled by now.
    await scene.expectSettledOnce(["X402_PAYMENT_SETTLED"]);
    expect(await scene.paidIn()).not.toContain(theirs);
  });
});

describe("a payment that reverted in a block that is taken back", () => {
  const extensions = { "payment-identifier": { info: { id: "order_taken_back_01" } } };
  let raw: string;
  let transaction: string;

  beforeEach(async () => {
    const { rail } = scene;
    ({ transaction } = (await scene.settlePending({ extensions })).settleResponse);
    raw = await rail.rpc("eth_getRawTransactionByHash", transaction);
    await rail.emptyAccount(scene.payer);
    await mine();
    await scene.fireAlarms();
    await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");
  });

  /** A node keeps for the next block what was in one that is gone. */
  async function takeInstead(blocks: number): Promise<void> {
    const { rail } = scene;
    await takeBack(transaction, blocks);
    await rail.rpc("anvil_dropAllTransactions");
    await rail.rpc("eth_sendRawTransaction", raw);
    await mine();
    // The chain that replaces another is no shorter.
    await rail.rpc("anvil_mine", toHex(blocks - 1));
    expect(await scene.paidIn()).toEqual([transaction]);
    await scene.fireAlarms();
  }

  it("is settled after all when the next block takes its transaction", async () => {
    await takeInstead(1);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("is sent again, and stays failed when it reverts again", async () => {
    await takeBack(transaction);
    await scene.rail.emptyAccount(scene.payer);
    await mine();
    await scene.fireAlarms();
    await scene.fireAlarms();
    await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(await scene.events()).toEqual(["X402_PAYMENT_FAILED"]);
  });

  it("is settled after all when a repeat of it was refused in between", async () => {
    const { data } = await scene.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: false } });
    await takeInstead(1);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED", "X402_PAYMENT_FAILED"]);
  });

  it("leaves the money with the repeat that had settled in between", async () => {
    const { rail } = scene;
    await rail.mint(rail.contracts.token, scene.payer, 10_000n);
    const { data } = await scene.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    await takeInstead(3);
    const [settled] = (await scene.attempts()).filter(({ status }) => status === "Settled");
    expect(settled).toMatchObject({ id: data.attemptId, Settlement: { txHash: transaction } });
    // That the payment was settled by another transaction is told once more.
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"]);
  });

  it("is settled after all, and another keeps the identifier it has taken over since", async () => {
    const { source, payment } = scene;
    await scene.again();
    scene.payment = { ...scene.payment, extensions };
    const other = (await scene.settle()).data;
    expect(other.settleResponse.success).toBe(true);

    Object.assign(scene, { source, payment });
    await takeInstead(2);
    const { data } = await api<{ PaymentAttempts: Attempt[] }>("/x402/payments?status=Settled");
    expect(data.PaymentAttempts).toMatchObject([
      { id: other.attemptId, paymentIdentifier: other.paymentIdentifier },
      { paymentIdentifier: null, Settlement: { txHash: transaction } },
    ]);
  });
});

describe("a facilitator wallet one of whose nonces a reorganisation gives back", () => {
  it("uses it again, so that the payments after it settle", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    await rail.emptyAccount(readAuthorization(scene.payment.payload).from);
    await mine();
    await scene.fireAlarms();
    await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");

    // Deeper than the wallet looks, so that it does not send the same again.
    await rail.rpc("anvil_mine", toHex(FINAL_BLOCKS));
    await scene.fireAlarms();
    await takeBack(settleResponse.transaction, FINAL_BLOCKS + 1);
    await mine();
    await scene.again();
    const answer = scene.settle();
    await passBy();
    expect((await answer).data.settleResponse).toMatchObject({ success: true });
    await scene.expectSettledOnce();
  });
});
