/** The programs of `examples/`, each run by its command against one service with its demo. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type ApiAccess, ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { buy, createPayer } from "../../devnet/demo/x402/buyer.ts";
import { PAYEE } from "../../devnet/demo/x402/resource.ts";
import { dollarsOf } from "../../devnet/evm/money.ts";
import { EXAMPLE_ORIGINS } from "../../devnet/origins.ts";
import { withTimeout } from "../../src/timeout.ts";
import {
  type Copy,
  freePort,
  killCopies,
  ready,
  root,
  run,
  start,
  stop,
  WAIT_MS,
} from "./copies.ts";
import { X402Demo } from "./x402-demo.ts";

const RECEIVERS = [
  "receive-webhooks",
  ...["py", "go", "php"].map((it) => `receive-webhooks.${it}`),
];
const INTERPRETERS: Record<string, string> = { py: "python3", go: "go", php: "php" };

let copy: Copy;
let access: ApiAccess;
/** Ports of examples that the service calls. */
let hookPort: number;
let agentPort: number;
/** Names of the examples that were run, or cannot be. */
const seen = new Set<string>();

beforeAll(async () => {
  [hookPort, agentPort] = [await freePort(), await freePort()];
  const origins = [hookPort, agentPort].map((port) => `http://127.0.0.1:${port}`);
  copy = start(await freePort(), `--origins=${origins}`);
  const service = await ready(copy);
  access = { url: service.url, token: service.adminKey };
});
afterAll(killCopies);

it("buy-a-job buys from an agent of the demo as soon as npm start is ready", async () => {
  const printed = await output("buy-a-job");
  expect(printed.replace(/^purchase: 01\w{24}$/m, "purchase: 01…")).toBe(
    'buying from "Steady translator", which takes up to a minute\nbought: Done by the demo: Guten Tag\nthe result has the hash on the chain: true\npurchase: 01…\n',
  );
});

it("mcp-agent buys with the tools of MCP", async () => {
  const printed = await output("mcp-agent");
  expect(printed).toMatch(/^tools: find_agents, .*quote_job, purchase_job/);
  expect(printed).toMatch(/^the purchase is ResultSubmitted\n$/m);
});

it("sell-a-job registers an agent, once, and sells to buy-a-job", async () => {
  const shop = example("sell-a-job", { LISTEN_PORT: String(agentPort) });
  const find = async () => {
    const body = { network: "Preprod", query: "Shouter" };
    type Found = { entries: { apiBaseUrl: string }[] };
    const { entries } = await ask<Found>(access, "POST", "/registry-entry-search", body);
    return entries[0]?.apiBaseUrl;
  };
  const url = `http://127.0.0.1:${agentPort}`;
  expect(await until(find, { what: "the agent in the registry", limitMs: WAIT_MS })).toBe(url);
  const printed = await output("buy-a-job", { AGENT: "Shouter" });
  expect(printed).toMatch(/^bought: GUTEN TAG\nthe result .*: true\npurchase: \w{26}\n$/m);
  expect(await close(shop)).toBe("");

  const reopened = example("sell-a-job", { LISTEN_PORT: String(agentPort) });
  await listens(agentPort);
  const list = "/registry?network=Preprod&searchQuery=Shouter";
  expect((await ask<{ Assets: object[] }>(access, "GET", list)).Assets).toHaveLength(1);
  expect(await close(reopened)).toBe("");
});

it("follow-changes prints changes, and continues after a position", async () => {
  const lines = async (env: Record<string, string>) => {
    const copy = example("follow-changes", env);
    await vi.waitUntil(() => copy.stdout.split("\n").length > 2, { timeout: WAIT_MS });
    expect(await close(copy)).toBe("");
    return copy.stdout.split("\n");
  };
  const [first = "", second] = await lines({});
  expect(first).toMatch(/^\d{4}-\S+Z\/\w{26} {2}\w+, \w+$/);
  const [FROM = ""] = first.split("  ");
  expect((await lines({ FROM }))[0]).toBe(second);
});

