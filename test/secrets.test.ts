import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deriveWalletKeys } from "../src/chain/wallet-keys.ts";
import worker from "../src/worker.ts";
import { emptyTables } from "./support/app.ts";
import { ASLEEP } from "./support/objects.ts";
import { settleRegistry } from "./support/registry/registry-sync.ts";
import { type Answer, SourceApi } from "./support/sources/api.ts";
import { settle } from "./support/sources/sync.ts";

/** Everything the service is told or makes that nobody may read in its database or its logs. */
const secrets = new Map<string, string | Uint8Array>();
let logged: string[];

beforeEach(async () => {
  await emptyTables();
  secrets.clear();
  logged = [];
  for (const level of ["debug", "log", "info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((...parts: unknown[]) => {
      logged.push(parts.map(String).join(" "));
    });
});
afterEach(() => vi.restoreAllMocks());

function keep(name: string, secret: string): string {
  secrets.set(name, secret);
  return secret;
}

/** No pass over the registry is automatic: the test runs it. */
const REGISTRY_ASLEEP = { REGISTRY_CURSOR: ASLEEP.REGISTRY_CURSOR };

async function expectOk(asking: Promise<Answer>): Promise<Answer["data"]> {
  const { status, data, message } = await asking;
  expect({ status, message }).toEqual({ status: 200, message: undefined });
  return data;
}

/** Brings a secret of every kind into the service, under an Idempotency-Key where one is taken. */
async function useEverything(api: SourceApi): Promise<void> {
  const post = (path: string, body: object) =>
    expectOk(
      api.ask("POST", `/api/v1${path}`, body, { headers: { "idempotency-key": path.slice(1) } }),
    );
  const { token } = await post("/api-key", { permission: "Admin" });
  keep("API token", token);
  await expectOk(api.ask("GET", "/api/v1/api-key-status", null, { headers: { token } }));

  const first = keep("provider key", "provider-key-of-the-source");
  for (const name of ["buyer-0", "seller-0"]) {
    const mnemonic = keep(`mnemonic of ${name}`, api.wallet(name).mnemonic);
    secrets.set(`key of ${name}`, (await deriveWalletKeys(mnemonic, "Preprod")).paymentKey);
  }
  const source = await post("/payment-source-extended", {
    ...api.body({ ...api.purchasing(), ...api.selling() }),
    PaymentSourceConfig: { rpcProviderApiKey: first, rpcProvider: "Blockfrost" },
  });
  const second = keep("second provider key", "another-provider-key-of-it");
  await expectOk(
    api.update({
      id: source.id,
      PaymentSourceConfig: { rpcProviderApiKey: second, rpcProvider: "Blockfrost" },
    }),
  );
  const registry = {
    network: "Preprod",
    policyId: api.contract().policyId,
    note: null,
    rpcProviderApiKey: keep("registry provider key", "provider-key-of-the-registry"),
  };
  await expectOk(api.ask("POST", "/api/v1/registry-source", registry, { env: REGISTRY_ASLEEP }));
  const fresh = await post("/wallet", { network: "Preprod" });
  keep("fresh mnemonic", fresh.walletMnemonic);
  const managed = { network: "Preprod", paymentSourceId: source.id, walletType: "Funding" };
  const headers = { "idempotency-key": "managed wallet" };
  const added = await expectOk(api.ask("POST", "/api/v1/wallet", managed, { headers }));
  keep("mnemonic of the added wallet", added.walletMnemonic);

  const webhook = await post("/webhooks", {
    url: `${env.DEVNET_URL}/${keep("webhook URL", "hooks/of/a/chat/with-a-secret-in-it")}`,
    Events: ["PAYMENT_ON_CHAIN_STATUS_CHANGED", "WALLET_LOW_BALANCE"],
    authToken: keep("webhook token", "bearer-of-the-webhook"),
  });
  keep("webhook secret", webhook.secret.replace("whsec_", ""));
  const rotated = await post("/webhooks/rotate-secret", { webhookId: webhook.id });
  keep("rotated webhook secret", rotated.secret.replace("whsec_", ""));

  await post("/wallet/low-balance", {
    walletId: source.SellingWallets[0].id,
    thresholdAmount: "1".padEnd(20, "0"),
  });
  const path = keep("RPC key", "rpc-key-that-stands-in-a-path");
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, result: "0x14a34" });
  await api.chain.faults({ match: path, status: 200, body });
  await post("/x402/networks", {
    caip2Id: "eip155:84532",
    displayName: "Test",
    rpcUrl: `${api.chain.url}/${path}`,
  });
  await api.chain.faults();
  const imported = keep("EVM key", "c0ffee".padEnd(64, "1"));
  await post("/x402/wallets", {
    caip2Network: "eip155:84532",
    type: "Selling",
    privateKey: `0x${imported}`,
  });
}

