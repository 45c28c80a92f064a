import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const FOLDER = new URL("../../examples/", import.meta.url);
const RUNNER = fileURLToPath(new URL("../../devnet/run-example.ts", import.meta.url));
const MAX_LINES = 40;
const FILES = readdirSync(FOLDER).filter((name) => name.includes("."));
const NAMES = FILES.filter((file) => !file.endsWith(".yml"))
  .map((file) => file.replace(".ts", ""))
  .join(", ");
/** Where no service listens. */
const NOWHERE = "http://127.0.0.1:9";

/** What the runner prints when it refuses. */
function refusal(...args: string[]): string {
  const env = { ...process.env, SERVICE_URL: NOWHERE, SERVICE_TOKEN: "a-key" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUNNER, ...args], { env });
  expect([status, stdout.toString()]).toEqual([1, ""]);
  return stderr.toString();
}

it.each(FILES)("examples/%s has at most 40 lines", (file) => {
  const lines = readFileSync(new URL(file, FOLDER), "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
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
