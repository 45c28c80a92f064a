import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { open } from "../../src/db/sealed.ts";
import { emptyTables } from "../support/app.ts";
import { type ChainContract, type ChainWallet, TestChain } from "../support/chain.ts";

const app = createApp();
const PATH = "/api/v1/payment-source-extended/";
const UNKNOWN_HASH = "ab".repeat(32);

let chain: TestChain;
let wallets: ChainWallet[];
let contract: ChainContract;
let lockHash: string;

beforeAll(async () => {
  chain = await TestChain.create();
  const cast = await chain.wallets();
  wallets = cast.wallets;
  contract = pick(cast.contracts, ({ type }) => type === "Web3ChainV1");
  const [lock] = await chain.act([{ do: "lock", as: "a", version: "Web3ChainV1" }]);
  lockHash = lock?.txHash ?? "";
});

/** Ids of the sources whose cursor was woken. The pass itself is tested with the sync. */
let woken: string[] = [];
const cursors = (tick: (sourceId: string) => Promise<void>) => ({
  SOURCE_CURSOR: { idFromName: (name: string) => name, get: () => ({ tick }) },
});
const recording = cursors(async (sourceId) => {
  woken.push(sourceId);
});

beforeEach(async () => {
  woken = [];
  await emptyTables();
});

function pick<T>(items: T[], wanted: (item: T) => boolean): T {
  const found = items.find(wanted);
  if (!found) throw new Error("the local chain lacks what the test needs");
  return found;
}

const wallet = (name: string) => pick(wallets, (one) => one.name === name);

function bodyOf(overrides: object = {}) {
  return {
    network: "Preprod",
    smartContractAddress: contract.address,
    policyId: contract.policyId,
    PaymentSourceConfig: { rpcProviderApiKey: "provider-key-1", rpcProvider: "Blockfrost" },
    AdminWallets: [{ walletAddress: wallet("seller-0").address }],
    feeRatePermille: 50,
    FeeReceiverNetworkWallet: { walletAddress: wallet("seller-0").address },
    ...overrides,
  };
}

const withWallets = () => ({
  PurchasingWallets: [
    { walletMnemonic: wallet("buyer-0").mnemonic, note: "buys", collectionAddress: null },
  ],
  SellingWallets: [
    {
      walletMnemonic: wallet("seller-0").mnemonic,
      note: "sells",
      collectionAddress: wallet("buyer-0").address,
    },
  ],
});

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  data: any;
  message: string | undefined;
}

async function ask(
  method: "GET" | "POST" | "PATCH",
  body: object | null,
  options: { headers?: Record<string, string>; env?: object; query?: string } = {},
): Promise<Answer> {
  const answer = await app.request(
    `${PATH}${options.query ?? ""}`,
    {
      method,
      headers: { token: env.ADMIN_KEY ?? "", ...options.headers },
      ...(body && { body: JSON.stringify(body) }),
    },
    { ...env, BLOCKFROST_URL_PREPROD: chain.url, ...recording, ...options.env },
  );
  const json = (await answer.json()) as { data?: unknown; error?: { message: string } };
  return { status: answer.status, data: json.data, message: json.error?.message };
}

const create = (overrides: object = {}, options = {}) => ask("POST", bodyOf(overrides), options);
const update = (body: object, options = {}) => ask("PATCH", body, options);

