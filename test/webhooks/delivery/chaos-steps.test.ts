import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventKind } from "../../../src/events/event-kinds.ts";
import { emptyTables } from "../../support/app.ts";
import {
  freshPath,
  happen,
  idsOf,
  planAnswers,
  takeArrivals,
  WebhookService,
} from "../../support/webhooks/receivers.ts";
import { Fuse, Pause, steppedService } from "../../support/webhooks/steps.ts";

const MINUTE = 60_000;
const KINDS: EventKind[] = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];

/** A dispatch, and then a delivery. What stops one of them is for the platform to see. */
async function run(service: WebhookService): Promise<void> {
  await service.wake().catch(() => undefined);
  await service.drain().catch(() => undefined);
}

async function rowsIn(...statuses: string[]): Promise<number> {
  const row = await env.DB.prepare(
    "SELECT count(*) AS n FROM webhook_delivery WHERE status IN (SELECT value FROM json_each(?))",
  )
    .bind(JSON.stringify(statuses))
    .first<{ n: number }>();
  return row?.n ?? 0;
}

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("a dispatch and a delivery", () => {
  it.each(["before", "after"] as const)(
    "stopped %s any awaited step end with every event delivered, and none stuck",
    async (when) => {
      const fuse = new Fuse();
      const service = steppedService(fuse.step);
      const path = freshPath();
      await service.create(path);
      let duplicates = 0;
      for (let k = 1; ; k++) {
        const ids = await happen(KINDS);
        fuse.light(k, when);
        await run(service);
        const stopped = fuse.burnt();
        fuse.putOut();
        await service.pass(2 * MINUTE);
        // The step that was killed may have been a first attempt, whose retry is due now.
        await service.pass(MINUTE);
        const arrived = idsOf(await takeArrivals(path));
        expect([...new Set(arrived)].sort(), `stopped at step ${k}`).toEqual(ids.sort());
        expect(await rowsIn("Pending", "Retrying"), `stopped at step ${k}`).toBe(0);
        duplicates += arrived.length - ids.length;
        if (!stopped) {
          expect(k).toBeGreaterThan(7);
          break;
        }
      }
      console.info(`stopped ${when} each step: ${duplicates} duplicates`);
    },
    60_000,
  );

  it("suspended after any awaited step, for longer than a claim holds, undo nothing that others did meanwhile", async () => {
    const pause = new Pause();
    const service = steppedService(pause.step);
    const others = new WebhookService();
    const path = freshPath();
    await others.create(path);
    // So that the outcome that comes late is a failure, and that of the others a success.
    await planAnswers(path, [["answer=500"]]);
    for (let k = 1; ; k++) {
      const ids = await happen(KINDS);
      const suspension = pause.after(k);
      const running = run(service);
      const ended = running.then(() => "ended" as const);
      if ((await Promise.race([suspension, ended])) === "ended") {
        expect(k).toBeGreaterThan(7);
        break;
      }
      await others.pass(2 * MINUTE);
      const delivered = await rowsIn("Success");
      pause.resume();
      await running;
      expect(await rowsIn("Success"), `suspended after step ${k}`).toBeGreaterThanOrEqual(
        delivered,
      );
      await others.pass(2 * MINUTE);
      await others.pass(MINUTE);
      const arrived = new Set(idsOf(await takeArrivals(path)));
      expect([...arrived].sort(), `suspended after step ${k}`).toEqual(ids.sort());
      expect(await rowsIn("Success"), `suspended after step ${k}`).toBe(2 * k);
    }
  });
});
