/** Wallets, their rules and Funding wallets, in the forms of the payment service. */
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { generateMnemonic } from "../../src/chain/wallet-keys.ts";
import type { Env } from "../../src/env.ts";
import { emptyTables } from "../support/app.ts";
import { SourceApi } from "../support/sources/api.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

const TOKEN = "ab".repeat(30);

let own: ExternalApp;
let external: ExternalApp;
let api: SourceApi;
let source: { id: string; SellingWallets: { id: string; walletAddress: string }[] };
let walletId: string;

beforeAll(async () => {
  api = await SourceApi.open();
  ({ own, external } = await startBoth());
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
  source = (await api.create(api.selling())).data;
  walletId = source.SellingWallets[0]?.id ?? "";
});

const bindings = () => ({ ...env, ...api.provider() }) as Env;
const ask = (method: string, path: string, body?: object) =>
  external.request(method, `/api/v1${path}`, { ...(body && { body }), env: bindings() });
const askOwn = (method: string, path: string, body?: object) =>
  own.request(method, `/api/v1${path}`, { ...(body && { body }), env: bindings() });

const LOW_BALANCE = "/wallet/low-balance";
const createRule = (body: object = {}) =>
  ask("POST", LOW_BALANCE, {
    ...{ walletId, assetUnit: "lovelace", thresholdAmount: "10000000", ...body },
  });
const listRules = async (query = "") => (await ask("GET", `${LOW_BALANCE}?${query}`)).data.Rules;
const topUps = async () => (await askOwn("GET", "/wallet/top-up")).data.Rules;