async function count(table: string): Promise<number> {
  return (await env.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n")) ?? 0;
}

async function cursor(): Promise<Record<string, unknown> | null> {
  return env.DB.prepare("SELECT position, version FROM source_cursor").first();
}

async function everything(): Promise<string> {
  const tables = ["payment_source", "managed_wallet", "audit", "idempotency", "source_cursor"];
  const rows = await Promise.all(
    tables.map((table) => env.DB.prepare(`SELECT * FROM ${table}`).all()),
  );
  return JSON.stringify(rows.map(({ results }) => results));
}

describe("POST /payment-source-extended 200", () => {
  it("answers with the record of the interface", async () => {
    const { status, data } = await create(withWallets());
    expect(status).toBe(200);
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const id = expect.stringMatching(/^[0-9a-z]{26}$/);
    expect(data).toEqual({
      id,
      createdAt: timestamp,
      updatedAt: data.createdAt,
      lastCheckedAt: null,
      network: "Preprod",
      paymentType: "Web3ChainV1",
      paymentSourceType: "Web3ChainV1",
      syncInProgress: true,
      error: null,
      smartContractAddress: contract.address,
      policyId: contract.policyId,
      AdminWallets: [{ walletAddress: wallet("seller-0").address, order: 0 }],
      feeRatePermille: 50,
      FeeReceiverNetworkWallet: { walletAddress: wallet("seller-0").address },
      requiredAdminSignatures: null,
      cooldownTime: 420_000,
      lastIdentifierChecked: null,
      PaymentSourceConfig: { rpcProviderApiKey: "provider-key-1", rpcProvider: "Blockfrost" },
      PurchasingWallets: [
        {
          id,
          walletVkey: wallet("buyer-0").vkey,
          walletAddress: wallet("buyer-0").address,
          note: "buys",
          collectionAddress: null,
        },
      ],
      SellingWallets: [
        {
          id,
          walletVkey: wallet("seller-0").vkey,
          walletAddress: wallet("seller-0").address,
          note: "sells",
          collectionAddress: wallet("buyer-0").address,
        },
      ],
    });
  });

  it("is listed as it was answered", async () => {
    const { data } = await create(withWallets());
    const list = await ask("GET", null, { query: "?network=Preprod" });
    expect(list.data.ExtendedPaymentSources).toEqual([data]);
    expect((await ask("GET", null, { query: "?network=Mainnet" })).data).toEqual({
      ExtendedPaymentSources: [],
    });
  });

  it("seals mnemonics and provider key, and leaves them nowhere in clear", async () => {
    const { data } = await create(withWallets(), { headers: { "idempotency-key": "once" } });
    const stored = await everything();
    for (const secret of [
      "provider-key-1",
      wallet("buyer-0").mnemonic,
      wallet("seller-0").mnemonic,
    ])
      expect(stored).not.toContain(secret);
    const row = await env.DB.prepare("SELECT id, mnemonic FROM managed_wallet WHERE role = ?")
      .bind("Selling")
      .first<{ id: string; mnemonic: string }>();
    const place = { table: "managed_wallet", id: row?.id ?? "", column: "mnemonic" };
    expect(await open(env, place, row?.mnemonic ?? "")).toBe(wallet("seller-0").mnemonic);
    expect(row?.id).toBe(data.SellingWallets[0].id);
  });

  it("writes one audit row, with the caller and without a secret", async () => {
    const { data } = await create();
    const rows = await env.DB.prepare("SELECT * FROM audit").all();
    expect(rows.results).toEqual([
      expect.objectContaining({
        api_key_id: "env-admin",
        action: "payment-source.create",
        target: data.id,
      }),
    ]);
  });

  it("begins with the first transaction, or after the one it is given", async () => {
    await create();
    expect((await cursor())?.position).toBeNull();
    await emptyTables();
    const { data } = await create({ lastIdentifierChecked: lockHash });
    expect(data.lastIdentifierChecked).toBe(lockHash);
    expect(String((await cursor())?.position)).toContain(lockHash);
  });

  it("is made once per Idempotency-Key", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await create(withWallets(), { headers });
    expect(await create(withWallets(), { headers })).toEqual(first);
    expect(await count("payment_source")).toBe(1);
    expect((await create({ feeRatePermille: 1 }, { headers })).status).toBe(422);
  });

  it("wakes its cursor, and is made even when that fails", async () => {
    const { data } = await create();
    expect(woken).toEqual([data.id]);
    await emptyTables();
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const failing = cursors(() => Promise.reject(new Error("object reset")));
    expect((await create({}, { env: failing })).status).toBe(200);
    expect(String(warned.mock.calls[0]?.[0])).toContain("object reset");
    warned.mockRestore();
    expect(await count("payment_source")).toBe(1);
  });

  it("stores addresses in the case that the chain writes them in", async () => {
    const { data } = await create({ smartContractAddress: contract.address.toUpperCase() });
    expect(data.smartContractAddress).toBe(contract.address);
  });
});

