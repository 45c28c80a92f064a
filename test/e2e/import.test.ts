import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type ApiAccess, ask } from "../../devnet/client/api.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import { readPeerDatabase } from "../../tools/import/peer-database.ts";
import { createPeerSecrets } from "../../tools/import/peer-secrets.ts";
import { type ImportReport, planImport } from "../../tools/import/plan-import.ts";
import { printReport } from "../../tools/import/print-report.ts";
import type { MigratedDatabase } from "../../tools/operate/apply-migrations.ts";
import {
  CREATED_AT,
  ENCRYPTION_KEY,
  ID,
  LIMITED_TOKEN,
  listRows,
  RESULT_HASH,
  TOKEN,
  toColumns,
} from "./peer-rows.ts";
import { PEER_TABLES } from "./peer-tables.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";

const WAIT = { timeout: 200_000, interval: 250 };
const SECRETS = freshSecrets();
const NOW = Date.now();

let server: PostgresServer | null;
let service: Service;
let folder: string;

beforeAll(async () => {
  server = await startPostgres();
  if (server === null) return;
  folder = mkdtempSync(join(tmpdir(), "import-"));
  await fillDatabase(server.url);
  const variables = { ...SECRETS, WIRE_NAMES: "cardano" };
  service = await startService({ variables, isEmpty: true, cronEveryMs: 500, log: () => {} });
});
afterAll(async () => {
  await server?.close();
  await service?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

async function fillDatabase(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe(PEER_TABLES);
  for (const row of listRows(NOW)) {
    const { table, columns } = toColumns(row);
    await sql`INSERT INTO ${sql(table)} ${sql(columns as Record<string, string>)}`;
  }
  await sql.end();
}

/** The database of the running service. */
const target: MigratedDatabase = {
  async run(statements) {
    const { d1 } = service.host;
    const prepared = statements.map((one) => d1.prepare(one));
    const results = await d1.batch<Record<string, unknown>>(prepared);
    return results.map((one) => one.results);
  },
};

async function plan() {
  const data = await readPeerDatabase(server?.url ?? "");
  const secrets = { service: SECRETS, peer: createPeerSecrets(ENCRYPTION_KEY) };
  return planImport(target, data, secrets, NOW);
}

const countsOf = ({ tallies }: ImportReport) =>
  Object.fromEntries(
    tallies.map(({ kind, found, added, present, leftOut }) => [
      kind,
      [found, added, present, [...leftOut.values()].flat().length],
    ]),
  );
const reasonsOf = ({ tallies }: ImportReport, kind: string) =>
  Object.fromEntries(tallies.find((one) => one.kind === kind)?.leftOut ?? []);

const isLeftOut = () => {
  if (server !== null) return false;
  console.log("PostgreSQL is not installed here (Debian: postgresql), so no import was tested.");
  return true;
};

const api = (token: string): ApiAccess => ({ url: service.url, token });
// biome-ignore lint/suspicious/noExplicitAny: answers are compared with what they should be.
const get = (path: string, token = TOKEN) => ask<any>(api(token), "GET", path);

test("a dry run tells what it would import and why it leaves rows out, and writes nothing", async () => {
  if (isLeftOut()) return;
  const { report } = await plan();
  expect(countsOf(report)).toEqual({
    "payment sources": [4, 2, 0, 2],
    wallets: [7, 3, 0, 4],
    "API keys": [6, 3, 0, 3],
    "low-balance rules": [2, 1, 0, 1],
    "registrations of agents": [4, 2, 0, 2],
    "registrations of inbox agents": [1, 1, 0, 0],
    "payments and quotes": [8, 5, 0, 3],
    purchases: [2, 2, 0, 0],
    "x402 wallets": [2, 1, 0, 1],
    "x402 networks": [1, 1, 0, 0],
    "x402 budgets": [1, 1, 0, 0],
    "x402 low-balance rules": [1, 1, 0, 0],
    "x402 payment sources": [1, 1, 0, 0],
    webhooks: [3, 1, 0, 2],
    "billed payments": [1, 1, 0, 0],
  });
  expect(reasonsOf(report, "wallets")).toEqual({
    "another wallet there has its words": ["seller-again"],
    "its words are those of another wallet": ["wrong-words"],
    "type: has a value that is not known here": ["other-role"],
    "ENCRYPTION_KEY does not open its words": ["sealed"],
  });
  expect(reasonsOf(report, "payments and quotes")).toEqual({
    "nothing was locked in time": ["late"],
    "the seller signed other terms": ["unsigned"],
    "its blockchainIdentifier is not that of an escrow": ["strange"],
  });
  expect(report.omitted.map(({ name }) => name)).toEqual(["swaps under way", "invoices"]);
  expect(report.notes).toEqual([
    "1 × top-up rule that is off: enable it once the Funding wallet drives all",
    "1 × escrow with AuthorizeRefundRequested: ask for it again",
  ]);
  const lines = printReport(report, { writes: false });
  expect(lines).toContainEqual(expect.stringMatching(/^payment sources +4 +2 +0 +2$/));
  expect(lines.at(-1)).toContain("nothing was written");
  expect(lines.join()).not.toContain("whsec_");
  const { results } = await service.host.d1.prepare("SELECT * FROM payment_source").all();
  expect(results).toEqual([]);
});

test("an import brings everything over once, and no client notices", async () => {
  if (isLeftOut()) return;
  const { report: first, statements } = await plan();
  await target.run(statements);
  expect(first.newSecrets).toEqual([
    expect.stringMatching(/^API key unproven has the new token apk_\w{32}$/),
    expect.stringMatching(/^webhook webhook has the new signing secret whsec_/),
  ]);
  const again = await plan();
  expect(again.statements).toEqual([]);
  expect(again.report.tallies).toEqual(
    first.tallies.map((one) => ({ ...one, added: 0, present: one.added })),
  );

  expect(await get("/api-key-status")).toMatchObject({ id: "key", permission: "ReadAndPay" });
  expect(await get("/api-key-status", LIMITED_TOKEN)).toMatchObject({
    walletScopeEnabled: true,
    WalletScopes: [{ hotWalletId: "buyer" }],
    RemainingUsageCredits: [{ unit: "", amount: "9007199261740993" }],
  });
  const { ExtendedPaymentSources } = await get(
    "/payment-source-extended?network=Preprod",
    SECRETS.ADMIN_KEY,
  );
  expect(ExtendedPaymentSources).toContainEqual(
    expect.objectContaining({
      ...{ id: ID, drives: "nothing", createdAt: CREATED_AT },
      SellingWallets: [
        expect.objectContaining({ id: "seller", drives: "nothing", note: "note of seller" }),
      ],
      PurchasingWallets: [expect.objectContaining({ id: "buyer", drives: "nothing" })],
    }),
  );
  const owned = { requestedById: "key", agentName: "Translator", onChainState: null };
  const { Payments } = await get("/payment?network=Preprod");
  expect(Payments).toHaveLength(5);
  expect(Payments).toContainEqual(
    expect.objectContaining({
      metadata: "note of manual",
      NextAction: expect.objectContaining({
        ...{ requestedAction: "WaitingForManualAction", errorNote: "Somebody has to look" },
      }),
    }),
  );
  expect(Payments).toContainEqual(
    expect.objectContaining({ ...owned, metadata: "note of quote", createdAt: CREATED_AT }),
  );
  expect(Payments).toContainEqual(
    expect.objectContaining({
      ...{ ...owned, metadata: "note of result" },
      NextAction: expect.objectContaining({
        requestedAction: "SubmitResultRequested",
        resultHash: RESULT_HASH,
      }),
    }),
  );
  const { Purchases } = await get("/purchase?network=Preprod");
  const actions = Purchases.map(
    (one: { metadata: string; NextAction: { requestedAction: string } }) => [
      one.metadata,
      one.NextAction.requestedAction,
    ],
  );
  expect(Object.fromEntries(actions)).toEqual({
    "note of purchase": "FundsLockingRequested",
    "note of pending": "WaitingForExternalAction",
  });
  const { Assets } = await get("/registry?network=Preprod");
  expect(Assets).toHaveLength(2);
  expect(Assets).toContainEqual(
    expect.objectContaining({
      ...{ name: "Translator", state: "RegistrationConfirmed" },
      supportedPaymentSources: [
        expect.objectContaining({ chain: "EVM", id: "evm-source" }),
        expect.objectContaining({ paymentSourceType: "Web3CardanoV2" }),
      ],
    }),
  );
  const admin = SECRETS.ADMIN_KEY;
  expect((await get("/wallet/low-balance", admin)).Rules).toMatchObject([
    { id: "rule", assetUnit: "lovelace", thresholdAmount: "10000000", topupEnabled: false },
  ]);
  expect((await get("/wallet/top-up", admin)).Rules).toMatchObject([
    { walletId: "buyer", unit: "", below: "10000000", upTo: "16000000", enabled: false },
  ]);
  expect((await get("/webhooks")).Webhooks).toMatchObject([
    { url: "https://hooks.example.com/webhook", isActive: false },
  ]);
  expect((await get("/x402/networks", admin)).Networks).toMatchObject([
    { id: "evm", caip2Id: "eip155:84532", isEnabled: false },
  ]);
  expect((await get("/x402/budgets?apiKeyId=key", admin)).Budgets).toMatchObject([
    { id: "budget", remainingAmount: "900", spentAmount: "100" },
  ]);
});

test("nothing is driven before drives says so, and then each purchase is locked once", async () => {
  if (isLeftOut()) return;
  service.goLive();
  const admin = api(SECRETS.ADMIN_KEY);
  const readSource = async () =>
    (
      await get("/payment-source-extended?network=Preprod", SECRETS.ADMIN_KEY)
    ).ExtendedPaymentSources.find((one: { id: string }) => one.id === ID);
  await vi.waitUntil(async () => (await readSource()).lastCheckedAt !== null, WAIT);
  const sent = () => service.host.d1.prepare("SELECT tasks FROM wallet_transaction").all();
  expect((await sent()).results).toEqual([]);

  await ask(admin, "PATCH", "/payment-source-extended", { id: ID, drives: "all" });
  await ask(admin, "PATCH", "/wallet", { id: "buyer", drives: "all" });
  const states = async (path: string, list: string) =>
    Object.fromEntries(
      (await get(path))[list].map((one: Record<string, unknown>) => [
        one.metadata,
        [one.onChainState, one.requestedById],
      ]),
    );
  await vi.waitUntil(
    async () => (await states("/payment?network=Preprod", "Payments"))["note of quote"][0],
    WAIT,
  );
  expect(await states("/payment?network=Preprod", "Payments")).toEqual({
    "note of quote": ["FundsLocked", "key"],
    "note of quote-v2": [null, "key"],
    "note of manual": [null, "key"],
    "note of refund": [null, "key"],
    "note of result": [null, "key"],
  });
  expect(await states("/purchase?network=Preprod", "Purchases")).toEqual({
    "note of purchase": ["FundsLocked", "key"],
    "note of pending": [null, "key"],
  });
  expect((await sent()).results).toHaveLength(1);
});
