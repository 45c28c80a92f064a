/** Keys as the payment service's pages and clients, and those of the registry service, make and read them. */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;

beforeAll(async () => {
  ({ own, external } = await startBoth());
});
beforeEach(emptyTables);
afterEach(() => vi.useRealTimers());

const TOKEN = "ab".repeat(28);
const PATH = "/api/v1/api-key";
const create = (body: object, app = external) => app.request("POST", PATH, { body });
const change = (body: object, app = external) => app.request("PATCH", PATH, { body });
const made = async (body: object) => (await create({ UsageCredits: [], ...body })).data;
const changed = async (body: object) => (await change({ id: "key", ...body })).data;
const messageOf = async (
  answer: Promise<{ status: number; error: { message: string } | null }>,
) => {
  const { status, error } = await answer;
  expect(status).toBe(400);
  return error?.message;
};
const onBoth = (unit: string, amount: string) =>
  ["Preprod", "Mainnet"].map((network) => ({ network, unit, amount }));

/** Inserts wallets that a key may be bound to. */
const insertWallets = (...ids: string[]) =>
  openDb(env).batch(
    ids.map((id) =>
      statement(
        `INSERT INTO managed_wallet (id, source_id, network, role, vkey, address, note, mnemonic, created_by_id, created_at)
         VALUES (?1, 'source', 'Preprod', 'Selling', ?1, ?1, '', '', 'admin', 0)`,
        id,
      ),
    ),
  );