describe("a rule of the payment service", () => {
  it("is a low-balance rule and a top-up rule of the same wallet and unit", async () => {
    const { status, data } = await createRule({ topupEnabled: true, topupAmount: "5000000" });
    expect({ status, data }).toMatchObject({
      status: 200,
      data: {
        ...{ walletId, walletType: "Selling", paymentSourceId: source.id, network: "Preprod" },
        walletVkey: api.wallet("seller-0").vkey,
        walletAddress: api.wallet("seller-0").address,
        ...{ assetUnit: "lovelace", unit: "", thresholdAmount: "10000000", enabled: true },
        ...{ topupEnabled: true, topupAmount: "5000000", status: "Unknown" },
        ...{ lastKnownAmount: null, lastCheckedAt: null, lastAlertedAt: null },
      },
    });
    expect(await topUps()).toMatchObject([
      { walletId, unit: "", below: "10000000", upTo: "15000000", enabled: true },
    ]);
    expect(await listRules()).toEqual([data]);
    expect((await createRule()).status).toBe(409);
    const wallet = (await ask("GET", `/wallet?walletType=Selling&id=${walletId}`)).data;
    expect(wallet).toMatchObject({
      PendingTransaction: null,
      LowBalanceRules: [{ id: data.id, assetUnit: "lovelace", topupAmount: "5000000" }],
    });
  });

  it("changes both, and the top-up follows threshold and switch", async () => {
    const { data } = await createRule({ topupEnabled: true, topupAmount: "5000000" });
    const change = (body: object) => ask("PATCH", LOW_BALANCE, { ruleId: data.id, ...body });
    expect((await change({ thresholdAmount: "20000000" })).data).toMatchObject({
      ...{ thresholdAmount: "20000000", topupEnabled: true, topupAmount: "5000000" },
    });
    expect(await topUps()).toMatchObject([{ below: "20000000", upTo: "25000000" }]);
    await change({ enabled: false });
    expect(await topUps()).toMatchObject([{ enabled: false, below: "20000000" }]);
    expect(await listRules()).toEqual([]);
    expect(await listRules("includeDisabled=true")).toMatchObject([
      { enabled: false, topupEnabled: true },
    ]);
    await change({ enabled: true, topupEnabled: true, topupAmount: "7000000" });
    expect(await topUps()).toMatchObject([{ enabled: true, upTo: "27000000" }]);
    expect((await change({ topupEnabled: false })).data).toMatchObject({
      ...{ topupEnabled: false, topupAmount: null },
    });
    expect(await topUps()).toEqual([]);
  });

  it("is deleted with its top-up", async () => {
    const { data } = await createRule({ topupEnabled: true, topupAmount: "5000000" });
    const deleted = await ask("DELETE", LOW_BALANCE, { ruleId: data.id });
    expect(deleted.data).toMatchObject({ ruleId: data.id, deletedAt: expect.any(String) });
    expect([await listRules(), await topUps()]).toEqual([[], []]);
    expect((await ask("DELETE", LOW_BALANCE, { ruleId: data.id })).status).toBe(404);
  });

  it("never begins to send funds for an amount alone, nor without one", async () => {
    expect((await createRule({ topupAmount: "5000000" })).status).toBe(400);
    expect((await createRule({ topupEnabled: true })).status).toBe(400);
    const { data } = await createRule();
    for (const body of [{ topupAmount: "5000000" }, { topupEnabled: true }, {}])
      expect((await ask("PATCH", LOW_BALANCE, { ...body })).status).toBe(400);
    const change = (body: object) => ask("PATCH", LOW_BALANCE, { ruleId: data.id, ...body });
    expect((await change({ topupEnabled: true })).status).toBe(400);
    expect((await change({ topupAmount: "5000000" })).status).toBe(400);
    expect(await topUps()).toEqual([]);
  });

  it("is refused for a Funding wallet with a top-up, and stays as a whole", async () => {
    const { data } = await ask("POST", "/fund-wallet", {
      ...{ paymentSourceId: source.id, walletMnemonic: generateMnemonic() },
    });
    const both = { walletId: data.id, topupEnabled: true, topupAmount: "5000000" };
    expect((await createRule(both)).status).toBe(400);
    expect(await listRules()).toEqual([]);
    expect((await createRule({ walletId: data.id })).status).toBe(200);
  });

  it("keeps the cap of a top-up rule that this service's form made", async () => {
    const bounds = { below: "10000000", upTo: "15000000", perDay: "6000000" };
    await askOwn("POST", "/wallet/top-up", { walletId, ...bounds });
    const { data } = await createRule();
    expect(data).toMatchObject({ topupEnabled: true, topupAmount: "5000000" });
    await ask("PATCH", LOW_BALANCE, { ruleId: data.id, thresholdAmount: "11000000" });
    expect(await topUps()).toMatchObject([{ upTo: "16000000", perDay: "6000000" }]);
    const more = { ruleId: data.id, topupEnabled: true, topupAmount: "9000000" };
    expect((await ask("PATCH", LOW_BALANCE, more)).status).toBe(400);
  });

  it("never switches on a top-up rule that is off on its own", async () => {
    const bounds = { below: "10000000", upTo: "15000000", enabled: false };
    await askOwn("POST", "/wallet/top-up", { walletId, ...bounds });
    const { data } = await createRule();
    expect(data).toMatchObject({ topupEnabled: false, topupAmount: null });
    const change = { ruleId: data.id, enabled: true, thresholdAmount: "11000000" };
    expect((await ask("PATCH", LOW_BALANCE, change)).data.topupEnabled).toBe(false);
    expect(await topUps()).toMatchObject([{ below: "11000000", enabled: false }]);
  });

  it("is listed by wallet and unit without a page, and in this service's form with one", async () => {
    await createRule({ assetUnit: TOKEN });
    await createRule();
    const units = (rules: { unit: string }[]) => rules.map(({ unit }) => unit);
    expect(units(await listRules())).toEqual(["", TOKEN]);
    expect(units(await listRules("limit=10"))).toEqual(["", TOKEN]);
    expect(units(await listRules("limit=1"))).toEqual([""]);
    expect(await listRules("paymentSourceId=elsewhere")).toEqual([]);
    expect(await listRules("onlyLow=true")).toEqual([]);
  });

  it("is the low-balance rule alone without these names", async () => {
    const refused = { walletId, assetUnit: "lovelace", thresholdAmount: "1" };
    expect((await askOwn("POST", LOW_BALANCE, refused)).status).toBe(400);
    await createRule({ topupEnabled: true, topupAmount: "5000000" });
    const [rule] = (await askOwn("GET", LOW_BALANCE)).data.Rules;
    expect(Object.keys(rule)).not.toContain("assetUnit");
  });
});

