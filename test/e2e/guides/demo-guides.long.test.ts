/** The guides for a reader of `npm start` with its demo, followed in empty folders. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type ApiAccess, ask } from "../../../devnet/client/api.ts";
import { until } from "../../../devnet/client/wait.ts";
import { giveGas } from "../../../devnet/evm/money.ts";
import {
  type Copy,
  freePort,
  killCopies,
  ready,
  records,
  root,
  start,
  stop,
  WAIT_MS,
} from "../copies.ts";
import { PackedClient } from "../packed-client.ts";
import { X402Demo } from "../x402-demo.ts";
import {
  Blocks,
  blocksLeft,
  blocksOf,
  commandOf,
  DEMO_GUIDES,
  has,
  orderWrongly,
} from "./blocks.ts";

const X402 = "x402-for-sellers.md";

let copy: Copy;
let access: ApiAccess;
let packed: PackedClient;
/** Of a receiver and of an agent, which the service may call. */
let hookPort: string;
let agentPort: string;
const folders: Blocks[] = [];

beforeAll(async () => {
  [hookPort, agentPort] = [String(await freePort()), String(await freePort())];
  const origins = [hookPort, agentPort].map((port) => `http://127.0.0.1:${port}`);
  copy = start(await freePort(), `--origins=${origins}`);
  packed = await PackedClient.open();
  const service = await ready(copy);
  access = { url: service.url, token: service.adminKey };
  const readyAt = Date.now();
  // From the demo's first purchase on, agents quote.
  const isTrading = async () =>
    (await records(service, "purchase")).some(({ payByTime }) => Number(payByTime) > readyAt);
  await until(isTrading, { what: "the demo's first purchase", limitMs: WAIT_MS });
});

afterAll(() => {
  killCopies();
  for (const folder of folders) folder.remove();
  packed.close();
});

it("docs/first-job.md leads to a job that was bought, and to one that was sold", async () => {
  const blocks = createFolder();
  const [install, variables, buyMine] = blocksOf("first-job.md", "sh");
  const [buyer, seller, follower] = blocksOf("first-job.md", "ts");
  await blocks.output(install, { folder: "." });
  await blocks.output(variables);
  const files = { "buy-a-job.mts": buyer };
  const bought = await blocks.output(commandOf("first-job.md", "buy-a-job.mts"), { files });
  const shown = bought.replace(/^purchase: 01\w{24}$/m, "purchase: 01…");
  expect(readGuide("first-job.md")).toContain(`\n\`\`\`\n${shown}\`\`\`\n`);

  // The buyer of the other guide buys from the demo, too.
  const [agent] = await search("Steady translator");
  const [program] = blocksOf("escrow-for-buyers.md", "ts");
  const printed = await blocks.output(commandOf("escrow-for-buyers.md", "buy.mts"), {
    env: { AGENT_URL: agent?.apiBaseUrl ?? "" },
    files: { "buy.mts": program },
  });
  expect(printed).toMatch(/^[0-9a-f]+\nDone by the demo: Guten Tag\n/);

  const shop = blocks.start(commandOf("first-job.md", "sell-a-job.mts"), {
    env: { LISTEN_PORT: agentPort },
    files: { "sell-a-job.mts": seller },
  });
  const find = async () => (await search("Shouter")).length > 0;
  await until(find, { what: "the agent in the registry", limitMs: WAIT_MS });
  expect(await blocks.output(buyMine, { files })).toMatch(/^bought: GUTEN TAG\n/m);
  expect(await orderWrongly(`http://127.0.0.1:${agentPort}`)).toBe(400);
  expect(shop.stderr).toBe("");

  const feed = blocks.start(commandOf("first-job.md", "follow-changes.mts"), {
    files: { "follow-changes.mts": follower },
  });
  const prints = () => /^\S+ {2}ResultSubmitted, \w+$/m.test(feed.stdout);
  await vi.waitUntil(prints, { timeout: WAIT_MS });
  await Promise.all([stop(feed), stop(shop)]);
});

it("docs/mcp.md leads to a job that a key with a limit bought", async () => {
  const blocks = createFolder();
  const [install, createKey] = blocksOf("mcp.md", "sh");
  await blocks.output(install, { folder: "." });
  const { data } = JSON.parse(await blocks.output(createKey));
  const env = { SERVICE_TOKEN: data.token };
  const [program] = blocksOf("mcp.md", "ts");
  const run = commandOf("mcp.md", "mcp-agent.mts");
  const printed = await blocks.output(run, { env, files: { "mcp-agent.mts": program } });
  expect(printed).toMatch(/^tools: find_agents, /);
  expect(printed).toMatch(/\nthe purchase is ResultSubmitted\n$/);
});

it("docs/mcp.md has a configuration whose request lists every tool of the table", async () => {
  const text = readGuide("mcp.md");
  const [, json = ""] = /^```json\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const { url, headers } = JSON.parse(json).mcpServers.payments;
  const authorization = headers.Authorization.replace("<API key>", access.token);
  const response = await fetch(`${access.url}${new URL(url).pathname}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  const { result } = (await response.json()) as { result: { tools: { name: string }[] } };
  const names = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(result.tools.map(({ name }) => name).sort()).toEqual(names.sort());
});

