import { env } from "cloudflare:workers";
import { toHex } from "viem";
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
    await x402.rpc("anvil_mine", "0xd");
    await fixture.fireAlarms();
    await runSchedule(env);
    for (const one of await gas()) expect(one).toEqual({ gwei: 0, wei: "0", is_open: 0 });
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
