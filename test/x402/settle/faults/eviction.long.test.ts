import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { toHex } from "viem";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { readAuthorization } from "../../../../src/x402/evm/authorization.ts";
import type { SettleOrder } from "../../../../src/x402/model/messages.ts";
import { emptyTables } from "../../../support/app.ts";
import { objectsLike } from "../../../support/objects.ts";
import { reasonInScheme, SettlementFixture } from "../../settlement-fixture.ts";
import { atEveryStep, evictAt, type Victims } from "../../steps.ts";

let fixture: SettlementFixture;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-eviction");
});
afterEach(() => vi.unstubAllGlobals());

const AN_HOUR = 3_600_000;

/** Fires the alarms; one that fails or is cut off is fired again later, as the platform does. */
async function fireAlarms(): Promise<void> {
  for (const name of ["wallet", "payment"] as const)
    await runDurableObjectAlarm(fixture.objects()[name]).catch(() =>
      // The stub of an object that was torn down is of no more use.
      runInDurableObject(fixture.objects()[name], (_, { storage }) =>
        storage.setAlarm(Date.now() + AN_HOUR),
      ),
    );
}

/** Has the last blocks replaced by as many in which something else has happened. */
async function reorganise(blocks: number, instead = async () => {}): Promise<void> {
  const { x402 } = fixture;
  await x402.rpc("anvil_rollback", blocks);
  await x402.rpc("evm_setAutomine", false);
  await instead();
  await x402.rpc("anvil_mine", toHex(blocks));
  await x402.rpc("evm_setAutomine", true);
}

describe("the objects of a settlement", () => {
  it.each<["before" | "after", string, Victims]>([
    ["before", "the payment's object is", ["payment"]],
    ["before", "the wallet's object is", ["wallet"]],
    ["before", "both are", ["payment", "wallet"]],
    ["after", "both are", ["payment", "wallet"]],
  ])("pay once and answer once when, %s any awaited step, %s evicted", async (when, _, victims) => {
    const steps = await atEveryStep(12, async (k) => {
      await fixture.again();
      let answer: unknown;
      const isReached = await evictAt(fixture, k, when, victims, async () => {
        answer = await fixture.settle();
      });
      const data = { replay: false, settleResponse: { success: true } };
      expect(answer, `evicted at step ${k}`).toMatchObject({ status: 200, data });
      await fixture.expectSettledOnce();
      return isReached;
    });
    // How many there are at most depends on when the block is seen.
    expect(steps).toBeGreaterThanOrEqual(12);
  });
});

describe("a payment that was refused before its answer was lost", () => {
  it("becomes another attempt when it is sent again, and settles if it can by now", async () => {
    const { x402 } = fixture;
    await fixture.again();
    await x402.emptyAccount(fixture.payer);
    let isLost = false;
    const { PAYMENT_PAYLOAD } = env;
    const lossy = objectsLike("PAYMENT_PAYLOAD", (id) => ({
      settle: async (order: SettleOrder) => {
        const answer = await PAYMENT_PAYLOAD.get(id).settle(order);
        if (isLost) return answer;
        isLost = true;
        await x402.mint(x402.contracts.token, fixture.payer, 10_000n);
        throw new Error("Network connection lost.");
      },
    }));
    const { data } = await fixture.settleOn({ PAYMENT_PAYLOAD: lossy });
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
    expect(await fixture.attempts()).toMatchObject([
      { id: data.attemptId, status: "Settled" },
      { errorReason: reasonInScheme("invalid_exact_evm_insufficient_balance") },
    ]);
  });
});

describe("the alarms that find a payment reverted by one reorg, and settled by another", () => {
  it.each(["before", "after"] as const)(
    "record each outcome once when both objects are evicted %s any awaited step",
    async (when) => {
      const steps = await atEveryStep(12, async (k) => {
        await fixture.again();
        const { from } = readAuthorization(fixture.payment.payload);
        await fixture.x402.mint(fixture.x402.contracts.token, from, 10_000n);
        expect((await fixture.settle()).data.settleResponse.success).toBe(true);
        await reorganise(1, () => fixture.x402.emptyAccount(from));

        const isReached = await evictAt(fixture, k, when, ["payment", "wallet"], fireAlarms);
        await fireAlarms();
        await fixture.expectFailedOnce("invalid_exact_evm_transaction_failed");
        const events = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];
        expect(await fixture.events(), `evicted at step ${k}`).toEqual(events);

        // The block that emptied the account, and the one in which the payment reverted.
        await reorganise(2);
        await evictAt(fixture, k, when, ["payment", "wallet"], fireAlarms);
        await fireAlarms();
        await fixture.expectSettledOnce(events);
        return isReached;
      });
      expect(steps).toBeGreaterThanOrEqual(8);
    },
  );
});