it.each(["x402-express", "x402-hono"])("%s sells for a payment, once", async (name) => {
  const demo = await X402Demo.of(copy);
  const { Networks } = await demo.get<{ Networks: { defaultAsset: `0x${string}` }[] }>(
    "/x402/networks",
  );
  const node = { rpc: demo.rpc.bind(demo), token: Networks[0]?.defaultAsset ?? "0x" } as const;
  const port = await freePort();
  const shop = example(name, { LISTEN_PORT: String(port) });
  await listens(port);
  const resource = `http://127.0.0.1:${port}/forecast`;
  const payer = await createPayer(access, node);
  const before = await dollarsOf(node, PAYEE);
  const { body, signature } = await buy(resource, payer, "eip3009");
  expect(body).toContain("Rain until noon");
  const again = await fetch(resource, { headers: { "payment-signature": signature } });
  expect([again.status, await again.text()]).toEqual([402, "{}"]);
  expect((await dollarsOf(node, PAYEE)) - before).toBe(10_000n);
  expect(await close(shop)).toBe("");
});

it.each(RECEIVERS)("%s prints events that the service signed, and refuses others", async (name) => {
  const [, extension = ""] = name.split(".");
  const interpreter = INTERPRETERS[extension];
  seen.add(name);
  if (interpreter && spawnSync(interpreter, ["--help"]).error) {
    console.log(`no ${interpreter}: the example ${name} was not run`);
    return;
  }
  const receiver = example(name, { LISTEN_PORT: String(hookPort) });
  await listens(hookPort);
  const [webhook] = await webhooks();
  const tested = await ask(access, "POST", "/webhooks/test", { webhookId: webhook?.id });
  expect(tested).toMatchObject({ success: true });
  await vi.waitUntil(() => /^WEBHOOK_TEST \w{26}$/m.test(receiver.stdout), { timeout: WAIT_MS });
  const now = String(Math.floor(Date.now() / 1000));
  const headers = { "webhook-id": "a", "webhook-timestamp": now, "webhook-signature": "v1,é AAAA" };
  const forged = await fetch(webhook?.url ?? "", { method: "POST", headers, body: "{}" });
  expect(forged.status).toBe(400);
  await close(receiver);
  expect(await webhooks()).toEqual([]);
});

it("npm start lets the service call the examples at their own ports", async () => {
  const body = { url: EXAMPLE_ORIGINS.webhooks, Events: ["PAYMENT_ON_ERROR"] };
  expect(await ask(access, "POST", "/webhooks", body)).toMatchObject({ isActive: true });
});

it("every example that is a program was run", () => {
  const files = readdirSync(join(root, "examples")).filter((file) =>
    /\.(ts|py|go|php)$/.test(file),
  );
  const names = files.map((file) => file.replace(".ts", ""));
  expect([...seen].sort()).toEqual(names.sort());
});

function example(name: string, env: Record<string, string> = {}): Copy {
  seen.add(name);
  const service = { SERVICE_URL: access.url, SERVICE_TOKEN: access.token };
  return run("npm", ["run", "--silent", "example", "--", name], { ...service, ...env });
}

/** Runs an example to its end, and answers what it printed. */
async function output(name: string, env: Record<string, string> = {}): Promise<string> {
  const copy = example(name, env);
  const code = await withTimeout(WAIT_MS, copy.closed, () => {
    throw new Error(`${name}: no end within ${WAIT_MS} ms\n${copy.stdout}${copy.stderr}`);
  });
  expect([copy.stderr, code]).toEqual(["", 0]);
  return copy.stdout;
}

/** Ends an example as Ctrl-C does, and answers what it printed as an error. */
async function close(copy: Copy): Promise<string> {
  expect(copy.process.exitCode).toBe(null);
  await stop(copy);
  return copy.stderr;
}

async function listens(port: number): Promise<void> {
  const request = () => fetch(`http://127.0.0.1:${port}`).catch(() => null);
  await vi.waitUntil(request, { timeout: WAIT_MS, interval: 100 });
}

/** The webhooks of the receivers here. */
async function webhooks(): Promise<{ id: string; url: string }[]> {
  type Listed = { Webhooks: { id: string; url: string }[] };
  const { Webhooks } = await ask<Listed>(access, "GET", "/webhooks?limit=50");
  return Webhooks.filter(({ url }) => new URL(url).port === String(hookPort));
}