/** Requests that fail, each with a secret in it. */
async function failWithSecrets(api: SourceApi): Promise<void> {
  const mnemonic = keep("wrong mnemonic", `${"zebra ".repeat(11)}xylophone`);
  const wallets = { SellingWallets: [{ walletMnemonic: mnemonic }] };
  expect((await api.create(wallets)).message).not.toContain("xylophone");
  const refused = keep("refused provider key", "bad");
  secrets.delete("refused provider key");
  await api.create({
    PaymentSourceConfig: { rpcProviderApiKey: refused, rpcProvider: "Blockfrost" },
  });
  const unknown = keep("unknown token", "apk_0123456789abcdefghijklmnopqrstuv");
  await api.ask("GET", "/api/v1/api-key", null, { headers: { token: unknown } });
  const broken = {
    prepare: () => fail(),
    batch: () => fail(),
    getBookmark: () => null,
    withSession: () => broken,
  };
  await api.create(api.selling(), { env: { DB: broken } });
}

function fail(): never {
  throw new Error("D1_ERROR: the database is broken");
}

async function dump(): Promise<string> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf_%'",
  ).all<{ name: string }>();
  const tables = await env.DB.batch(
    results.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)),
  );
  return JSON.stringify(tables.map((table) => table.results));
}

/** A secret in clear, in hex and in base64, whatever stands before it there. */
function forms(secret: string | Uint8Array): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    // The characters at the ends also depend on what stands beside the secret.
    return text
      .slice(shift === 0 ? 0 : 4)
      .replace(/=+$/, "")
      .slice(0, -1);
  });
  const inHex = bytes.toString("hex");
  return [
    ...(typeof secret === "string" ? [secret] : []),
    inHex,
    inHex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

function leaks(text: string): string[] {
  return [...secrets].flatMap(([name, secret]) =>
    forms(secret).some((form) => text.includes(form)) ? [name] : [],
  );
}

describe("after every kind of secret was used", () => {
  it("neither the database nor the logs hold one, in clear, hex or base64", async () => {
    const api = await SourceApi.open();
    await useEverything(api);
    await failWithSecrets(api);
    const [source] = (await api.list()).data.ExtendedPaymentSources;
    await settle(api.chain, source.id);
    const [registry] = (await api.ask("GET", "/api/v1/registry-source")).data.sources;
    await settleRegistry(api.chain, registry.id);
    await worker.scheduled(createScheduledController(), {
      ...env,
      ...api.provider(),
      ...REGISTRY_ASLEEP,
    });
    for (const name of ["ADMIN_KEY", "API_KEY_SECRET"] as const) keep(name, env[name] ?? "");
    keep("sealing key", env.SEALING_KEYS.split(":")[1] ?? "");

    const database = await dump();
    expect(database).toContain("v1.k1.");
    expect(secrets.size).toBeGreaterThanOrEqual(18);
    expect(leaks(database)).toEqual([]);
    expect(logged.length).toBeGreaterThan(0);
    expect(leaks(logged.join("\n"))).toEqual([]);
  });

  it("the search finds a secret in each of its forms", () => {
    keep("secret", "a mnemonic of some words");
    for (const shift of ["", "x", "xx"])
      for (const encoding of ["utf8", "hex", "base64", "base64url"] as const)
        expect(
          leaks(Buffer.from(`${shift}a mnemonic of some words, x`).toString(encoding)),
        ).toEqual(["secret"]);
  });
});