describe("POST /payment-source-extended refuses", () => {
  const mainnetAddress = "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerspjrlsz";

  it.each<[string, () => object, number, string]>([
    [
      "an address of a wallet as contract",
      () => ({ smartContractAddress: wallet("buyer-0").address }),
      400,
      "smartContractAddress: must be a contract's address on Preprod",
    ],
    [
      "text as contract",
      () => ({ smartContractAddress: "contract" }),
      400,
      "smartContractAddress: must be a contract's address on Preprod",
    ],
    [
      "a contract of another network",
      () => ({ network: "Mainnet" }),
      400,
      "smartContractAddress: must be a contract's address on Mainnet",
    ],
    [
      "an admin wallet of another network",
      () => ({ AdminWallets: [{ walletAddress: mainnetAddress }] }),
      400,
      "AdminWallets[0].walletAddress: must be an address on Preprod",
    ],
    [
      "a fee receiver of another network",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: mainnetAddress } }),
      400,
      "FeeReceiverNetworkWallet.walletAddress: must be an address on Preprod",
    ],
    [
      "a collection address of another network",
      () => ({
        SellingWallets: [
          { walletMnemonic: wallet("seller-0").mnemonic, collectionAddress: mainnetAddress },
        ],
      }),
      400,
      "SellingWallets[0].collectionAddress: must be an address on Preprod",
    ],
    [
      "more signatures than admins",
      () => ({ requiredAdminSignatures: 2 }),
      400,
      "requiredAdminSignatures: must be at most the number of AdminWallets",
    ],
    [
      "a transaction that is not known",
      () => ({ lastIdentifierChecked: UNKNOWN_HASH }),
      400,
      "lastIdentifierChecked: must be the hash of a transaction of this contract",
    ],
    [
      "a transaction that is no hash",
      () => ({ lastIdentifierChecked: "../health" }),
      400,
      "lastIdentifierChecked: must be the hash of a transaction of this contract",
    ],
    [
      "a key that the provider refuses",
      () => ({ PaymentSourceConfig: { rpcProviderApiKey: "bad", rpcProvider: "Blockfrost" } }),
      400,
      "PaymentSourceConfig.rpcProviderApiKey: the provider refuses this key on this network",
    ],
    [
      "a key that no header can carry",
      () => ({ PaymentSourceConfig: { rpcProviderApiKey: "a\nb", rpcProvider: "Blockfrost" } }),
      400,
      "PaymentSourceConfig.rpcProviderApiKey: must be printable ASCII without spaces",
    ],
    [
      "one wallet in two roles",
      () => ({
        ...withWallets(),
        PurchasingWallets: [{ walletMnemonic: wallet("seller-0").mnemonic }],
      }),
      409,
      "SellingWallets[0]: is the same wallet as PurchasingWallets[0]",
    ],
  ])("%s", async (_, overrides, status, message) => {
    expect(await create(overrides())).toMatchObject({ status, message });
    expect(await everything()).toBe("[[],[],[],[],[]]");
  });

  it("a wrong mnemonic by its position, never repeating a word", async () => {
    const words = wallet("buyer-0").mnemonic.split(" ");
    words[4] = "supersecretword";
    const { status, message } = await create({
      PurchasingWallets: [{ walletMnemonic: words.join(" ") }],
    });
    expect(status).toBe(400);
    expect(message).toMatch(/^PurchasingWallets\[0\]\.walletMnemonic: word 5 /);
    for (const word of words) expect(message?.split(/[^a-z]+/)).not.toContain(word);
  });

  it("a contract that is a payment source already", async () => {
    await create();
    expect(await create()).toMatchObject({
      status: 409,
      message: "smartContractAddress: is a payment source already",
    });
    expect(await count("audit")).toBe(1);
  });

  it("a wallet that another source manages, by its place in the request", async () => {
    await create(withWallets());
    const other = (await chain.wallets()).contracts.find(({ type }) => type === "Web3ChainV2");
    const { status, message } = await create({
      smartContractAddress: other?.address,
      PurchasingWallets: [
        { walletMnemonic: wallet("buyer-1").mnemonic },
        { walletMnemonic: wallet("buyer-0").mnemonic },
      ],
      SellingWallets: [],
    });
    expect(status).toBe(409);
    expect(message).toBe("PurchasingWallets[1]: is managed by a payment source already");
    expect(await count("payment_source")).toBe(1);
    expect(await count("managed_wallet")).toBe(2);
  });

  it("the contracts of the local chain outside of development", async () => {
    const { status, message } = await create({}, { env: { LOOPBACK_ORIGINS: "" } });
    expect(status).toBe(400);
    expect(message).toContain("permissive contract of the local chain");
  });
});