describe("POST /api-key in the payment service's form", () => {
  it("answers a key as these clients read it", async () => {
    const body = {
      permission: "ReadAndPay",
      usageLimited: "true",
      UsageCredits: [
        { unit: "lovelace", amount: "5000000" },
        { unit: TOKEN.toUpperCase(), amount: "7" },
        { unit: "", amount: "1" },
      ],
      NetworkLimit: ["Preprod", "Mainnet"],
      ChainIdLimit: ["eip155:8453", "cardano:mainnet"],
      walletScopeEnabled: "false",
      WalletScopeHotWalletIds: [],
    };
    const { status, data } = await create(body);
    expect(status).toBe(200);
    expect(data).toEqual({
      id: expect.any(String),
      name: "",
      status: "Active",
      token: expect.stringMatching(/^apk_/),
      permission: "ReadAndPay",
      canRead: true,
      canPay: true,
      canAdmin: false,
      usageLimited: true,
      NetworkLimit: ["Preprod", "Mainnet"],
      ChainIdLimit: ["eip155:8453"],
      RemainingUsageCredits: [
        { unit: "", amount: "5000001" },
        { unit: TOKEN, amount: "7" },
      ],
      walletScopeEnabled: false,
      WalletScopes: [],
      maxUsageCredits: 0,
      accumulatedUsageCredits: 0,
      networkLimit: ["Preprod", "Mainnet", "eip155:8453"],
      walletLimit: null,
      spendingLimits: expect.arrayContaining([...onBoth("", "5000001"), ...onBoth(TOKEN, "7")]),
      returnAddresses: [],
      lastUsedAt: null,
    });
  });

  it.each([
    [{ permission: "Admin", usageLimited: "false" }, "Admin", true],
    [{ canAdmin: true, usageLimited: "false" }, "Admin", true],
    [{ permission: "ReadAndPay" }, "ReadAndPay", true],
    [{ canPay: true, canRead: false }, "ReadAndPay", true],
    [{ permission: "Read" }, "Read", false],
    [{ canRead: true }, "Read", false],
    [{}, "Read", false],
    // Flags replace the permission.
    [{ permission: "Admin", canPay: false }, "Read", false],
  ])("makes of %j a key with the permission %s", async (body, permission, canPay) => {
    expect(await made(body)).toMatchObject({
      permission,
      canPay,
      canAdmin: permission === "Admin",
    });
  });

  it("limits a key unless it is said not to, and without credits it may buy nothing", async () => {
    const none = { usageLimited: true, spendingLimits: [], RemainingUsageCredits: [] };
    expect(await made({ permission: "ReadAndPay" })).toMatchObject(none);
    const unlimited = { permission: "ReadAndPay", usageLimited: "false" };
    const free = { usageLimited: false, spendingLimits: null };
    expect(await made({ ...unlimited, UsageCredits: [{ unit: "", amount: "1" }] })).toMatchObject(
      free,
    );
  });

  it("takes the networks and wallets that are named", async () => {
    await insertWallets("a", "b");
    expect(await made({ NetworkLimit: ["Preprod"] })).toMatchObject({ networkLimit: ["Preprod"] });
    expect(await made({ NetworkLimit: [] })).toMatchObject({ networkLimit: [], NetworkLimit: [] });
    expect(await made({})).toMatchObject({
      networkLimit: ["Preprod", "Mainnet"],
    });
    const bound = { walletScopeEnabled: "true", WalletScopeHotWalletIds: ["a", "b"] };
    expect(await made(bound)).toMatchObject({
      walletLimit: ["a", "b"],
      walletScopeEnabled: true,
      WalletScopes: [{ hotWalletId: "a" }, { hotWalletId: "b" }],
    });
    expect(await made({ walletScopeEnabled: "true" })).toMatchObject({ walletLimit: [] });
    expect(
      (await create({ UsageCredits: [], ...bound, WalletScopeHotWalletIds: ["c"] })).status,
    ).toBe(404);
  });

  const credit = (amount: unknown, unit = "") => ({ UsageCredits: [{ unit, amount }] });
  it.each<[body: object, field: string]>([
    [{ permission: "Admin", UsageCredits: [] }, "usageLimited"],
    [
      { canAdmin: true, usageLimited: "false", walletScopeEnabled: "true", UsageCredits: [] },
      "walletScopeEnabled",
    ],
    [{ canRead: false, UsageCredits: [] }, "canRead"],
    [{ canRead: false, canPay: false, canAdmin: false, UsageCredits: [] }, "canRead"],
    [{ WalletScopeHotWalletIds: ["a"], UsageCredits: [] }, "WalletScopeHotWalletIds"],
    [{ usageLimited: "true" }, "UsageCredits"],
    [{ permission: "Reader", UsageCredits: [] }, "permission"],
    [{ NetworkLimit: ["Testnet"], UsageCredits: [] }, "NetworkLimit[0]"],
    [{ ChainIdLimit: ["Preprod"], UsageCredits: [] }, "ChainIdLimit[0]"],
    [credit("-1"), "UsageCredits[0].amount"],
    [credit("1.5"), "UsageCredits[0].amount"],
    [credit(5), "UsageCredits[0].amount"],
    [credit(`1${"0".repeat(18)}`), "UsageCredits[0].amount"],
    [credit("1", "ADA"), "UsageCredits[0].unit"],
    ...(["maxUsageCredits", "networkLimit", "walletLimit", "spendingLimits"] as const).map(
      (name): [object, string] => [{ UsageCredits: [], [name]: [] }, name],
    ),
  ])("refuses %j (400)", async (body, field) => {
    expect(await messageOf(create(body))).toMatch(new RegExp(`^${field.replaceAll("[", "\\[")}: `));
    expect((await external.request("GET", PATH)).data.ApiKeys).toHaveLength(1);
  });

  it("refuses credits of a token of an EVM chain, and names the budgets (400)", async () => {
    const unit = `eip155:8453:0x${"ab".repeat(20)}`;
    const budgets = "x402 payments have budgets instead. Set one with `POST /x402/budgets`";
    expect(await messageOf(create(credit("1", unit)))).toBe(`UsageCredits[0].unit: ${budgets}`);
    await insertKey({ id: "key", spendingLimits: [] });
    const more = { id: "key", UsageCreditsToAddOrRemove: [{ unit, amount: "1" }] };
    expect(await messageOf(change(more))).toBe(`UsageCreditsToAddOrRemove[0].unit: ${budgets}`);
  });
});

