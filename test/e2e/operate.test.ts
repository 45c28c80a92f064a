import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { run } from "./copies.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "operate-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function secrets(...flags: string[]) {
  const program = run(process.execPath, ["tools/operate/secrets.ts", ...flags], {});
  const [code] = await once(program.process, "close");
  return { code, stdout: program.stdout, stderr: program.stderr };
}

it("npm run secrets writes a file that only its owner can read, and advises to keep a copy", async () => {
  const file = join(folder, "below", "production.env");
  const { code, stdout } = await secrets(`--file=${file}`);
  expect(code).toBe(0);
  expect(stdout).toContain("Store a copy now");
  expect(stdout).toMatch(/^next: npx wrangler deploy --env= --secrets-file \S+production\.env$/m);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const made = parseEnv(readFileSync(file, "utf8"));
  expect(Object.keys(made).sort()).toEqual(["ADMIN_KEY", "API_KEY_SECRET", "SEALING_KEYS"]);
  expect(made.API_KEY_SECRET?.length).toBeGreaterThanOrEqual(32);
  expect(made.ADMIN_KEY?.length).toBeGreaterThanOrEqual(15);
  const [id, key = ""] = (made.SEALING_KEYS ?? "").split(":");
  expect([id, Buffer.from(key, "base64").length]).toEqual(["k1", 32]);
  // None of them is on the screen, where it would be logged or looked at.
  for (const secret of Object.values(made)) expect(stdout).not.toContain(secret);
});

it("npm run secrets never overwrites a file", async () => {
  const file = join(folder, "staging.env");
  await secrets(`--file=${file}`);
  const before = readFileSync(file, "utf8");
  const { code, stdout, stderr } = await secrets(`--file=${file}`);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^\S+staging\.env exists and is left as it is: .*SEALING_KEYS\n$/);
  expect(readFileSync(file, "utf8")).toBe(before);
});

it.each([["--env=../elsewhere"], ["--unknown"]])(
  "npm run secrets refuses %s in one line",
  async (flag) => {
    const { code, stdout, stderr } = await secrets(flag);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  },
);
