import { spawnSync } from "node:child_process";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const FOLDER = new URL("../../examples/", import.meta.url);
const RUNNER = fileURLToPath(new URL("../../devnet/run-example.ts", import.meta.url));
/** A program of 40 lines, and the block that names missing variables. */
const MAX_LINES = 40 + 4;
const FILES = readdirSync(FOLDER).filter((name) => name.includes("."));
const NAMES = FILES.filter((file) => !file.endsWith(".yml"))
  .map((file) => file.replace(".ts", ""))
  .join(", ");
/** What runs a program, by its extension. Not every machine has Go and PHP. */
const INTERPRETERS: Record<string, string> = {
  ts: process.execPath,
  js: process.execPath,
  py: "python3",
};
const PROGRAMS = globSync("{,guides/}*.{ts,js,py}", { cwd: FOLDER });
const CLIENT = new URL("../../client/index.ts", import.meta.url).href;
const RESOLVE_CLIENT = `import { registerHooks } from "node:module";
  const resolve = (name, context, next) =>
    next(name === "agent-payment-service-client" ? "${CLIENT}" : name, context);
  registerHooks({ resolve });`;
/** Where no service listens. */
const NOWHERE = "http://127.0.0.1:9";

/** What the runner prints when it refuses. */
function refusal(...args: string[]): string {
  const env = { ...process.env, SERVICE_URL: NOWHERE, SERVICE_TOKEN: "a-key" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUNNER, ...args], { env });
  expect([status, stdout.toString()]).toEqual([1, ""]);
  return stderr.toString();
}

it.each(FILES)("examples/%s has at most 40 lines beside its check of variables", (file) => {
  const lines = readFileSync(new URL(file, FOLDER), "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
});

it.each(PROGRAMS)("examples/%s names missing variables in one line, and exits with 1", (file) => {
  const interpreter = INTERPRETERS[file.split(".")[1] ?? ""] ?? "";
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(RESOLVE_CLIENT)}`;
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_OPTIONS };
  const path = fileURLToPath(new URL(file, FOLDER));
  const { status, stderr, error } = spawnSync(interpreter, [path], { env });
  expect(error).toBeUndefined();
  expect([status, stderr.toString()]).toEqual([
    1,
    expect.stringMatching(/^.*(SERVICE_URL|WEBHOOK_SECRET|AGENT_IDENTIFIER).*\n$/),
  ]);
});

it("npm run example lists the names when none is given, or an unknown one", () => {
  expect(refusal()).toBe(`name an example: ${NAMES}\n`);
  expect(refusal("sell-a-jbo")).toBe(`no example is named sell-a-jbo: ${NAMES}\n`);
});

it("npm run example says in one line that no service runs", () => {
  expect(refusal("buy-a-job")).toBe(
    `no service answers at ${NOWHERE}: run npm start in another terminal first\n`,
  );
});
