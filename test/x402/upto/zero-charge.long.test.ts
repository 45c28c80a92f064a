import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { SettlementFixture, sendInScheme } from "../settlement-fixture.ts";
import { atEveryStep, evictAt } from "../steps.ts";

let fixture: SettlementFixture;

sendInScheme("upto");
beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-zero-charge");
});
afterEach(() => vi.unstubAllGlobals());

const charge = (amount: string) =>
  facilitate("settle", fixture.payment, { ...fixture.payment.accepted, amount });

describe("a charge of 0", () => {
  it.each(["before", "after"] as const)(
    "ends the authorization once when its objects are evicted %s any awaited step",
    async (when) => {
      const steps = await atEveryStep(1, async (k) => {
        await fixture.again();
        let answer: unknown;
        const isReached = await evictAt(fixture, k, when, ["payment", "wallet"], async () => {
          answer = await charge("0");
        });
        const body = { success: true, transaction: "", amount: "0" };
        expect(answer, `evicted at step ${k}`).toMatchObject({ status: 200, body });
        const errorReason = "duplicate_settlement";
        const repeated = { success: false, errorReason, transaction: "", amount: "0" };
        expect((await charge("20000")).body).toMatchObject(repeated);
        await fixture.fireAlarms();
        expect((await charge("20000")).body).toMatchObject(repeated);
        expect(await fixture.paidIn()).toEqual([]);
        const attempts = await fixture.attempts();
        expect(attempts.filter(({ status }) => status !== "Failed")).toMatchObject([
          { status: "Settled", Settlement: { success: true, txHash: "" } },
        ]);
        expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
        return isReached;
      });
      expect(steps).toBeGreaterThanOrEqual(6);
    },
  );
});