it("docs/webhooks.md leads to receivers that print events, and refuse what is not signed", async () => {
  const blocks = createFolder();
  const [variables, subscribe, secrets, test, install] = blocksOf("webhooks.md", "sh");
  await blocks.output(variables);
  await blocks.output(secrets);
  await blocks.output(install, { folder: "." });
  const { data } = JSON.parse(await blocks.output(subscribe, { env: { LISTEN_PORT: hookPort } }));
  const env = { LISTEN_PORT: hookPort, WEBHOOK_ID: data.id, WEBHOOK_SECRET: data.secret };
  const receivers = { ts: "receive-webhooks.mts", js: "receive.mjs" };
  const available = (["py", "go", "php"] as const)
    .filter((language) => has(language))
    .map((language) => [language, `receive-webhooks.${language}`] as const);
  for (const [language, file] of [...Object.entries(receivers), ...available]) {
    const [program] = blocksOf("webhooks.md", language as "ts");
    const run = commandOf("webhooks.md", file);
    const receiver = blocks.start(run, { env, files: { [file]: program } });
    await listens(hookPort);
    expect(JSON.parse(await blocks.output(test, { env })).data).toMatchObject({ success: true });
    const prints = (line: RegExp) => () => line.test(receiver.stdout);
    await vi.waitUntil(prints(/^WEBHOOK_TEST \w{26}$/m), { timeout: WAIT_MS });
    await vi.waitUntil(prints(/^P\w+_ON_CHAIN_STATUS_CHANGED \w{26}$/m), { timeout: WAIT_MS });
    const headers = { "content-type": "application/json", "webhook-id": "e1" };
    const forged = await fetch(data.url, { method: "POST", headers, body: "{}" });
    expect([file, forged.status]).toEqual([file, 400]);
    await stop(receiver);
  }
});

it("docs/x402-for-sellers.md leads to a sale, also on a chain that an Admin adds", async () => {
  const blocks = createFolder();
  const [install, request, pay, settlements, addChain] = blocksOf(X402, "sh");
  const [program] = blocksOf(X402, "ts");
  await blocks.output(install, { folder: "." });
  const file = "x402-express.mts";
  const sells = async (key: string) => {
    const env = { LISTEN_PORT: String(await freePort()) };
    const server = blocks.start(commandOf(X402, file), { env, files: { [file]: program } });
    await listens(env.LISTEN_PORT);
    const unpaid = await blocks.output(request, { env });
    expect(unpaid).toMatch(/^HTTP\/1.1 402 Payment Required\r\n[\s\S]*^payment-required: /im);
    const code = pay?.code.replace("forecast-1", key) ?? "";
    const buyer = { name: pay?.name ?? "", language: "sh", code } as const;
    const paid = await blocks.output(buyer, { env });
    expect(paid).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*^payment-response: [\s\S]*Rain until noon/im);
    expect(await blocks.output(buyer, { env })).toMatch(/^HTTP\/1.1 402 /);
    const { Settlements } = JSON.parse(await blocks.output(settlements)).data;
    expect(Settlements[0]).toMatchObject({ success: true, amount: "10000" });
    expect(server.stderr).toBe("");
  };
  await sells("forecast-1");

  const demo = await X402Demo.of(copy);
  type Listed = { Networks: { caip2Id: string; rpcUrl: string }[] };
  const { Networks } = await demo.get<Listed>("/x402/networks");
  const env = { CHAIN: Networks[0]?.caip2Id ?? "", RPC_URL: Networks[0]?.rpcUrl ?? "" };
  const gasWallet = (await blocks.output(addChain, { env })).trim();
  await giveGas({ rpc: demo.rpc.bind(demo) }, gasWallet);
  await sells("forecast-2");
});

it("every block of these guides was run", () => {
  expect(blocksLeft(DEMO_GUIDES)).toEqual([]);
});

/** Searches the registry for agents. */
async function search(query: string): Promise<{ apiBaseUrl: string }[]> {
  type Found = { entries: { apiBaseUrl: string }[] };
  const body = { network: "Preprod", query };
  return (await ask<Found>(access, "POST", "/registry-entry-search", body)).entries;
}

function readGuide(name: string): string {
  return readFileSync(join(root, "docs", name), "utf8");
}

/** An empty folder of a reader, who has the service's address and key. */
function createFolder(): Blocks {
  const service = { SERVICE_URL: access.url, SERVICE_TOKEN: access.token };
  const blocks = new Blocks({ ...packed.env, ...service });
  folders.push(blocks);
  return blocks;
}

async function listens(port: string): Promise<void> {
  const request = () => fetch(`http://127.0.0.1:${port}`).catch(() => null);
  await vi.waitUntil(request, { timeout: WAIT_MS, interval: 100 });
}
