import { describe, expect, test } from "vitest";
import { between, circles, readImports } from "./imports.ts";

/** The floors of the house, from the ground: a file imports from its own floor and those below. */
const FLOORS = [
  [
    "src/canonical-json.ts",
    "src/connections.ts",
    "src/env.ts",
    "src/log.ts",
    "src/log-events.ts",
    "src/packages.ts",
    "src/timeout.ts",
  ],
  ["src/chain", "src/db", "src/http"],
  ["src/api-keys", "src/events", "src/indexer", "src/sources", "src/units", "src/wallets"],
  [
    "src/escrow",
    "src/inbox",
    "src/invoices",
    "src/ledger",
    "src/payment-sources",
    "src/readiness",
    "src/registrations",
    "src/registry",
    "src/webhooks",
    "src/worker-bots",
    "src/x402",
  ],
  ["src/mcp", "src/operation"],
  ["durable-objects"],
  ["src/app.ts", "src/schedule.ts", "src/worker.ts"],
];

/** `env.ts` names the classes of the objects that the bindings reach; as types, nothing is loaded. */
const NAMES_TYPES_ABOVE = "src/env.ts";

const imports = readImports("src", "durable-objects");
const loaded = new Map(
  [...imports].map(([file, to]) => [file, file === NAMES_TYPES_ABOVE ? [] : to]),
);

/** A folder of `src/` with all below it, `durable-objects`, or a file that stands alone. */
function roomOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  return first === "src" ? `${first}/${second}` : first;
}

/** A room within a room; null for the files that a room keeps at its door. */
function innerRoomOf(file: string): string | null {
  const parts = file.split("/");
  return parts.length > 3 ? parts.slice(0, 3).join("/") : null;
}

function floorOf(file: string): number {
  return FLOORS.findIndex((floor) => floor.includes(roomOf(file)));
}

describe("the house", () => {
  test("has a floor for every file", () => {
    expect([...imports.keys()].filter((file) => floorOf(file) < 0)).toEqual([]);
  });

  test("has no import that runs upward", () => {
    const upward = [...loaded].flatMap(([file, targets]) =>
      targets.filter((to) => floorOf(to) > floorOf(file)).map((to) => `${file} -> ${to}`),
    );
    expect(upward).toEqual([]);
  });

  test("has no circle of files", () => {
    expect(circles(loaded)).toEqual([]);
  });

  test("has no circle of rooms, nor of rooms within one", () => {
    expect(circles(between(loaded, roomOf))).toEqual([]);
    expect(circles(between(loaded, innerRoomOf))).toEqual([]);
  });
});

describe("circles", () => {
  test("finds the nodes that reach each other, and no others", () => {
    const graph = new Map([
      ["a", ["b"]],
      ["b", ["c", "d"]],
      ["c", ["a"]],
      ["d", ["e"]],
      ["e", ["f"]],
      ["f", ["e"]],
      ["g", ["a", "e"]],
    ]);
    const found = circles(graph).map((circle) => circle.toSorted());
    expect(found.toSorted()).toEqual([
      ["a", "b", "c"],
      ["e", "f"],
    ]);
  });
});