it("PATCH /wallet answers with the wallet as GET shows it, without its secret", async () => {
  await createRule();
  const { data } = await ask("PATCH", "/wallet", { id: walletId, note: "sells more" });
  expect(data).toMatchObject({
    ...{ id: walletId, note: "sells more", PendingTransaction: null },
    LowBalanceSummary: { isLow: false, lowRuleCount: 0, lastCheckedAt: null },
    LowBalanceRules: [{ assetUnit: "lovelace" }],
  });
  expect(data).not.toHaveProperty("Secret");
});

describe("/fund-wallet", () => {
  const create = async (walletMnemonic = generateMnemonic()) =>
    ask("POST", "/fund-wallet", { paymentSourceId: source.id, walletMnemonic, note: "treasury" });

  it("is a Funding wallet", async () => {
    const { data } = await create();
    const config = { id: data.id, enabled: true, batchWindowMs: 300_000 };
    expect(data).toMatchObject({ paymentSourceId: source.id, FundDistributionConfig: config });
    const { FundWallets } = (await ask("GET", `/fund-wallet?paymentSourceId=${source.id}`)).data;
    expect(FundWallets).toMatchObject([
      {
        ...{ id: data.id, walletAddress: data.walletAddress, walletVkey: data.walletVkey },
        ...{ note: "treasury", lockedAt: null, pendingRequestCount: 0 },
        LowBalanceSummary: { isLow: false, lowRuleCount: 0, lastCheckedAt: null },
        FundDistributionConfig: config,
      },
    ]);
    expect((await ask("GET", `/fund-wallet?id=${walletId}`)).data.FundWallets).toEqual([]);
    expect((await ask("GET", "/fund-wallet")).status).toBe(400);
  });

  it("switches its top-ups off and on", async () => {
    const { id } = (await create()).data;
    const enable = async (enabled: boolean) =>
      (await ask("PATCH", "/fund-wallet", { id, enabled, batchWindowMs: 5_000 })).data;
    expect((await enable(false)).FundDistributionConfig).toMatchObject({ enabled: false });
    expect((await askOwn("GET", `/wallet?id=${id}`)).data.drives).toBe("nothing");
    expect((await enable(true)).FundDistributionConfig).toMatchObject({ enabled: true });
    expect((await ask("PATCH", "/fund-wallet", { id: walletId, enabled: false })).status).toBe(404);
  });

  it("is removed while it is empty, and never with funds or an unknown balance", async () => {
    const { id } = (await create()).data;
    const funded = (await create(api.wallet("admin").mnemonic)).data.id;
    for (const force of [false, true])
      expect((await ask("DELETE", "/fund-wallet", { id: funded, force })).status).toBe(409);
    await api.chain.faults({ match: "^/addresses/", status: 403 });
    expect((await ask("DELETE", "/fund-wallet", { id, force: true })).status).toBe(503);
    await api.chain.faults();
    expect((await ask("DELETE", "/fund-wallet", { id: walletId })).status).toBe(404);
    expect(await ask("DELETE", "/fund-wallet", { id })).toMatchObject({
      ...{ status: 200, data: { id } },
    });
    expect((await create(api.wallet("admin").mnemonic)).status).toBe(409);
    expect((await create("no words")).error.message).not.toContain("no words");
  });
});

