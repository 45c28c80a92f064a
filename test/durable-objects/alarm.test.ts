import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HotWallet } from "../../durable-objects/hot-wallet.ts";
import { RegistryCursor } from "../../durable-objects/registry-cursor.ts";
import { SourceCursor } from "../../durable-objects/source-cursor.ts";
import type { Env } from "../../src/env.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { requested } from "../support/registry/registration-fixture.ts";

/** So late that no alarm fires during the test. */
const LATER = Date.UTC(2100, 0, 1);

beforeEach(emptyTables);
afterEach(() => {
  vi.useRealTimers();
});

/**
 * Runs an object's alarm, and wakes the object as soon as that run has read from the database.
 *
 * @returns the time of the next alarm
 */
function wokenMeanwhile<T extends { alarm(): Promise<void> }>(
  namespace: DurableObjectNamespace,
  create: (state: DurableObjectState, env: Env) => T,
  wake: (object: T) => Promise<void>,
  bindings: Env,
): Promise<number | null> {
  vi.useFakeTimers({ toFake: ["Date"], now: LATER });
  return runInDurableObject(
    namespace.get(namespace.newUniqueId()),
    async (_, state: DurableObjectState) => {
      let times = 0;
      const DB = wrapD1(env.DB, async (_call, run) => {
        const result = await run();
        if (times++ === 0) await wake(object);
        return result;
      });
      const object = create(state, { ...bindings, DB });
      // The first wake-up names what there is to do; its alarm is the run that follows.
      await wake(object);
      await state.storage.deleteAlarm();
      await object.alarm();
      const alarm = await state.storage.getAlarm();
      await state.storage.deleteAlarm();
      expect(times).toBeGreaterThan(1);
      return alarm;
    },
  );
}

test("a wallet that is woken while it works does the new work at once", async () => {
  const { fixture } = await requested();
  await fixture.work();
  const [{ vkey }] = fixture.sellers;
  const alarm = await wokenMeanwhile(
    env.HOT_WALLET,
    (state, bindings) => new HotWallet(state, bindings),
    (wallet) => wallet.wake("Preprod", vkey, "test"),
    // The first transaction lacks a confirmation, so this run would look again in a while.
    fixture.env({ CONFIRMATION_THRESHOLD: "2" }),
  );
  expect(alarm).toBe(LATER);
});

test("a source that is woken while its provider refuses it looks again at once", async () => {
  const { fixture } = await requested();
  await fixture.chain.faults({ status: 429 });
  const alarm = await wokenMeanwhile(
    env.SOURCE_CURSOR,
    (state, bindings) => new SourceCursor(state, bindings),
    (cursor) => cursor.tick(fixture.sourceId, "test"),
    fixture.env(),
  );
  expect(alarm).toBe(LATER);
});

test("a registry source that is woken while its provider refuses it looks again at once", async () => {
  const { fixture } = await requested();
  const sourceId = await fixture.followPolicy();
  await fixture.chain.faults({ status: 429 });
  const alarm = await wokenMeanwhile(
    env.REGISTRY_CURSOR,
    (state, bindings) => new RegistryCursor(state, bindings),
    (cursor) => cursor.tick({ kind: "sync", network: "Preprod", sourceId }, "test"),
    fixture.env(),
  );
  expect(alarm).toBe(LATER);
});
