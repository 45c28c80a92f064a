import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { runSchedule } from "../src/schedule.ts";
import { emptyTables } from "./support/app.ts";
import { shortenTimeouts } from "./support/crash-at.ts";
import { insertRows } from "./support/insert-rows.ts";
import { cursors } from "./support/sources/api.ts";

/** How long an object is waited for. */
const WAKE_TIMEOUT_MS = 5_000;
const IDS = Array.from({ length: 50 }, (_, i) => `source-${`${i}`.padStart(2, "0")}`);

beforeEach(async () => {
  await emptyTables();
  const row = { network: "Preprod", type: "Web3ChainV1", drives: "nothing" };
  await insertRows(
    "payment_source",
    IDS.map((id) => ({ ...row, id, contract_address: id })),
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
});

it("The cron wakes fifty sources, at most four at a time, beside objects that hang", async () => {
  shortenTimeouts([WAKE_TIMEOUT_MS]);
  const woken: string[] = [];
  let [open, mostOpen] = [0, 0];
  const tick = async (id: string): Promise<void> => {
    mostOpen = Math.max(mostOpen, ++open);
    woken.push(id);
    if (id === IDS[0] || id === IDS[20]) {
      // No longer awaited after its time.
      open--;
      return new Promise(() => {});
    }
    await scheduler.wait(1);
    open--;
  };
  await runSchedule({ ...env, ...cursors(tick) });
  expect(woken.toSorted()).toEqual(IDS);
  expect(mostOpen).toBeLessThanOrEqual(4);
});
