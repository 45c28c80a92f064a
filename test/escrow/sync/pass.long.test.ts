import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { call, emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import {
  createSource,
  leftBehind,
  positionAt,
  runPass,
  settle,
} from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const HOUR_MS = 60 * 60_000;

/** Locks and the step after each, in turns, a transaction each. */
function turns(count: number) {
  return Array.from({ length: count }, (_, i) => [
    { do: "lock", as: `a${i}`, version: V1 },
    { do: "submitResult", on: `a${i}` },
  ]).flat();
}

/** Lets only calls to the provider take time: `ms` each, those made together as long as one. */
function slowProvider(ms: number): void {
  let now = Date.now() - HOUR_MS;
  vi.spyOn(Date, "now").mockImplementation(() => now);
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (...call: Parameters<typeof fetch>) => {
    const answered = now + ms;
    const answer = await fetch(...call);
    now = Math.max(now, answered);
    return answer;
  });
}

function usualProvider(): void {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
}

/** Height of the last transaction done. */
async function reached(source: string): Promise<number> {
  const [row] = await openDb(env).all<{ height: number | null }>(
    "SELECT position->>0 AS height FROM source_cursor WHERE source_id = ?",
    source,
  );
  return row?.height ?? 0;
}

async function data<T>(path: string): Promise<T> {
  const answer = await call(path);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: T }).data;
}

async function tipHeight(chain: TestChain): Promise<number> {
  return (await chain.get<{ height: number }>("/blocks/latest")).height;
}

beforeEach(emptyTables);
afterEach(usualProvider);

describe("a pass over 100 transactions, every call taking", () => {
  it.each([
    ["2.6 s", 2600, "complete"],
    ["2.6 s", 2600, "begun later"],
    ["7 s, not far below the timeout,", 7000, "complete"],
    ["7 s, not far below the timeout,", 7000, "begun later"],
  ] as const)(
    "%s gets on each time, and misses nothing (%s ms, history %s)",
    async (_, ms, how) => {
      const chain = await TestChain.create();
      const [first] = await chain.act(turns(50));
      const begin = async () => {
        const id = await createSource(chain, V1);
        if (how === "begun later")
          await openDb(env).batch(moveCursor(id, await positionAt(chain, first?.txHash)));
        return id;
      };
      const source = await begin();
      let before = await reached(source);
      slowProvider(ms);
      for (let pass = 0; pass < 3; pass++) {
        expect(await runPass(chain, source)).not.toBeNull();
        const now = await reached(source);
        expect(now).toBeGreaterThan(before);
        before = now;
      }
      usualProvider();
      await settle(chain, source);
      const { escrows, steps } = await leftBehind(source);

      await emptyTables();
      const whole = await begin();
      await settle(chain, whole);
      const expected = await leftBehind(whole);
      expect(expected.escrows.length).toBeGreaterThanOrEqual(98);
      expect({ escrows, steps }).toEqual({ escrows: expected.escrows, steps: expected.steps });
    },
  );
});

it("a pass cut short leaves confirmations up to the tip it saw", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain, V1);
  await chain.act(turns(50));
  slowProvider(2600);
  expect(await runPass(chain, source)).not.toBeNull();
  usualProvider();
  const { Payments } = await data<{
    Payments: { CurrentTransaction: { confirmations: number; blockHeight: number } }[];
  }>("/api/v1/payment?network=Preprod");
  const tip = await tipHeight(chain);
  expect(Payments.length).toBeGreaterThan(0);
  for (const { CurrentTransaction } of Payments)
    expect(CurrentTransaction.confirmations).toBe(tip - CurrentTransaction.blockHeight + 1);
});

it("a pass that waits for three confirmations is complete: one call more when nothing is new", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain, V1);
  const patient = { env: { CONFIRMATION_THRESHOLD: "3" } };
  await chain.act([{ do: "lock", as: "a", version: V1 }]);
  await chain.mine(1);
  await settle(chain, source, patient);
  const { ExtendedPaymentSources } = await data<{
    ExtendedPaymentSources: { syncInProgress: boolean; lastCheckedAt: string | null }[];
  }>("/api/v1/payment-source-extended");
  expect(ExtendedPaymentSources).toMatchObject([
    { syncInProgress: false, lastCheckedAt: expect.any(String) },
  ]);
  await chain.stats();
  await runPass(chain, source, patient);
  expect((await chain.stats()).total).toBe(1);
  expect((await leftBehind(source)).escrows).toEqual([]);

  await chain.mine(1);
  await settle(chain, source, patient);
  expect((await leftBehind(source)).escrows).toHaveLength(2);
});

describe("confirmations", () => {
  async function confirmations(): Promise<number | null> {
    const { Payments } = await data<{
      Payments: { CurrentTransaction: { confirmations: number } | null }[];
    }>("/api/v1/payment/diff?network=Preprod&filterPaymentSourceType=Web3ChainV1&limit=1");
    return Payments[0]?.CurrentTransaction?.confirmations ?? null;
  }

  it("do not decrease when another provider of the network is behind", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name === "seller-0");
    const other = await createSource(chain, "Web3ChainV2", (name) => name === "seller-1");
    await chain.act([{ do: "lock", as: "a", version: V1 }]);
    await chain.mine(9);
    await settle(chain, source);
    expect(await confirmations()).toBe(10);
    await chain.faults({ behind: 4 });
    await settle(chain, other);
    expect(await confirmations()).toBe(10);
    await chain.faults();
    await settle(chain, source);
    expect(await confirmations()).toBe(10);
    await chain.mine(1);
    await settle(chain, other);
    expect(await confirmations()).toBe(11);
  });

  it("are counted to the new tip after a rollback", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name === "seller-0");
    await chain.act([{ do: "lock", as: "a", version: V1 }]);
    await settle(chain, source);
    await chain.act([{ do: "lock", as: "b", version: V1 }]);
    await chain.mine(8);
    await settle(chain, source);
    expect(await confirmations()).toBe(10);
    await chain.rollback(9);
    await chain.mine(3);
    await settle(chain, source);
    expect(await confirmations()).toBe(4);
  });
});
