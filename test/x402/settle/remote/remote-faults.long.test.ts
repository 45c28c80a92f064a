/** The payment's object is lost at each step that it awaits, while another facilitator settles. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { SettlementFixture } from "../../settlement-fixture.ts";
import { atEveryStep, follow, Halt } from "../../steps.ts";
import { RemoteFacilitator } from "./sdk-facilitator.ts";

let fixture: SettlementFixture;
let remote: RemoteFacilitator;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-remote-faults");
  remote = await RemoteFacilitator.start(fixture.x402);
  await remote.attach(fixture);
});
afterEach(() => vi.unstubAllGlobals());

/** Settles the payment. Its object is evicted at the k-th step. */
async function settleEvicted(k: number, when: "before" | "after"): Promise<boolean> {
  const halt = new Halt(k, when);
  await follow(fixture, halt.step);
  let isDone = false;
  const done = fixture.settle().finally(() => {
    isDone = true;
  });
  await vi.waitUntil(() => halt.isReached || isDone, { interval: 1, timeout: 120_000 });
  if (halt.isReached)
    await runInDurableObject(fixture.objects().payment, (_, state) => state.abort("evicted")).catch(
      () => {},
    );
  halt.isOver = true;
  fixture.onRpc(({ forward }) => forward());
  const answer = await done;
  expect(answer, `evicted ${when} step ${k}`).toMatchObject({
    status: 200,
    data: { replay: false, settleResponse: { success: true } },
  });
  return halt.isReached;
}

describe("a settlement through another facilitator", () => {
  it.each(["before", "after"] as const)(
    "is paid once and answered once when its object is evicted %s any awaited step",
    async (when) => {
      const steps = await atEveryStep(8, async (k) => {
        await fixture.again();
        const isReached = await settleEvicted(k, when);
        await fixture.expectSettledOnce();
        return isReached;
      });
      expect(steps).toBeGreaterThanOrEqual(8);
    },
  );
});
