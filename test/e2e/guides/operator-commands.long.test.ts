/** The commands of the pages for operators, sent as they stand to a service of their own. */
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ApiAccess, ask } from "../../../devnet/client/api.ts";
import { until } from "../../../devnet/client/wait.ts";
import {
  type Copy,
  freePort,
  killCopies,
  ready,
  receiverOf,
  root,
  start,
  WAIT_MS,
} from "../copies.ts";
import { DEMO_GUIDES, GUIDES, shellBlocksOf } from "./blocks.ts";

interface Source {
  id: string;
  PurchasingWallets: { id: string; walletAddress: string }[];
  RpcProviders: { url: string }[];
}

let copy: Copy;
let access: ApiAccess;
/** The reader's clone of the repository. */
let clone: string;
let source: Source;

beforeAll(async () => {
  copy = start(await freePort(), "--provider=ryo");
  const { url, adminKey: token } = await ready(copy);
  access = { url, token };
  clone = mkdtempSync(join(tmpdir(), "operator-"));
  for (const name of ["package.json", "node_modules", "tools", "src"])
    symlinkSync(join(root, name), join(clone, name));
  mkdirSync(join(clone, ".secrets"));
  writeFileSync(join(clone, ".secrets/production.env"), `ADMIN_KEY=${token}\n`);
  const { ExtendedPaymentSources } = await ask<{ ExtendedPaymentSources: Source[] }>(
    access,
    "GET",
    "/payment-source-extended",
  );
  const found = ExtendedPaymentSources[0];
  if (!found) throw new Error("npm start has no payment source");
  source = found;
});

afterAll(() => {
  killCopies();
  rmSync(clone, { recursive: true });
});

/** Pages whose blocks of this kind were run. */
const pages = new Set<string>();

/** Blocks of a page that send requests, in their order. */
function requestsOf(page: string): string[] {
  pages.add(page);
  return shellBlocksOf(`docs/${page}`).filter((block) =>
    /\bcurl\b.*(\$service|\$SERVICE_URL|\$bots|\$path)|npm run --silent export/.test(block),
  );
}

/**
 * Runs blocks of a page in one shell. The shell ends at the first refused request.
 *
 * @param values - what a reader types in place of a text of the page
 * @returns the `data` of each answer
 */
