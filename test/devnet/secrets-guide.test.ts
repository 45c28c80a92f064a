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
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const guide = readFileSync(new URL("../../docs/secrets.md", import.meta.url), "utf8");
const program = fileURLToPath(new URL("../../tools/operate/secrets.ts", import.meta.url));

/** What the guide has a shell do about secrets, in its order; a database is not asked. */
const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)]
  .map(([, block = ""]) => block)
  .filter((block) => /secrets|wrangler secret/.test(block));

/** Stands in for wrangler: puts what it is given where the test finds it, in order. */
const NPX = `#!/bin/sh
case "$*" in
  "wrangler deploy --env= --secrets-file "*) cp "$5" "$SET/$(ls "$SET" | wc -l)" ;;
  "wrangler secret put "*) echo "$4=$(cat)" > "$SET/$(ls "$SET" | wc -l)" ;;
  *) exit 1 ;;
esac
`;

let folder: string;
let kept: string;
let set: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "secrets-"));
  [kept, set] = [join(folder, ".secrets"), join(folder, "set")];
  for (const name of ["set", "bin"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "bin", "npx"), NPX, { mode: 0o755 });
  execFileSync(process.execPath, [program, "--file=.secrets/production.env"], { cwd: folder });
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(script: string): void {
  const PATH = `${join(folder, "bin")}:${process.env.PATH}`;
  execFileSync("sh", ["-e", "-c", script], {
    cwd: folder,
    env: { PATH, SET: set },
    input: "typed\n",
    stdio: ["pipe", "pipe", "ignore"],
  });
}

/** What was set, one after the other. */
const deployed = () =>
  readdirSync(set)
    .sort((a, b) => Number(a) - Number(b))
    .map((name) => parseEnv(readFileSync(join(set, name), "utf8")));

it("the guide's commands write every new secret to a file that only its owner can read", () => {
  const first = parseEnv(readFileSync(join(kept, "production.env"), "utf8"));
  run(blocks.join("\n"));
  expect(statSync(kept).mode & 0o777).toBe(0o700);
  const files = readdirSync(kept).map((name) => {
    expect(statSync(join(kept, name)).mode & 0o777).toBe(0o600);
    return parseEnv(readFileSync(join(kept, name), "utf8"));
  });
  const [rotated, alone, admin, keys, typed, ...others] = deployed();
  expect(others).toEqual([]);
  for (const one of [rotated, alone, admin, keys]) expect(files).toContainEqual(one);

  const key = "[A-Za-z0-9+/]{43}=";
  expect(first.SEALING_KEYS).toMatch(new RegExp(`^k1:${key}$`));
  expect(rotated?.SEALING_KEYS).toMatch(new RegExp(`^k2:${key},k1:${key}$`));
  expect(rotated).toEqual({
    ...first,
    SEALING_KEYS: `${rotated?.SEALING_KEYS?.split(",")[0]},${first.SEALING_KEYS}`,
  });
  expect(alone).toEqual({ ...first, SEALING_KEYS: rotated?.SEALING_KEYS?.split(",")[0] });
  expect(admin?.ADMIN_KEY?.length).toBeGreaterThanOrEqual(15);
  expect(admin).toEqual({ ...alone, ADMIN_KEY: admin?.ADMIN_KEY });
  expect(keys?.API_KEY_SECRET?.length).toBeGreaterThanOrEqual(32);
  expect(keys).toEqual({ ...admin, API_KEY_SECRET: keys?.API_KEY_SECRET });
  expect([admin?.ADMIN_KEY, keys?.API_KEY_SECRET]).not.toContain(first.ADMIN_KEY);
  expect(typed).toEqual({ PRICE_SOURCE_KEY: "typed" });
});

it("the guide's commands do not overwrite secrets when they run again", () => {
  const [begin = "", ...steps] = blocks;
  for (const step of steps.filter((block) => block.includes("> $secrets"))) {
    run(`${begin}\n${step}`);
    const before = readdirSync(kept).map((name) => readFileSync(join(kept, name), "utf8"));
    expect(() => run(`${begin}\n${step}`)).toThrow();
    expect(readdirSync(kept).map((name) => readFileSync(join(kept, name), "utf8"))).toEqual(before);
  }
});
