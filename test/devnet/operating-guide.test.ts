import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

const guide = readFileSync(new URL("../../docs/operating.md", import.meta.url), "utf8");

/** What the guide has a shell do about secrets, in its order; a curl or a database is not asked. */
const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)]
  .map(([, block = ""]) => block)
  .filter((block) => /openssl|wrangler secret put|\$secrets/.test(block) && !/curl/.test(block));

/** Stands in for wrangler: puts what it is given for a secret where the test finds it. */
const NPX = `#!/bin/sh
[ "$1 $2 $3" = "wrangler secret put" ] || exit 1
cat >> "$SET/$4"
`;

let folder: string;
let set: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "operating-"));
  set = join(folder, "set");
  for (const name of ["set", "bin", "home"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "bin", "npx"), NPX, { mode: 0o755 });
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(script: string): void {
  const PATH = `${join(folder, "bin")}:${process.env.PATH}`;
  const env = { PATH, HOME: join(folder, "home"), SET: set };
  execFileSync("sh", ["-e", "-c", script], {
    env,
    input: "typed\n",
    stdio: ["pipe", "pipe", "ignore"],
  });
}

/** The values that were set, in order. */
const valuesOf = (name: string) => readFileSync(join(set, name), "utf8").trim().split("\n");

it("D1 the guide's commands keep every secret that they make in a file for its owner alone", () => {
  run(blocks.join("\n"));
  const home = join(folder, "home", "agent-payment-service");
  expect(statSync(home).mode & 0o777).toBe(0o700);
  const kept = readdirSync(home).map((name) => {
    expect(statSync(join(home, name)).mode & 0o777).toBe(0o600);
    return readFileSync(join(home, name), "utf8").trim();
  });
  const made = ["API_KEY_SECRET", "SEALING_KEYS", "ADMIN_KEY"];
  for (const name of made) for (const value of valuesOf(name)) expect(kept, name).toContain(value);
  expect(readdirSync(set).sort()).toEqual([...made, "PRICE_SOURCE_KEY"].sort());

  const key = "[A-Za-z0-9+/]{43}=";
  const [first = "", rotated, alone] = valuesOf("SEALING_KEYS");
  expect(first).toMatch(new RegExp(`^k1:${key}$`));
  expect(rotated).toMatch(new RegExp(`^k2:${key},k1:${key}$`));
  expect(rotated?.endsWith(first)).toBe(true);
  expect(alone).toBe(rotated?.split(",")[0]);
  for (const value of valuesOf("API_KEY_SECRET")) expect(value.length).toBeGreaterThanOrEqual(32);
  for (const value of valuesOf("ADMIN_KEY")) expect(value.length).toBeGreaterThanOrEqual(15);
});

it("D1 the guide's commands write over no secret when they are run again", () => {
  const [make = ""] = blocks.filter((block) => block.includes("openssl"));
  run(make);
  const home = join(folder, "home", "agent-payment-service");
  const before = readFileSync(join(home, "SEALING_KEYS"), "utf8");
  expect(() => run(make)).toThrow();
  expect(readFileSync(join(home, "SEALING_KEYS"), "utf8")).toBe(before);
});
