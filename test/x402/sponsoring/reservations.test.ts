import { env } from "cloudflare:workers";
import { type Hex, toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runSchedule } from "../../../src/schedule.ts";
import { emptyTables } from "../../support/app.ts";
import { isWritingBatch } from "../../support/d1.ts";
import { answering, SettlementFixture, sendWithPermits } from "../settlement-fixture.ts";
import { settle } from "../x402-fixture.ts";

sendWithPermits();

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A separate node for each test, since they set fees.
  fixture = await SettlementFixture.open(`84532-reservations-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

const GWEI = 10n ** 9n;
const UNAPPROVED = "permit2_allowance_required";

async function gas(): Promise<{ gwei: number; wei: string | null; is_open: number }[]> {
  const statement = env.DB.prepare(
    "SELECT gwei, wei, is_open FROM x402_sponsored_gas ORDER BY attempt_id",
  );
  return (await statement.all<{ gwei: number; wei: string | null; is_open: number }>()).results;
}

/** A block that has no place for transactions with lower fees. */
async function mineAt(baseFee: bigint): Promise<void> {
  await fixture.x402.rpc("evm_increaseTime", 6);
  await fixture.x402.rpc("anvil_setNextBlockBaseFeePerGas", toHex(baseFee));
  await fixture.x402.rpc("evm_mine");
}

describe("fees that rise beyond what was reserved for a permit", () => {
  it("end the settlement without its payment, and hold up no other payment", async () => {
    const { x402 } = fixture;
    await fixture.settlePending();
    // On a busy machine, other payments were not signed in time.
    const reserved = (await gas()).at(-1);
    await x402.fund(x402.facilitator.address, 10n ** 24n);
    const alarms = fixture.fireAlarms();
    // The fee rises to the limit, then another transaction frees the nonce.
    const waitForFailure = async () => {
      await mineAt(10n ** 11n);
      return (await fixture.attempts())[0]?.status;
    };
    await expect.poll(waitForFailure, { timeout: 120_000 }).toBe("Failed");
    await alarms;
    await fixture.expectFailedOnce(UNAPPROVED);
    expect((await gas()).at(-1)).toEqual({ ...reserved, is_open: 0 });

    await x402.rpc("evm_setAutomine", true);
    const source = await x402.source();
    const { data } = await settle(source, await x402.payment(await x402.buyer(), source));
    expect(data.settleResponse).toMatchObject({ success: true });
    await becomeFinal();
    // Transactions of the wallet alone have freed nonces.
    const spent = await spentBy(x402.facilitator.address, data.settleResponse.transaction);
    expect(spent).toBeGreaterThan(0n);
    const costs = await gas();
    expect(costs.map(({ is_open }) => is_open)).toEqual(costs.map(() => 0));
    expect(costs.reduce((sum, { wei }) => sum + BigInt(wei ?? -1), 0n)).toBe(spent);
  });
});

/** Has the wallet learn that what it has settled is final, and the cron what it has cost. */
async function becomeFinal(): Promise<void> {
  await fixture.x402.rpc("anvil_mine", "0xd");
  await fixture.fireAlarms();
  await runSchedule(env);
}

interface Receipt {
  from: string;
  gasUsed: Hex;
  effectiveGasPrice: Hex;
  transactionHash: string;
}

/** What the chain has charged an address, without one transaction. */
async function spentBy(address: string, without: string): Promise<bigint> {
  const height = Number(await fixture.x402.rpc<string>("eth_blockNumber"));
  let spent = 0n;
  for (let block = 0; block <= height; block++) {
    const receipts = await fixture.x402.rpc<Receipt[]>("eth_getBlockReceipts", toHex(block));
    for (const { from, gasUsed, effectiveGasPrice, transactionHash } of receipts)
      if (from === address.toLowerCase() && transactionHash !== without)
        spent += BigInt(gasUsed) * BigInt(effectiveGasPrice);
  }
  return spent;
}

/** The oracle of a rollup, whose fee is in its first slot. */
const L1_FEE_ORACLE = "0x420000000000000000000000000000000000000F";
const FIRST_SLOT_CODE = "0x5f545f5260205ff3";
const L1_FEE = 10n ** 13n;

async function setL1Fee(wei: bigint): Promise<void> {
  const { x402 } = fixture;
  await x402.rpc("anvil_setCode", L1_FEE_ORACLE, FIRST_SLOT_CODE);
  await x402.rpc("anvil_setStorageAt", L1_FEE_ORACLE, toHex(0), toHex(wei, { size: 32 }));
}

describe("a rollup that charges for the chain below", () => {
  it("has twice its fee reserved, and the fee of the receipt in the books", async () => {
    await setL1Fee(L1_FEE);
    // What a rollup adds to receipts.
    fixture.onRpc((sent) =>
      answering(sent, ({ method }, { result }) =>
        method === "eth_getTransactionReceipt" && result
          ? { result: { ...result, l1Fee: toHex(L1_FEE + 1n) } }
          : undefined,
      ),
    );
    await fixture.expectSettledOnce();
    const [{ gwei = 0 } = {}] = await gas();
    await becomeFinal();
    const paid = await spentBy(fixture.x402.facilitator.address, "");
    expect(await gas()).toMatchObject([{ wei: `${paid + L1_FEE + 1n}` }]);
    expect(BigInt(gwei) * GWEI).toBeGreaterThan(2n * L1_FEE + paid);
  });

  it("is sent nothing when its fee exceeds what was reserved", async () => {
    await setL1Fee(L1_FEE);
    let fees = 0;
    fixture.onRpc((sent) =>
      answering(sent, ({ method, params: [call] }) => {
        const isFee = method === "eth_call" && (call as { to?: string }).to === L1_FEE_ORACLE;
        return isFee && ++fees > 1 ? { result: toHex(2n * L1_FEE + 1n, { size: 32 }) } : undefined;
      }),
    );
    const { data } = await fixture.settle();
    expect(data.settleResponse).toMatchObject({ success: false, errorReason: UNAPPROVED });
    expect(fees).toBe(2);
    vi.unstubAllGlobals();
    await runSchedule(env);
    expect(await gas()).toEqual([{ gwei: 0, wei: "0", is_open: 0 }]);
    expect(await spentBy(fixture.x402.facilitator.address, "")).toBe(0n);
  });

  it("is sent nothing while its node does not say the fee", async () => {
    await setL1Fee(L1_FEE);
    fixture.onRpc((sent) =>
      answering(sent, ({ method, params: [call] }) =>
        method === "eth_call" && (call as { to?: string }).to === L1_FEE_ORACLE
          ? { error: { code: -32_000, message: "execution aborted (timeout = 5s)" } }
          : undefined,
      ),
    );
    expect((await fixture.settle()).status).toBe(502);
    expect(await gas()).toEqual([]);
  });
});

describe("a reservation", () => {
  it("counts nothing once the wallet has sent nothing", async () => {
    let estimates = 0;
    fixture.onRpc((sent) =>
      answering(sent, ({ method }) =>
        method === "eth_estimateGas" && ++estimates > 1
          ? { error: { code: 3, message: "execution reverted" } }
          : undefined,
      ),
    );
    expect((await fixture.settle()).data.settleResponse).toMatchObject({ success: false });
    vi.unstubAllGlobals();
    expect(await gas()).toMatchObject([{ wei: null, is_open: 0 }]);
    await runSchedule(env);
    expect(await gas()).toEqual([{ gwei: 0, wei: "0", is_open: 0 }]);
  });

  it("rises with the fees when its attempt is resumed", async () => {
    let batches = 0;
    await fixture.onDatabase(async (call, run) => {
      if (!isWritingBatch(call)) return run();
      if (++batches === 1) await run();
      throw new Error("D1_ERROR: Network connection lost.");
    });
    expect((await fixture.settle()).status).toBe(503);
    const [before] = await gas();
    await fixture.onDatabase((_, run) => run());
    await fixture.x402.rpc("evm_setAutomine", false);
    await mineAt(10n ** 10n);
    const answer = fixture.settle();
    await expect.poll(async () => (await gas())[0]?.gwei).toBeGreaterThan(before?.gwei ?? 0);
    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.x402.rpc("evm_mine");
    expect((await answer).data).toMatchObject({ settleResponse: { success: true } });
    await fixture.expectSettledOnce();
    expect(await gas()).toHaveLength(1);
  });
});