describe("POST /payment-source-extended when the provider", () => {
  it.each([
    ["fails", { status: 500 }, 502, null],
    ["has no calls left today", { status: 402 }, 503, /^\d+$/],
  ])("%s, answers with what is unavailable", async (_, fault, status, retryAfter) => {
    const faulty = await TestChain.create();
    await faulty.faults({ match: ".*", ...fault });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const answer = await app.request(
      PATH,
      {
        method: "POST",
        headers: { token: env.ADMIN_KEY ?? "" },
        body: JSON.stringify(bodyOf()),
      },
      { ...env, BLOCKFROST_URL_PREPROD: faulty.url },
    );
    vi.restoreAllMocks();
    expect(answer.status).toBe(status);
    if (retryAfter) expect(answer.headers.get("retry-after")).toMatch(retryAfter);
    expect(await answer.text()).toContain("The chain provider");
    expect(await count("payment_source")).toBe(0);
  });
});

describe("PATCH /payment-source-extended 200", () => {
  it("keeps what is left out", async () => {
    const { data: before } = await create(withWallets());
    const { status, data: after } = await update({ id: before.id });
    expect(status).toBe(200);
    const { updatedAt, ...kept } = before;
    expect(after).toMatchObject(kept);
    expect(after.updatedAt >= updatedAt).toBe(true);
    expect(woken).toEqual([before.id, before.id]);
  });

  it("replaces the provider key after asking the provider", async () => {
    const { data: source } = await create();
    const config = (key: string) => ({
      id: source.id,
      PaymentSourceConfig: { rpcProviderApiKey: key, rpcProvider: "Blockfrost" },
    });
    expect((await update(config("bad"))).status).toBe(400);
    const { data } = await update(config("provider-key-2"));
    expect(data.PaymentSourceConfig.rpcProviderApiKey).toBe("provider-key-2");
    expect(await everything()).not.toContain("provider-key-2");
  });

  it("adds and removes wallets, and destroys the mnemonics of those removed", async () => {
    const { data: source } = await create(withWallets());
    const { data } = await update({
      id: source.id,
      AddPurchasingWallets: [{ walletMnemonic: wallet("buyer-1").mnemonic, note: "new" }],
      RemovePurchasingWallets: [{ id: source.PurchasingWallets[0].id }],
      AddSellingWallets: [{ walletMnemonic: wallet("seller-1").mnemonic, note: "" }],
    });
    expect(data.PurchasingWallets).toEqual([
      {
        id: expect.any(String),
        walletVkey: wallet("buyer-1").vkey,
        walletAddress: wallet("buyer-1").address,
        note: "new",
        collectionAddress: null,
      },
    ]);
    expect(data.SellingWallets.map(({ walletVkey }: { walletVkey: string }) => walletVkey)).toEqual(
      [wallet("seller-0").vkey, wallet("seller-1").vkey],
    );
    const removed = await env.DB.prepare("SELECT mnemonic FROM managed_wallet WHERE id = ?")
      .bind(source.PurchasingWallets[0].id)
      .first();
    expect(removed).toEqual({ mnemonic: "" });
  });

  it("takes a wallet back that was removed, even in one request", async () => {
    const { data: source } = await create({ PurchasingWallets: withWallets().PurchasingWallets });
    const { status, data } = await update({
      id: source.id,
      RemovePurchasingWallets: [{ id: source.PurchasingWallets[0].id }],
      AddPurchasingWallets: [{ walletMnemonic: wallet("buyer-0").mnemonic }],
    });
    expect(status).toBe(200);
    expect(data.PurchasingWallets[0].walletVkey).toBe(wallet("buyer-0").vkey);
    expect(data.PurchasingWallets[0].id).not.toBe(source.PurchasingWallets[0].id);
  });

  it("reads the past of a wallet that is added", async () => {
    const { data: source } = await create({ lastIdentifierChecked: lockHash });
    await env.DB.prepare("UPDATE source_cursor SET start = NULL").run();
    const { data } = await update({
      id: source.id,
      AddSellingWallets: [{ walletMnemonic: wallet("seller-1").mnemonic }],
    });
    expect(data.syncInProgress).toBe(true);
    expect(data.lastIdentifierChecked).toBeNull();
  });

  it("lets sync go on after a transaction, or from the start", async () => {
    const { data: source } = await create();
    const at = await update({ id: source.id, lastIdentifierChecked: lockHash });
    expect(at.data.lastIdentifierChecked).toBe(lockHash);
    const start = await update({ id: source.id, lastIdentifierChecked: null });
    expect(start.data.lastIdentifierChecked).toBeNull();
    expect(await update({ id: source.id, lastIdentifierChecked: UNKNOWN_HASH })).toMatchObject({
      status: 400,
    });
  });

  it("writes one audit row that names what changed", async () => {
    const { data: source } = await create();
    await update({ id: source.id, lastIdentifierChecked: null });
    const row = await env.DB.prepare("SELECT * FROM audit ORDER BY id DESC").first();
    expect(row).toMatchObject({ action: "payment-source.update", target: source.id });
    expect(JSON.parse(String(row?.detail))).toMatchObject({ changed: ["lastIdentifierChecked"] });
  });
});