describe("PATCH /api-key in the payment service's form", () => {
  it("keeps what is omitted, the status and the limit too", async () => {
    const bound = { walletLimit: ["wallet"], spendingLimits: onBoth("", "5") };
    await insertKey({ id: "key", canPay: true, status: "Revoked", ...bound });
    const kept = { status: "Revoked", permission: "ReadAndPay", usageLimited: true, ...bound };
    expect(await changed({ ChainIdLimit: ["eip155:1"] })).toMatchObject({
      ...kept,
      NetworkLimit: ["Preprod", "Mainnet"],
      ChainIdLimit: ["eip155:1"],
    });
    await insertKey({ id: "admin", permission: "Admin" });
    const { data } = await change({ id: "admin", token: "a-new-token-of-it" });
    expect(data).toMatchObject({ permission: "Admin", status: "Active", usageLimited: false });
  });

  it("replaces one half of the networks, and gives a new one nothing to spend", async () => {
    const networkLimit = ["Preprod", "eip155:1"];
    await insertKey({ id: "key", networkLimit, spendingLimits: onBoth("", "5") });
    expect(await changed({ NetworkLimit: ["Preprod", "Mainnet"] })).toMatchObject({
      networkLimit: ["Preprod", "Mainnet", "eip155:1"],
      spendingLimits: onBoth("", "5").slice(0, 1),
      RemainingUsageCredits: [{ unit: "", amount: "0" }],
    });
    const credits = { UsageCreditsToAddOrRemove: [{ unit: "lovelace", amount: "2" }] };
    expect(await changed(credits)).toMatchObject({
      spendingLimits: [
        { network: "Preprod", unit: "", amount: "7" },
        { network: "Mainnet", unit: "", amount: "2" },
      ],
      RemainingUsageCredits: [{ unit: "", amount: "2" }],
    });
    expect(await changed({ NetworkLimit: [], ChainIdLimit: [] })).toMatchObject({
      networkLimit: [],
      spendingLimits: [],
    });
  });

  it("adds credits on each network and takes them, never below what is spent", async () => {
    await insertKey({ id: "key", spendingLimits: onBoth("", "5") });
    await openDb(env).batch([
      statement("INSERT INTO key_spending VALUES ('key', 'Preprod', '', 3, 5)"),
    ]);
    const credits = (amount: string, unit = "") =>
      change({ id: "key", UsageCreditsToAddOrRemove: [{ unit, amount }] });
    expect((await credits("-3")).status).toBe(400);
    expect((await credits("-1", TOKEN)).status).toBe(400);
    expect((await credits("-2")).data).toMatchObject({
      spendingLimits: onBoth("", "3"),
      RemainingUsageCredits: [{ unit: "", amount: "0" }],
    });
    expect((await credits("4", TOKEN)).data).toMatchObject({
      spendingLimits: [...onBoth("", "3"), ...onBoth(TOKEN, "4")],
    });
  });

  it("lifts a limit and sets it", async () => {
    await insertKey({ id: "key", usageLimited: true, spendingLimits: onBoth("", "5") });
    const free = { usageLimited: false, spendingLimits: null };
    expect(await changed({ usageLimited: "false" })).toMatchObject(free);
    const credits = { UsageCreditsToAddOrRemove: [{ unit: "", amount: "1" }] };
    expect(await messageOf(change({ id: "key", ...credits }))).toMatch(/needs `usageLimited`/);
    expect(await changed({ usageLimited: "true" })).toMatchObject({ spendingLimits: [] });
    expect(await changed(credits)).toMatchObject({ spendingLimits: onBoth("", "1") });
  });

  it("binds a key to wallets and frees it only where the body says so", async () => {
    await insertWallets("a", "b");
    await insertKey({ id: "key", walletLimit: ["a"] });
    expect(await changed({ canRead: true })).toMatchObject({ walletLimit: ["a"] });
    const both = { WalletScopeHotWalletIds: ["a", "b"] };
    expect(await changed(both)).toMatchObject({ walletLimit: ["a", "b"] });
    expect(await changed({ walletScopeEnabled: true })).toMatchObject({ walletLimit: ["a", "b"] });
    expect((await change({ id: "key", walletScopeEnabled: false, ...both })).status).toBe(400);
    expect(await changed({ walletScopeEnabled: false })).toMatchObject({ walletLimit: null });
    expect((await change({ id: "key", ...both })).status).toBe(400);
    expect(await changed({ walletScopeEnabled: true })).toMatchObject({ walletLimit: [] });
  });

  it("makes an Admin of a bound or limited key only when it lifts both", async () => {
    await insertKey({ id: "key", walletLimit: ["a"], spendingLimits: [] });
    const lifted = { usageLimited: false, walletScopeEnabled: false };
    for (const name of ["usageLimited", "walletScopeEnabled"] as const)
      expect(
        await messageOf(change({ id: "key", canAdmin: true, ...lifted, [name]: undefined })),
      ).toMatch(new RegExp(`^${name}: `));
    const admin = {
      permission: "Admin",
      canPay: true,
      NetworkLimit: ["Preprod", "Mainnet"],
      ChainIdLimit: [],
    };
    expect(await changed({ canAdmin: true, ...lifted })).toMatchObject(admin);
    for (const bound of [{ usageLimited: "true" }, { walletScopeEnabled: true }])
      expect((await change({ id: "key", ...bound })).status).toBe(400);
    // The payment service stores no networks of an Admin.
    expect(await changed({ canAdmin: false })).toMatchObject({
      permission: "Read",
      networkLimit: [],
    });
  });

  it("takes the body of our form, and refuses a mixed one", async () => {
    await insertKey({ id: "key", spendingLimits: [] });
    expect(await changed({ usageLimited: true })).toMatchObject({
      maxUsageCredits: 0,
      usageLimited: true,
    });
    expect(await changed({ permission: "User", networkLimit: ["Preprod"] })).toMatchObject({
      NetworkLimit: ["Preprod"],
    });
    for (const name of ["networkLimit", "walletLimit", "spendingLimits"])
      expect((await change({ id: "key", NetworkLimit: [], [name]: [] })).status).toBe(400);
    expect((await change({ id: "key", token: "x".repeat(15), maxUsageCredits: 5 })).status).toBe(
      400,
    );
  });

  it("gives a key another token, which must be free and a secret", async () => {
    const taken = await insertKey({ id: "other" });
    await insertKey({ id: "key" });
    for (const token of [taken, "short", "DefaultUnsecureAdminKey", `*****${"x".repeat(12)}`])
      expect((await change({ id: "key", token })).status).toBe(400);
    const token = "token-of-the-former-service";
    expect(await changed({ token })).toMatchObject({ token: "*****vice" });
    const status = await external.request("GET", "/api/v1/api-key-status", { token });
    expect(status).toMatchObject({ status: 200, data: { id: "key", permission: "Read" } });
  });

  it("loses neither half of the networks when both are changed at once", async () => {
    await insertKey({ id: "key", networkLimit: ["Preprod"] });
    await Promise.all([
      changed({ NetworkLimit: ["Mainnet"] }),
      changed({ ChainIdLimit: ["eip155:1"] }),
    ]);
    expect(await changed({ canRead: true })).toMatchObject({
      networkLimit: ["Mainnet", "eip155:1"],
    });
  });
});