function answers(
  blocks: (string | undefined)[],
  values: Record<string, string | undefined>,
  env: Record<string, string> = {},
): Record<string, unknown>[] {
  let script = blocks.join("\n");
  for (const [text, value = ""] of Object.entries(values)) {
    expect(script).toContain(text);
    script = script.replaceAll(text, value);
  }
  const curl = 'curl() { command curl --fail-with-body "$@" && echo; }';
  const shell = { SERVICE_URL: access.url, SERVICE_TOKEN: access.token };
  const { status, stdout } = spawnSync("sh", ["-e", "-c", `${curl}\n${script}`], {
    cwd: clone,
    encoding: "utf8",
    env: { ...process.env, service: access.url, admin: access.token, ...shell, ...env },
  });
  if (status !== 0) throw new Error(`${script}\n${stdout}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .map(({ data, ...rest }) => data ?? rest);
}

it("docs/deploying.md leads to a key, wallets, a source, a registry and alarms", async () => {
  const [key, wallet, createSource, registry, alarms, test] = requestsOf("deploying.md");
  const host = { "https://agent-payment-service.<account>.workers.dev": access.url };
  expect(answers([key], host)).toMatchObject([{ permission: "Admin", name: "Ann" }]);
  const made = answers([wallet, wallet, wallet], {}) as Record<string, string>[];
  const [buyer, seller, administrator] = made;
  const values = {
    "preprod…": "preprodKey",
    "addr_test1…": administrator?.walletAddress,
    '"…", "note": "buys"': `"${buyer?.walletMnemonic}", "note": "buys"`,
    '"…", "note": "sells"': `"${seller?.walletMnemonic}", "note": "sells"`,
  };
  const [created, health] = answers([createSource], values);
  expect(created).toMatchObject({ PurchasingWallets: [{ note: "buys" }] });
  expect(health).toMatchObject({ status: "ok" });
  const policyId = "ab".repeat(28);
  const policy = { '"…"': `"${policyId}"`, "preprod…": "preprodKey" };
  expect(answers([registry], policy)).toMatchObject([{ policyId }]);
  const receiver = receiverOf(copy);
  const [webhook] = answers([alarms], { "https://chat.example.com/hook": receiver });
  expect(webhook).toMatchObject({ format: "CHAT" });
  const [delivery] = answers([test], { '"…"': `"${webhook?.id}"` });
  expect(delivery).toMatchObject({ success: true });
  expect(await (await fetch(receiver)).text()).toMatch(/^\S+ {2}\/ {2}WEBHOOK_TEST/m);
});

it("docs/administration.md leads to a transfer, to a wallet that fills up another, and to a warning", async () => {
  const { id: wallet = "", walletAddress: from = "" } = source.PurchasingWallets[0] ?? {};
  const env = { source: source.id, wallet, funding: wallet, from, to: from };
  const [transfer, made, rule, warning] = answers(requestsOf("administration.md"), {}, env);
  type Listed = { transfers: { status: string }[] };
  const list = `/wallet/transfer-funds?id=${transfer?.id}`;
  const isConfirmed = async () =>
    (await ask<Listed>(access, "GET", list)).transfers[0]?.status === "Confirmed";
  await until(isConfirmed, { what: "the transfer in a block", limitMs: WAIT_MS });
  expect(made).toMatchObject({ Wallet: { type: "Funding" } });
  expect(rule).toMatchObject({ walletId: wallet, below: "20000000" });
  expect(warning).toMatchObject({ thresholdAmount: "100000000" });
});

it("docs/operating.md checks what a server can do", () => {
  const url = { "https://ogmios.example": source.RpcProviders[0]?.url };
  const [check] = answers(requestsOf("operating.md"), url);
  const submit = { capability: "submit", state: "known" };
  expect(check?.Capabilities).toContainEqual(expect.objectContaining(submit));
});

it("docs/reference-scripts.md publishes a script, shows it, and withdraws it", async () => {
  const [block = ""] = requestsOf("reference-scripts.md");
  const [path, publish, show, withdraw] = block.split("\n");
  const id = { "<payment source>": source.id };
  const stateAfter = (line?: string) => answers([path, line], id)[0]?.state;
  expect(stateAfter(publish)).toBe("PublishRequested");
  const isPublished = async () => stateAfter(show) === "Published";
  await until(isPublished, { what: "the script on the chain", limitMs: WAIT_MS });
  expect(stateAfter(withdraw)).toBe("WithdrawRequested");
});

it("docs/worker-bots.md moves a bot to a version", () => {
  const address = { "http://127.0.0.1:8787": access.url };
  const env = { ADMIN_KEY: access.token };
  const [migrated] = answers(requestsOf("worker-bots.md"), address, env).slice(-2);
  expect(migrated).toMatchObject({ total: 1, moved: 1 });
});

it("docs/quotes.md quotes a job, and buys it", async () => {
  const [quote, purchase] = requestsOf("quotes.md");
  type Listed = { Assets: { agentIdentifier: string; state: string }[] };
  const { Assets } = await ask<Listed>(access, "GET", "/registry?network=Preprod");
  const agent = Assets.find(({ state }) => state === "RegistrationConfirmed");
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const hash = { "<hash of the input>": "ab".repeat(32) };
  const [quoted] = answers([quote], {
    ...hash,
    "<policy id and asset name>": agent?.agentIdentifier,
    "2026-11-22T07:00:00Z": inMinutes(30),
    "2026-11-22T08:00:00Z": inMinutes(60),
  }) as Record<string, string>[];
  const [bought] = answers([purchase], {
    ...hash,
    '"blockchainIdentifier": "<of the quote>"': `"blockchainIdentifier": "${quoted?.blockchainIdentifier}"`,
    '"agentIdentifier": "<of the quote>"': `"agentIdentifier": "${agent?.agentIdentifier}"`,
    "<sellerVKey of the quote>": quoted?.sellerVKey,
    "1795330045147": quoted?.payByTime,
    "1795331845147": quoted?.submitResultTime,
    "1795353445147": quoted?.unlockTime,
    "1795375045147": quoted?.externalDisputeUnlockTime,
  });
  expect(bought).toMatchObject({ blockchainIdentifier: quoted?.blockchainIdentifier });
});

it("docs/personal-data.md exports a network, a wallet and a key, and erases the key's data", async () => {
  const body = { permission: "User", name: "Leaver" };
  const { id: key } = await ask<{ id: string }>(access, "POST", "/api-key", body);
  const values = { "https://pay.example.com": access.url, "…   # an Admin's key": access.token };
  const env = { key, wallet: source.PurchasingWallets[0]?.id ?? "" };
  expect(answers(requestsOf("personal-data.md"), values, env)).toMatchObject([{}]);
  for (const name of ["preprod", "wallet", "key"])
    expect(readFileSync(join(clone, `${name}.ndjson`), "utf8")).toMatch(/"isComplete":true.*\n$/);
});

it("every other page with such requests is followed as a guide", () => {
  const followed = new Set<string>([...pages, ...GUIDES, ...DEMO_GUIDES]);
  const others = readdirSync(join(root, "docs")).filter((page) => !followed.has(page));
  expect(others.filter((page) => page.endsWith(".md") && requestsOf(page).length > 0)).toEqual([]);
});