describe("/fund-distribution", () => {
  it("lists the top-ups of wallets, by their status", async () => {
    const insert = (id: string, state: string, rule: string | null, assets = "[]") =>
      env.DB.prepare(
        `INSERT INTO transfer (id, network, source_id, wallet_id, wallet_vkey, wallet_address, to_address,
           coin, assets, top_up_rule_id, top_up_wallet_id, state, event_counts, created_by_id, created_at,
           updated_at, revision)
         VALUES (?, 'Preprod', ?, 'treasury', 'aa', 'addr', 'addr', '5000000', ?, ?, ?, ?,
           '{"b1":1,"b2":2}', 'env-admin', 1, 2, 0)`,
      )
        .bind(id, source.id, assets, rule, rule && walletId, state)
        .run();
    await insert("t1", "Sent", "rule");
    await insert("t2", "Pending", "rule", JSON.stringify([{ unit: TOKEN, quantity: "7" }]));
    await insert("t3", "Pending", null);
    const list = async (query = "") =>
      (await ask("GET", `/fund-distribution?${query}`)).data.FundDistributions;
    expect(await list()).toMatchObject([
      { id: "t2", status: "Pending", assetUnit: TOKEN, amount: "7" },
      {
        ...{ id: "t1", status: "Submitted", assetUnit: "lovelace", amount: "5000000" },
        ...{ fundWalletId: "treasury", targetWalletId: walletId, priority: "Warning" },
        ...{ txHash: null, error: null, batchId: "b2" },
      },
    ]);
    const idsOf = async (query: string) => (await list(query)).map(({ id }: { id: string }) => id);
    expect(await idsOf("status=Submitted")).toEqual(["t1"]);
    expect(await idsOf("take=1")).toEqual(["t2"]);
    expect(await idsOf("cursorId=t2")).toEqual(["t1"]);
    expect(await idsOf(`paymentSourceId=${source.id}&fundWalletId=treasury`)).toHaveLength(2);
    expect(await idsOf("fundWalletId=other")).toEqual([]);
  });

  it("makes all rules due at once", async () => {
    await createRule({ topupEnabled: true, topupAmount: "5000000" });
    await env.DB.prepare("UPDATE top_up_rule SET due_at = 99").run();
    expect((await ask("POST", "/fund-distribution/trigger", {})).data).toEqual({
      ...{ triggered: true, alreadyRunning: false },
    });
    expect(await env.DB.prepare("SELECT due_at FROM top_up_rule").first("due_at")).toBe(0);
  });
});

describe("/wallet/transfer-funds", () => {
  it("takes and shows lovelaceAmount, with the statuses of the payment service", async () => {
    const fromWalletAddress = source.SellingWallets[0]?.walletAddress;
    const toAddress = api.wallet("admin").address;
    const body = { fromWalletAddress, toAddress, lovelaceAmount: "5000000" };
    const requested = await ask("POST", "/wallet/transfer-funds", body);
    expect(requested).toMatchObject({
      ...{ status: 200, data: { lovelaceAmount: "5000000", status: "Pending" } },
    });
    const list = async () => (await ask("GET", "/wallet/transfer-funds")).data.transfers;
    for (const [state, status] of [
      ["Sent", "Pending"],
      ["Failed", "FailedViaTimeout"],
    ]) {
      await env.DB.prepare("UPDATE transfer SET state = ?").bind(state).run();
      expect(await list()).toMatchObject([{ status, lovelaceAmount: "5000000" }]);
    }
    const [shown] = (await askOwn("GET", "/wallet/transfer-funds")).data.transfers;
    expect(shown).toMatchObject({ minorUnitAmount: "5000000", status: "Failed" });
  });
});

describe("invoices", () => {
  it("are listed without a network, on the network that the key may use", async () => {
    const lists = ["/invoice/monthly", "/invoice/monthly/missing"];
    for (const path of lists)
      expect((await ask("GET", `${path}?month=2026-11`)).status, path).toBe(200);
    expect((await askOwn("GET", `${lists[0]}?month=2026-11`)).status).toBe(400);
  });
});