describe("the registry service's form", () => {
  it("names the key by its token, and keeps what is omitted", async () => {
    const { data: key } = await create({
      permission: "User",
      usageLimited: true,
      maxUsageCredits: 5,
    });
    expect(key).toMatchObject({ permission: "User", usageLimited: true, maxUsageCredits: 5 });
    const { token } = key;
    const kept = { permission: "User", usageLimited: true, accumulatedUsageCredits: 0 };
    expect((await change({ token, maxUsageCredits: 9 })).data).toMatchObject({
      ...kept,
      id: key.id,
      maxUsageCredits: 9,
      token: `*****${token.slice(-4)}`,
    });
    expect((await change({ token, status: "Revoked" })).data).toMatchObject({
      ...kept,
      status: "Revoked",
    });
    const { data } = await external.request("DELETE", PATH, { body: { token } });
    expect(data).toMatchObject({ id: key.id, status: "Revoked", permission: "User" });
    const unknown = { status: 404, error: { message: "token: there is no such API key" } };
    expect(await change({ token, status: "Active" })).toMatchObject(unknown);
    expect(await external.request("DELETE", PATH, { body: { token } })).toMatchObject(unknown);
  });

  it("changes neither the key of the environment nor a key that is named twice", async () => {
    const token = env.ADMIN_KEY ?? "";
    expect((await change({ token, status: "Revoked" })).status).toBe(409);
    expect((await change({ token: "x", NetworkLimit: [] })).status).toBe(400);
    await insertKey({ id: "key" });
    const body = { id: "key", token };
    expect((await external.request("DELETE", PATH, { body })).status).toBe(400);
  });

  it("has its own name of the list, with the names of rights that it knows", async () => {
    for (const id of ["0a", "0b", "0c"])
      await insertKey({ id, canPay: true, spendingLimits: onBoth("", "5") });
    const { data } = await external.request("GET", `${PATH}?take=2&cursorId=0c`);
    expect(data.apiKeys).toMatchObject([
      { id: "0b", permission: "User", usageLimited: false },
      { id: "0a", permission: "User", usageLimited: false },
    ]);
    expect(data.ApiKeys).toMatchObject([
      { id: "0b", permission: "ReadAndPay", usageLimited: true },
      { id: "0a", RemainingUsageCredits: [{ unit: "", amount: "5" }] },
    ]);
    expect((await external.request("GET", `${PATH}?limit=1`)).data.ApiKeys).toMatchObject([
      {
        id: "env-admin",
        permission: "Admin",
        canAdmin: true,
        NetworkLimit: ["Preprod", "Mainnet"],
      },
    ]);
  });
});

