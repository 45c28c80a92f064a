import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const FOLDER = new URL("../../examples/", import.meta.url);
const RUNNER = fileURLToPath(new URL("../../devnet/run-example.ts", import.meta.url));
/** Beside the blocks that name missing variables and, in a server, a port in use. */
const MAX_LINES = 40;
const [VARIABLES_LINES, PORT_LINES] = [4, 3];
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
const SERVERS = PROGRAMS.filter((file) => read(file).includes("LISTEN_PORT"));
const CLIENT = new URL("../../client/index.ts", import.meta.url).href;
const RESOLVE_CLIENT = `import { registerHooks } from "node:module";
  const resolve = (name, context, next) =>
    next(name === "agent-payment-service-client" ? "${CLIENT}" : name, context);
  registerHooks({ resolve });`;
const ENV = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(RESOLVE_CLIENT)}`,
};
/** Where no service listens. */
const NOWHERE = "http://127.0.0.1:9";

function read(file: string): string {
  return readFileSync(new URL(file, FOLDER), "utf8");
}

/** What runs a program. */
function commandOf(file: string): [string, string[]] {
  const interpreter = INTERPRETERS[extname(file).slice(1)] ?? "";
  return [interpreter, [fileURLToPath(new URL(file, FOLDER))]];
}

/** What the runner prints when it refuses. */
function refusal(...args: string[]): string {
  const env = { ...process.env, SERVICE_URL: NOWHERE, SERVICE_TOKEN: "a-key" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUNNER, ...args], { env });
  expect([status, stdout.toString()]).toEqual([1, ""]);
  return stderr.toString();
}

it.each(FILES)("examples/%s has at most 40 lines beside its checks of variables", (file) => {
  const program = read(file);
  const checks = VARIABLES_LINES + (program.includes("LISTEN_PORT: ") ? PORT_LINES : 0);
  expect(program.trimEnd().split("\n").length - checks).toBeLessThanOrEqual(MAX_LINES);
});

it.each(PROGRAMS)("examples/%s names missing variables in one line, and exits with 1", (file) => {
  const { status, stderr, error } = spawnSync(...commandOf(file), { env: ENV });
  expect(error).toBeUndefined();
  expect([status, stderr.toString()]).toEqual([
    1,
    expect.stringMatching(/^.*(SERVICE_URL|WEBHOOK_SECRET|AGENT_IDENTIFIER).*\n$/),
  ]);
});

it.each(SERVERS)("examples/%s names a port in use in one line, and exits with 1", async (file) => {
  const kind = { x402Version: 2, scheme: "exact", network: "eip155:31337" };
  const supported = JSON.stringify({ kinds: [kind], extensions: [], signers: {} });
  const other = createServer((_, response) => response.end(supported));
  await once(other.listen(0, "127.0.0.1"), "listening");
  const { port } = other.address() as AddressInfo;
  const service = { SERVICE_URL: `http://127.0.0.1:${port}`, SERVICE_TOKEN: "a-key" };
  const env = { ...ENV, ...service, AGENT_IDENTIFIER: "agent", WEBHOOK_SECRET: "whsec_c2VjcmV0" };
  const program = spawn(...commandOf(file), { env: { ...env, LISTEN_PORT: String(port) } });
  const [printed, [code]] = await Promise.all([text(program.stderr), once(program, "exit")]);
  expect([code, printed]).toEqual([1, expect.stringMatching(/^LISTEN_PORT: .*in use.*\n$/)]);
  other.close();
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