describe("PATCH /payment-source-extended refuses", () => {
  it("a source that does not exist", async () => {
    expect(await update({ id: "nothing" })).toMatchObject({ status: 404 });
  });

  it("to remove a wallet of another source, of the other role, or one already removed", async () => {
    const { data: source } = await create(withWallets());
    const [selling] = source.SellingWallets;
    const [purchasing] = source.PurchasingWallets;
    await update({ id: source.id, RemovePurchasingWallets: [{ id: purchasing.id }] });
    const before = await everything();
    for (const id of ["nothing", selling.id, purchasing.id])
      expect(await update({ id: source.id, RemovePurchasingWallets: [{ id }] })).toMatchObject({
        status: 404,
        message: "RemovePurchasingWallets[0].id: is no such wallet of this payment source",
      });
    expect(await everything()).toBe(before);
  });

  it("to add a wallet that is managed already", async () => {
    const { data: source } = await create({ SellingWallets: withWallets().SellingWallets });
    const before = await count("audit");
    const again = await update({
      id: source.id,
      AddPurchasingWallets: [{ walletMnemonic: wallet("seller-0").mnemonic }],
    });
    expect(again).toMatchObject({
      status: 409,
      message: "AddPurchasingWallets[0]: is managed by a payment source already",
    });
    expect(await count("audit")).toBe(before);
  });
});

describe("GET /payment-source-extended", () => {
  it("pages newest first, after the last id seen", async () => {
    const contracts = (await chain.wallets()).contracts;
    const ids: string[] = [];
    for (const { address } of contracts) {
      const made = await create({ smartContractAddress: address });
      ids.unshift(made.data.id);
    }
    ids.sort().reverse();
    const idsAt = async (query: string): Promise<string[]> => {
      const { data } = await ask("GET", null, { query });
      return data.ExtendedPaymentSources.map(({ id }: { id: string }) => id);
    };
    expect(await idsAt("")).toEqual(ids);
    expect(await idsAt("?limit=1")).toEqual(ids.slice(0, 1));
    expect(await idsAt(`?limit=1&cursorId=${ids[0]}`)).toEqual(ids.slice(1, 2));
    expect(await idsAt(`?cursorId=${ids.at(-1)}`)).toEqual([]);
  });
});