describe("GET /api-key-status", () => {
  it("says for each unit what is left on the network where least is left", async () => {
    const spendingLimits = [...onBoth("", "9"), { network: "Mainnet", unit: TOKEN, amount: "4" }];
    const networkLimit = ["Preprod", "Mainnet", "eip155:1"];
    const token = await insertKey({ id: "key", canPay: true, spendingLimits, networkLimit });
    await openDb(env).batch([
      statement("INSERT INTO key_spending VALUES ('key', 'Mainnet', '', 6, 9)"),
    ]);
    const path = "/api/v1/api-key-status";
    const { data } = await external.request("GET", path, { token });
    expect(data).toMatchObject({
      permission: "ReadAndPay",
      usageLimited: true,
      NetworkLimit: ["Preprod", "Mainnet"],
      ChainIdLimit: ["eip155:1"],
      RemainingUsageCredits: [
        { unit: "", amount: "3" },
        { unit: TOKEN, amount: "0" },
      ],
    });
    expect((await own.request("GET", path, { token })).data).toMatchObject({
      permission: "User",
      usageLimited: false,
      NetworkLimit: networkLimit,
      RemainingUsageCredits: [
        { unit: "", amount: "12" },
        { unit: TOKEN, amount: "4" },
      ],
    });
  });

  it("says what is left of the x402 budgets of a limited key, of all wallets together", async () => {
    const token = await insertKey({ id: "key", canPay: true, spendingLimits: [] });
    const asset = `0x${"ab".repeat(20)}`;
    const insertBudget = (name: string, chain: string, remaining: string, isEnabled: boolean) => [
      statement(
        `INSERT INTO x402_wallet (id, caip2_id, address, type, private_key, created_by_id, created_at, updated_at)
         VALUES (?1, ?2, ?1, 'Purchasing', '', 'admin', 0, 0)`,
        ...[name, chain],
      ),
      statement(
        `INSERT INTO x402_budget (id, api_key_id, evm_wallet_id, asset, remaining_amount, spent_amount, is_enabled,
           created_by_id, revision, created_at, updated_at) VALUES (?1, 'key', ?1, ?2, ?3, '0', ?4, 'admin', 0, 0, 0)`,
        ...[name, asset, remaining, isEnabled ? 1 : 0],
      ),
    ];
    const insertNetwork = (chain: string, isEnabled: boolean) =>
      statement(
        `INSERT INTO x402_network (id, caip2_id, display_name, rpc_url, is_testnet, is_enabled, default_asset,
           eip6492_factories, created_at, updated_at) VALUES (?1, ?1, '', '', 1, ?3, ?2, '[]', 0, 0)`,
        ...[chain, asset, isEnabled ? 1 : 0],
      );
    await openDb(env).batch([
      ...insertBudget("a", "eip155:8453", "9007199254740993", true),
      ...insertBudget("b", "eip155:8453", "7", true),
      ...insertBudget("c", "eip155:84532", "5", false),
      ...insertBudget("d", "eip155:1", "3", true),
      ...[insertNetwork("eip155:1", true), insertNetwork("eip155:10", false)],
      // Without a row, clients would take the key for one without a limit.
      insertNetwork("eip155:84532", true),
    ]);
    const RemainingUsageCredits = [
      { unit: `eip155:1:${asset}`, amount: "3" },
      { unit: `eip155:84532:${asset}`, amount: "0" },
      { unit: `eip155:8453:${asset}`, amount: "9007199254741000" },
    ];
    const path = "/api/v1/api-key-status";
    expect((await external.request("GET", path, { token })).data).toMatchObject({
      usageLimited: true,
      RemainingUsageCredits,
    });
    const { data } = await external.request("GET", PATH);
    const listed = data.ApiKeys.find(({ id }: { id: string }) => id === "key");
    expect(listed).toMatchObject({ RemainingUsageCredits });
    expect((await own.request("GET", path, { token })).data.RemainingUsageCredits).toEqual([]);
    const { spending } = await external.callTool("spending", token);
    expect(spending).toEqual({ limits: [], left: [] });
  });
});

describe("a deployment without these names", () => {
  it("knows neither form", async () => {
    const token = await insertKey({ id: "key" });
    expect((await create({ permission: "Read" }, own)).status).toBe(400);
    expect((await create({ UsageCredits: [] }, own)).status).toBe(400);
    expect((await change({ id: "key", NetworkLimit: [] }, own)).status).toBe(400);
    expect((await change({ token, status: "Revoked" }, own)).status).toBe(400);
    const { data } = await own.request("GET", PATH);
    expect(Object.keys(data)).toEqual(["ApiKeys"]);
    expect(Object.keys(data.ApiKeys[0])).not.toContain("NetworkLimit");
  });
});
