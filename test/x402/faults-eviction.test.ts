import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { readAuthorization } from "../../src/x402/authorization.ts";
import { emptyTables } from "../support/app.ts";
import { Scene } from "./scene.ts";
import { atEveryStep, follow, Halt } from "./steps.ts";

let scene: Scene;

beforeAll(async () => {
  await emptyTables();
  scene = await Scene.open("84532-eviction");
});
afterEach(() => vi.unstubAllGlobals());

type Victims = ("payment" | "wallet")[];

const AN_HOUR = 3_600_000;

/**
 * Tears objects down where they stand, with whatever they have not stored. Only their imports are let
 * through: the module loader of the tests shares one that is under way, and would wait for good for
 * one that was cut off.
 */
async function evict(victims: Victims): Promise<void> {
  const objects = scene.objects();
  for (const victim of victims)
    await runInDurableObject(objects[victim], async (_, state) => {
      await Promise.all([
        import("../../src/x402/judge.ts"),
        import("../../src/x402/wallet-findings.ts"),
        import("../../src/x402/wallet-pump.ts"),
      ]);
      state.abort("evicted");
    }).catch(() => {});
}

/** What is under way, halted at its k-th step, with the victims evicted there. */
async function evictAt(
  k: number,
  when: "before" | "after",
  victims: Victims,
  work: () => Promise<unknown>,
): Promise<boolean> {
  const halt = new Halt(k, when);
  await follow(scene, halt.step);
  let isDone = false;
  const done = work().finally(() => {
    isDone = true;
  });
  await vi.waitUntil(() => halt.isReached || isDone, { interval: 1, timeout: 20_000 });
  if (halt.isReached) await evict(victims);
  halt.isOver = true;
  vi.unstubAllGlobals();
  await done;
  return halt.isReached;
}

/** Fires the alarms; one that fails or is cut off is fired again later, as the platform does. */
async function fireAlarms(): Promise<void> {
  for (const name of ["wallet", "payment"] as const)
    await runDurableObjectAlarm(scene.objects()[name]).catch(() =>
      // The stub of an object that was torn down is of no more use.
      runInDurableObject(scene.objects()[name], (_, { storage }) =>
        storage.setAlarm(Date.now() + AN_HOUR),
      ),
    );
}

describe("the objects of a settlement", () => {
  it.each<["before" | "after", string, Victims]>([
    ["before", "the payment's object is", ["payment"]],
    ["before", "the wallet's object is", ["wallet"]],
    ["before", "both are", ["payment", "wallet"]],
    ["after", "both are", ["payment", "wallet"]],
  ])(
    "pay once and answer once when, %s any step that is awaited, %s evicted",
    async (when, _, victims) => {
      const steps = await atEveryStep(async (k) => {
        await scene.again();
        let answer: unknown;
        const isReached = await evictAt(k, when, victims, async () => {
          answer = await scene.settle();
        });
        const data = { replay: false, settleResponse: { success: true } };
        expect(answer, `evicted at step ${k}`).toMatchObject({ status: 200, data });
        await scene.expectSettledOnce();
        return isReached;
      });
      console.info(`awaited steps of one settlement: ${steps}`);
      expect(steps).toBeGreaterThanOrEqual(20);
    },
    120_000,
  );
});

describe("the alarms that find a settled payment reverted by a reorganisation", () => {
  it.each(["before", "after"] as const)(
    "write that down once when both objects are evicted %s any step that is awaited",
    async (when) => {
      const steps = await atEveryStep(async (k) => {
        await scene.again();
        const { from } = readAuthorization(scene.payment.payload);
        await scene.rail.mint(scene.rail.contracts.token, from, 10_000n);
        expect((await scene.settle()).data.settleResponse.success).toBe(true);
        await scene.rail.rpc("anvil_rollback", 1);
        await scene.rail.rpc("evm_setAutomine", false);
        await scene.rail.emptyAccount(from);
        await scene.rail.rpc("evm_mine");
        await scene.rail.rpc("evm_setAutomine", true);

        const isReached = await evictAt(k, when, ["payment", "wallet"], fireAlarms);
        await fireAlarms();
        await scene.expectFailedOnce("invalid_exact_evm_transaction_failed");
        const events = ["X402_PAYMENT_SETTLED", "X402_PAYMENT_FAILED"];
        expect(await scene.events(), `evicted at step ${k}`).toEqual(events);
        return isReached;
      });
      console.info(`awaited steps of the alarms: ${steps}`);
      expect(steps).toBeGreaterThanOrEqual(8);
    },
    120_000,
  );
});
