import { expect, it } from "vitest";
import { comparePairs, findInterval, listFigures, type Pair } from "../../bench/pairs/compare.ts";
import { completePairs, parsePairs } from "../../bench/pairs/complete-pairs.ts";

it("Pairs of runs go on where they stopped, and the version that runs first changes", () => {
  let file = "";
  let runs: string[] = [];
  const run = (version: "base" | "head", part: string) => {
    if (runs.length === 3) throw new Error("stopped");
    runs.push(`${version} ${part}`);
    return { [`${part}: ms`]: version === "base" ? 10 : 11 };
  };
  const store = (pair: Pair) => {
    file += `${JSON.stringify(pair)}\n`;
  };
  const complete = () => completePairs(parsePairs(file), { parts: ["sync"], count: 2 }, run, store);
  expect(complete).toThrow("stopped");
  expect(runs).toEqual(["base sync", "head sync", "head sync"]);

  runs = [];
  const figures = { base: { "sync: ms": 10 }, head: { "sync: ms": 11 } };
  const pairs = [0, 1].map((number) => ({ part: "sync", number, ...figures }));
  expect(complete()).toEqual(pairs);
  expect(runs).toEqual(["head sync", "base sync"]);
  expect(complete()).toEqual(pairs);
  expect(parsePairs(`${file}{"part":"sync","num`)).toEqual(pairs);
});

it("Figures are named by table, texts and column, and rows with the same texts are numbered", () => {
  const rows = [
    { diff: "payment", limit: 10, ms: 2 },
    { diff: "payment", limit: 100, ms: 5, goal: "", lag: "4.2" },
  ];
  expect(listFigures({ diff: rows })).toEqual({
    "diff payment: limit": 10,
    "diff payment: ms": 2,
    "diff payment #2: limit": 100,
    "diff payment #2: ms": 5,
    "diff payment #2: lag": 4.2,
  });
});

it("A comparison shows what both versions have, marks what got slower, and turns rates round", () => {
  const pairs = [1.02, 1.05, 1.2, 1.04, 1.1, 1.03, 1.06].map((ratio, number) => ({
    ...{ part: "sync", number },
    base: { "sync: ms": 10, "sync: a second": 100, "sync: rows": 7, "sync: old": 1 },
    head: {
      "sync: ms": 10 * ratio,
      "sync: a second": 100 * ratio,
      "sync: rows": 7,
      "sync: new": 1,
    },
  }));
  const rows = comparePairs(pairs);
  expect(rows.map(({ figure, ratio, slower }) => [figure, ratio, slower])).toEqual([
    ["sync: ms", "1.050", "yes"],
    ["sync: a second", "0.952", ""],
  ]);
  expect(rows[0]).toMatchObject({ pairs: 7, base: 10, head: 10.5, interval: "1.02 to 1.20" });
});

it("The interval of a median leaves out as many values as 95 % allow", () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
  expect(findInterval([3])).toEqual({ low: 3, high: 3 });
  expect(findInterval(upTo(8))).toEqual({ low: 1, high: 8 });
  expect(findInterval(upTo(9))).toEqual({ low: 2, high: 8 });
  // The table of the sign test, as statistics books have it.
  expect(findInterval(upTo(20))).toEqual({ low: 6, high: 15 });
  expect(() => findInterval([])).toThrow(RangeError);
});
