import { expect, test } from "vitest";
import { type Counts, Invocation } from "../../bench/platform/invocation.ts";
import { excessesOf } from "../../bench/platform/limits.ts";
import { pricesOf } from "../../bench/platform/price.ts";
import { BILLED, type Billed, type Stage, UNITS, unitsOf } from "../../bench/platform/units.ts";

const FREE = Object.fromEntries(BILLED.map((item) => [item, 0])) as Billed;
const NO_WORK = Object.fromEntries(UNITS.map((unit) => [unit, FREE])) as Record<
  (typeof UNITS)[number],
  Billed
>;

function invocation(kind: string, counts: Partial<Counts> = {}): Invocation {
  const made = new Invocation(kind, null);
  Object.assign(made.counts, counts);
  return made;
}

const stage = (name: string, invocations: Invocation[] = []): Stage => ({
  ...{ name, count: 2, cpuMs: 40, invocations },
});

test("a unit adds up its invocations, and leaves out crons and queues", () => {
  const sale = stage("payment", [
    invocation("POST /api/v1/payment", { "rows written": 6, "log lines": 2 }),
    invocation("HotWallet.alarm", { "rows written": 4, "object ms": 2_000 }),
    invocation("queue events", { "rows written": 100 }),
    invocation("cron", { "rows written": 100 }),
  ]);
  const others = ["poll, caught up", "purchase", "settlement", "minute"];
  const moves = ["move", "move, x402"];
  const events = ["event, few endpoints", "event, many endpoints"];
  const units = unitsOf([sale, ...[...others, ...moves, ...events].map((name) => stage(name))]);
  expect(units.payment).toEqual({
    ...FREE,
    requests: 0.5,
    "CPU ms": 10,
    "rows written": 5,
    "object requests": 0.5,
    "object GB-s": 0.128,
    "log events": 1,
  });
});

test("the price of a month is what exceeds the included volume", () => {
  const units = { ...NO_WORK, "pass of a source": { ...FREE, requests: 1, "log events": 2 } };
  const prices = pricesOf(units, { name: "passes", units: { "pass of a source": 110e6 } }, 0);
  // 100 million requests and 200 million lines are not included.
  expect(prices).toMatchObject({ requests: 30, "log events": 120, "rows read": 0, total: 155 });
});

test("a settlement adds to the storage of the database and of objects", () => {
  const prices = pricesOf(NO_WORK, { name: "x402", units: { settlement: 1e6 } }, 20_000);
  expect(prices).toMatchObject({ total: 5, "added: object storage": 4 });
  expect(prices["added: D1 storage"]).toBeCloseTo(0.975);
});

test("a median above its limit, or one that was not measured, is reported", () => {
  const rows = [{ stage: "minute", kind: "cron", "D1 calls": 31, "rows read": 10 }];
  const limits = { "minute: cron": { "D1 calls": 30, "rows read": 10 }, "poll: GET /": {} };
  expect(excessesOf(rows, limits)).toEqual([
    "platform: minute: cron: 31 D1 calls, at most 30",
    "platform: poll: GET / was not measured",
  ]);
});
