import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { between, circles, readImports } from "./imports.ts";

/** The layers of the service, lowest first: a file imports from its own layer and from lower ones. */
const LAYERS = [
  [
    "src/canonical-json.ts",
    "src/connections.ts",
    "src/env.ts",
    "src/local-date.ts",
    "src/log.ts",
    "src/log-events.ts",
    "src/packages.ts",
    "src/reason-codes.ts",
    "src/task-error.ts",
    "src/timeout.ts",
    "src/wake-objects.ts",
  ],
  ["src/chain", "src/db", "src/http"],
  [
    "src/api-keys",
    "src/archive",
    "src/events",
    "src/indexer",
    "src/sources",
    "src/tokens",
    "src/wallets",
  ],
  [
    "src/escrow",
    "src/inbox",
    "src/invoices",
    "src/chain-lookups",
    "src/payment-sources",
    "src/readiness",
    "src/registrations",
    "src/registry",
    "src/webhooks",
    "src/worker-bots",
    "src/x402",
  ],
  ["src/wallet-features.ts"],
  ["src/erasure", "src/mcp", "src/observability"],
  ["src/compatibility"],
  ["durable-objects"],
  ["src/app.ts", "src/schedule.ts", "src/worker.ts"],
];

const imports = readImports("src", "durable-objects");

/** Folders of `src/escrow`, and those below each: a file imports from its own folder and from these. */
const ESCROW: Record<string, readonly string[]> = {
  model: [],
  store: ["model"],
  sync: ["model", "store"],
  queries: ["model", "store"],
  terms: ["model", "store", "queries"],
  quotes: ["model", "store", "queries", "terms"],
  purchases: ["model", "store", "queries", "terms"],
  disputes: ["model", "store", "queries", "terms"],
  steps: ["model", "store", "queries", "terms"],
  tasks: ["model", "store", "queries", "terms", "disputes", "steps"],
  "task-list": ["model", "store", "queries"],
};

/** A folder of `src/` with its subfolders, `durable-objects`, or a file of `src/` itself. */
function areaOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  return first === "src" ? `${first}/${second}` : first;
}

/** A subfolder of an area; null for files of the area itself. */
function subfolderOf(file: string): string | null {
  const parts = file.split("/");
  return parts.length > 3 ? parts.slice(0, 3).join("/") : null;
}

function layerOf(file: string): number {
  return LAYERS.findIndex((layer) => layer.includes(areaOf(file)));
}

describe("the service", () => {
  test("has a layer for every file", () => {
    expect([...imports.keys()].filter((file) => layerOf(file) < 0)).toEqual([]);
  });

  test("has no import that runs upward", () => {
    const upward = [...imports].flatMap(([file, targets]) =>
      targets.filter((to) => layerOf(to) > layerOf(file)).map((to) => `${file} -> ${to}`),
    );
    expect(upward).toEqual([]);
  });

  test("has no import of src/compatibility but that of src/app.ts", () => {
    const importers = [...imports]
      .filter(([file]) => areaOf(file) !== "src/compatibility")
      .filter(([, targets]) => targets.some((to) => areaOf(to) === "src/compatibility"))
      .map(([file]) => file);
    expect(importers).toEqual(["src/app.ts"]);
  });

  test("has at most 2,500 lines in src/compatibility", () => {
    const files = [...imports.keys()].filter((file) => areaOf(file) === "src/compatibility");
    const lineCounts = files.map((file) => readFileSync(file, "utf8").split("\n").length - 1);
    expect(lineCounts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(2_500);
  });

  test("has no circle of files", () => {
    expect(circles(imports)).toEqual([]);
  });

  test("has no circle of areas, nor of their subfolders", () => {
    expect(circles(between(imports, areaOf))).toEqual([]);
    expect(circles(between(imports, subfolderOf))).toEqual([]);
  });

  test("has no circle of folders, each with the files beside them", () => {
    const folderOf = (file: string) => (path.dirname(file) === "src" ? file : path.dirname(file));
    expect(circles(between(imports, folderOf))).toEqual([]);
  });

  test("has no circle of files or folders in the console", () => {
    const files = readImports("console");
    expect(circles(files)).toEqual([]);
    expect(circles(between(files, (file) => path.dirname(file)))).toEqual([]);
  });
});

describe("the folders of src/escrow", () => {
  const files = [...imports].filter(([file]) => file.startsWith("src/escrow/"));
  const folderOf = (file: string) => file.split("/")[2] ?? "";

  test("hold every file", () => {
    const others = files.map(([file]) => file).filter((file) => !(folderOf(file) in ESCROW));
    expect(others).toEqual([]);
  });

  test("import from the folders below them alone", () => {
    const wrong = files.flatMap(([file, targets]) =>
      targets
        .filter((to) => to.startsWith("src/escrow/") && folderOf(to) !== folderOf(file))
        .filter((to) => !ESCROW[folderOf(file)]?.includes(folderOf(to)))
        .map((to) => `${file} -> ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  test("have a model that imports from src/chain and the words for tasks alone", () => {
    const wrong = files
      .filter(([file]) => folderOf(file) === "model")
      .flatMap(([file, targets]) => targets.map((to) => [file, to] as const))
      .filter(([, to]) => !/^src\/(chain|escrow\/model|(reason-codes|task-error)\.ts$)/.test(to));
    expect(wrong).toEqual([]);
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
