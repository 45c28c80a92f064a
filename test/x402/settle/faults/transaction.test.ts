import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readAuthorization } from "../../../../src/x402/evm/authorization.ts";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, Scene } from "../../scene.ts";

let scene: Scene;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A node of its own for each: time and blocks are turned back and forth.
  scene = await Scene.open(`84532-transaction-${++nodes}`);
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
  scene.rail.rpc<Transaction | null>("eth_getTransactionByHash", hash);

/** The next block comes when every authorization of the test has expired. */
async function letExpire(): Promise<void> {
  await scene.rail.rpc("evm_increaseTime", BY_DAYS);
  await scene.rail.rpc("evm_mine");
}

describe("a transaction that no block takes in time", () => {
  it("is pending with its hash, and the payment sent again joins it", async () => {
    const pending = await scene.settlePending();
    expect(await scene.attempts()).toMatchObject([{ status: "Verified", Settlement: null }]);
    expect(await scene.paidIn()).toEqual([]);
    await scene.rail.rpc("evm_mine");
    expect((await scene.settleDecided()).data).toMatchObject({
      replay: true,
      settleResponse: { success: true, transaction: pending.settleResponse.transaction },
    });
    await scene.expectSettledOnce();
  });

  it("is settled by the alarms, without its caller", async () => {
    await scene.settlePending();
    await scene.rail.rpc("evm_mine");
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    await scene.expectSettledOnce();
  });

  it("is settled after its caller went away", async () => {
    await scene.rail.rpc("evm_setAutomine", false);
    let isSent = false;
    scene.onRpc(async (sent) => {
      const answer = await sent.forward();
      isSent ||= broadcasts(sent);
      return answer;
    });
    const caller = new AbortController();
    const answer = scene.settleFor(caller.signal);
    await vi.waitUntil(() => isSent, { timeout: 120_000 });
    caller.abort();
    await expect(answer).rejects.toThrow();
    await scene.rail.rpc("evm_mine");
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    await scene.expectSettledOnce();
  });

  it("is sent again when the node has forgotten it", async () => {
    const { settleResponse } = await scene.settlePending();
    await scene.rail.rpc("anvil_dropAllTransactions");
    await scene.rail.rpc("evm_setAutomine", true);
    await scene.fireAlarms();
    await scene.expectSettledOnce();
    expect(await scene.paidIn()).toEqual([settleResponse.transaction]);
  });

  it("is signed anew when another one of the wallet takes its nonce", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    const { nonce } = (await transactionOf(settleResponse.transaction)) ?? {};
    await rail.rpc("anvil_dropAllTransactions");
    const from = rail.facilitator.address;
    await rail.rpc("anvil_impersonateAccount", from);
    const gasPrice = "0x174876e800";
    const rival = await rail.rpc<string>("eth_sendTransaction", { from, to: from, gasPrice });
    expect(await transactionOf(rival)).toMatchObject({ nonce });
    await rail.rpc("evm_mine");
    await rail.rpc("evm_setAutomine", true);
    await scene.expectSettledOnce();
    expect(await scene.paidIn()).not.toContain(settleResponse.transaction);
    expect(await rail.rpc("eth_getTransactionReceipt", settleResponse.transaction)).toBeNull();
  });

  it("is bid up with the same nonce when it pays too little", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    const first = await transactionOf(settleResponse.transaction);
    // The base fee rises above what it offers; four blocks pass it by.
    for (let block = 0; block < 4; block++) {
      await rail.rpc("anvil_setNextBlockBaseFeePerGas", "0x2540be4000");
      await rail.rpc("evm_increaseTime", 5);
      await rail.rpc("evm_mine");
    }
    await rail.rpc("evm_setAutomine", true);
    await scene.expectSettledOnce();
    const [paidIn = ""] = await scene.paidIn();
    expect(paidIn).not.toBe(settleResponse.transaction);
    const second = await transactionOf(paidIn);
    expect(second?.nonce).toBe(first?.nonce);
    const fees = ["maxFeePerGas", "maxPriorityFeePerGas"] as const;
    for (const fee of fees)
      expect(BigInt(second?.[fee] ?? 0) * 1000n).toBeGreaterThanOrEqual(
        BigInt(first?.[fee] ?? 0) * 1125n,
      );
  });

  it("settles the payment all the same when somebody else brings it to the chain first", async () => {
    await scene.settlePending();
    await scene.rail.bringToChain(scene.payment);
    await scene.rail.rpc("evm_mine");
    await scene.expectSettledOnce();
  });
});

describe("a transaction that reverts", () => {
  it("fails the payment, which settles when it is sent again with money", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    const { from } = readAuthorization(scene.payment.payload);
    // The payer spends the money elsewhere before the block is made.
    await rail.emptyAccount(from);
    await rail.rpc("evm_mine");
    await scene.fireAlarms();
    const failed = await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(failed?.Settlement).toMatchObject({
      success: false,
      txHash: settleResponse.transaction,
    });
    expect(await scene.events()).toEqual(["X402_PAYMENT_FAILED"]);

    await rail.rpc("evm_setAutomine", true);
    await rail.mint(rail.contracts.token, from, 10_000n);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });
});

describe("an authorization that expires while its transaction waits", () => {
  it("fails for good, and the wallet's nonce is used up by something else", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    const { nonce } = (await transactionOf(settleResponse.transaction)) ?? {};
    await rail.rpc("anvil_dropAllTransactions");
    await letExpire();
    await rail.rpc("evm_setAutomine", true);
    await scene.fireAlarms();
    await scene.expectFailedOnce(EXPIRED);
    const next = await rail.rpc("eth_getTransactionCount", rail.facilitator.address, "latest");
    expect(Number(next)).toBe(Number(nonce) + 1);
  });

  it("fails with the transaction when a block takes that too late", async () => {
    const { settleResponse } = await scene.settlePending();
    await letExpire();
    await scene.fireAlarms();
    const failed = await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");
    expect(failed?.Settlement).toMatchObject({ txHash: settleResponse.transaction });
    expect((await scene.settle()).data.settleResponse.success).toBe(false);
    expect(await scene.paidIn()).toEqual([]);
  });

  it("is settled when somebody else had brought it to the chain in time", async () => {
    const { rail } = scene;
    await scene.settlePending();
    await rail.rpc("anvil_dropAllTransactions");
    await rail.bringToChain(scene.payment);
    await rail.rpc("evm_mine");
    await letExpire();
    await rail.rpc("evm_setAutomine", true);
    await scene.fireAlarms();
    const [paidIn] = await scene.paidIn();
    expect(await scene.paidIn()).toHaveLength(1);
    expect(await scene.attempts()).toMatchObject([
      { status: "Settled", Settlement: { success: true, txHash: paidIn } },
    ]);
  });
});
