import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { wrapD1 } from "../support/d1.ts";
import { sweep } from "../support/effort.ts";
import type { SettlementFixture } from "./settlement-fixture.ts";

export type Step = <T>(run: () => Promise<T>) => Promise<T>;
type Waited = Pick<DurableObjectStorage, "getAlarm" | "setAlarm" | "deleteAlarm" | "deleteAll">;

/** Halts at the k-th step that the objects await, before or after it took effect. */
export class Halt {
  /** Steps so far. */
  count = 0;
  isReached = false;
  /** Set by the test: whoever stands goes on. */
  isOver = false;
  readonly #k: number;
  readonly #when: "before" | "after";

  constructor(k: number, when: "before" | "after") {
    this.#k = k;
    this.#when = when;
  }

  readonly step: Step = async (run) => {
    if (++this.count !== this.#k) return run();
    if (this.#when === "before") await this.#stand();
    const result = await run();
    if (this.#when === "after") await this.#stand();
    return result;
  };

  /** Whoever is evicted here never gets any further. */
  async #stand(): Promise<void> {
    this.isReached = true;
    while (!this.isOver) await scheduler.wait(1);
  }
}

/** Has everything that the objects await run through `step`, as long as they live. */
export async function follow(fixture: SettlementFixture, step: Step): Promise<void> {
  fixture.onRpc(({ forward }) => step(forward));
  const { FACILITATOR_WALLET, EVENTS } = env;
  const walletCalls = (stub: Record<string, (...args: unknown[]) => Promise<unknown>>) => ({
    prepare: (...args: unknown[]) => step(async () => stub.prepare?.(...args)),
    submit: (...args: unknown[]) => step(async () => stub.submit?.(...args)),
    wait: (...args: unknown[]) => step(async () => stub.wait?.(...args)),
  });
  const followed = {
    ...env,
    DB: wrapD1(env.DB, (_, run) => step(run)),
    EVENTS: { send: (body: never) => step(() => EVENTS.send(body)) },
    FACILITATOR_WALLET: {
      idFromName: (name: string) => FACILITATOR_WALLET.idFromName(name),
      get: (id: DurableObjectId) => walletCalls(FACILITATOR_WALLET.get(id) as never),
    },
  };
  for (const object of Object.values(fixture.objects()))
    await runInDurableObject(object, (instance, { storage }) => {
      const waited: Waited = {
        getAlarm: () => step(() => storage.getAlarm()),
        setAlarm: (at) => step(() => storage.setAlarm(at)),
        deleteAlarm: () => step(() => storage.deleteAlarm()),
        deleteAll: () => step(() => storage.deleteAll()),
      };
      const ctx = { storage: { kv: storage.kv, sql: storage.sql, ...waited } };
      Object.defineProperty(instance, "env", { value: followed, configurable: true });
      Object.defineProperty(instance, "ctx", { value: ctx, configurable: true });
    });
}

/** Objects of a settlement. */
export type Victims = ("payment" | "wallet")[];

/** Tears objects down where they stand, with whatever they have not stored. */
async function evict(fixture: SettlementFixture, victims: Victims): Promise<void> {
  const objects = fixture.objects();
  for (const victim of victims)
    await runInDurableObject(objects[victim], (_, state) => state.abort("evicted")).catch(() => {});
}

/** What is under way, halted at its k-th step, with the victims evicted there. */
export async function evictAt(
  fixture: SettlementFixture,
  k: number,
  when: "before" | "after",
  victims: Victims,
  work: () => Promise<unknown>,
): Promise<boolean> {
  const halt = new Halt(k, when);
  await follow(fixture, halt.step);
  let isDone = false;
  const done = work().finally(() => {
    isDone = true;
  });
  await vi.waitUntil(() => halt.isReached || isDone, { interval: 1, timeout: 120_000 });
  if (halt.isReached) await evict(fixture, victims);
  halt.isOver = true;
  vi.unstubAllGlobals();
  await done;
  return halt.isReached;
}

/**
 * Repeats a story with each `stride`-th awaited step disturbed. A long run disturbs each step.
 *
 * @param run - returns whether the story has a k-th step
 * @returns the story's maximum number of steps
 */
export async function atEveryStep(
  stride: number,
  run: (k: number) => Promise<boolean>,
): Promise<number> {
  for (const k of sweep(stride)) if (!(await run(k))) return k - 1;
  throw new Error("a sweep without a bound ended");
}
