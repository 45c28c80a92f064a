import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { crashAt } from "../../support/crash-at.ts";
import { sweep } from "../../support/effort.ts";
import { TransferFixture } from "../../support/wallets/transfer-fixture.ts";

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Runs the wallet twice in a process that dies at its k-th awaited step. @returns steps taken */
async function dieAt(
  { fixture }: TransferFixture,
  k: number,
  when: "before" | "after",
): Promise<number> {
  const dying = crashAt(k, when);
  vi.stubGlobal("fetch", dying.fetch);
  await fixture.work(undefined, dying.overrides.env);
  await fixture.work(undefined, dying.overrides.env);
  vi.unstubAllGlobals();
  return dying.count();
}

describe("a wallet's object stopped at any awaited step and started again", () => {
  it.each(["before", "after"] as const)("pays each transfer once (%s the step)", async (when) => {
    const transfers = await TransferFixture.open();
    let asked = 0;
    const ask = async (): Promise<string[]> => {
      asked += 2;
      return [await transfers.sent(), await transfers.sent()];
    };
    await ask();
    const steps = await dieAt(transfers, Number.POSITIVE_INFINITY, when);
    expect(steps).toBeGreaterThanOrEqual(10);
    for (const k of sweep(27, steps)) {
      const ids = await ask();
      await dieAt(transfers, k, when);
      await transfers.fixture.settle();
      const received = await transfers.received();
      expect(received, `stopped at step ${k}`).toBe(5_000_000n * BigInt(asked));
      expect(await transfers.statuses(ids)).toEqual(["Confirmed", "Confirmed"]);
    }
  });
});
