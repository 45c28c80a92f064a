import { env } from "cloudflare:workers";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { order, pay, terms, type Wallet } from "../pay/paying.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";

/** Two chains, so that a wallet of one is not a wallet of the other. */
let x402: X402Fixture;
let other: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  [x402, other] = await Promise.all([
    X402Fixture.create("84532-wallets"),
    X402Fixture.create("8453-wallets"),
  ]);
});

function create(over: object = {}, headers: Record<string, string> = {}) {
  const body = { caip2Network: x402.caip2, type: "Purchasing", ...over };
  return api<Wallet>("/x402/wallets", body, headers);
}

async function list(query = ""): Promise<Record<string, unknown>[]> {
  const { data } = await api<{ Wallets: Record<string, unknown>[] }>(
    `/x402/wallets?limit=100&${query}`,
  );
  return data.Wallets;
}

/** Everything that the service keeps, but for what it owes to the platform. */
async function kept(): Promise<string> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf_%'",
  ).all<{ name: string }>();
  const tables = await env.DB.batch(
    results.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)),
  );
  return JSON.stringify(tables.map((table) => table.results)).toLowerCase();
}

/** The key without its prefix, as it might stand anywhere. */
const bare = (key: string | null) => (key ?? "").slice(2).toLowerCase();

describe("POST /x402/wallets", () => {
  it("makes a wallet whose key is shown in this answer and nowhere else", async () => {
    const note = "pays for the data";
    const { privateKey, ...wallet } = await expectOk(await create({ note }));
    expect(wallet).toEqual({
      id: expect.any(String),
      networkId: await x402.networkId(),
      caip2Network: x402.caip2,
      address: privateKeyToAddress(privateKey as Hex).toLowerCase(),
      type: "Purchasing",
      note,
      createdById: "env-admin",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await list()).toContainEqual(wallet);
    const all = await api("/x402/wallets?limit=100");
    expect(JSON.stringify(all.data).toLowerCase()).not.toContain(bare(privateKey));
    const content = await kept();
    expect(content).toContain(wallet.address);
    expect(content).not.toContain(bare(privateKey));
  });

  it("seals each key for its own row", async () => {
    const [a, b] = [await expectOk(await create()), await expectOk(await create())];
    await env.DB.prepare(
      `UPDATE x402_wallet SET private_key = (SELECT private_key FROM x402_wallet WHERE id = ?)
       WHERE id = ?`,
    )
      .bind(a.id, b.id)
      .run();
    const free = terms(x402, { asset: x402.contracts.feeToken, amount: "1" });
    await x402.mint(x402.contracts.feeToken, a.address, 1n);
    await x402.mint(x402.contracts.feeToken, b.address, 1n);
    expect((await pay(order(a, [free]))).status).toBe(200);
    expect((await pay(order(b, [free]))).status).toBe(500);
  });

  it("imports a wallet and never repeats its key", async () => {
    const key = generatePrivateKey();
    const { privateKey, ...wallet } = await expectOk(
      await create({ privateKey: `0x${key.slice(2).toUpperCase()}`, type: "Selling" }),
    );
    expect(privateKey).toBeNull();
    expect(wallet).toMatchObject({
      type: "Selling",
      note: null,
      address: privateKeyToAddress(key).toLowerCase(),
    });
    expect(await kept()).not.toContain(bare(key));
  });

  it("answers the same wallet and key again under the same Idempotency-Key, kept sealed", async () => {
    const headers = { "idempotency-key": "a-wallet" };
    const first = await expectOk(await create({}, headers));
    const again = await Promise.all([1, 2, 3].map(() => create({}, headers)));
    expect(await Promise.all(again.map(expectOk))).toEqual([first, first, first]);
    expect((await list()).filter(({ address }) => address === first.address)).toHaveLength(1);
    expect(await kept()).not.toContain(bare(first.privateKey));
    expect((await create({ type: "Selling" }, headers)).status).toBe(422);
  });

  it("answers 409 for a wallet that is there, on its chain only", async () => {
    const privateKey = generatePrivateKey();
    const address = privateKeyToAddress(privateKey).toLowerCase();
    const atOnce = await Promise.all([1, 2, 3].map(() => create({ privateKey })));
    expect(atOnce.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    for (const over of [{ type: "Selling" }, { privateKey: `0x${bare(privateKey).toUpperCase()}` }])
      expect(await create({ privateKey, ...over })).toMatchObject({
        status: 409,
        message: expect.stringContaining(address),
      });
    expect((await create({ privateKey, caip2Network: other.caip2 })).status).toBe(200);
    expect((await list()).filter((wallet) => wallet.address === address)).toHaveLength(2);
  });

  it.each([
    ["zero", "0".repeat(64)],
    ["the group's order", "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"],
    ["all ones", "f".repeat(64)],
  ])("answers 400 for %s, which is no key of secp256k1", async (_, hex) => {
    const { status, message } = await create({ privateKey: `0x${hex}` });
    expect(status).toBe(400);
    expect(message).toContain("privateKey");
    expect(message).not.toContain(hex);
  });

  it("answers 404 for a chain that is not configured, 403 for one the key may not use", async () => {
    expect((await create({ caip2Network: "eip155:1" })).status).toBe(404);
    const token = await insertKey({ canPay: true, networkLimit: [other.caip2] });
    expect((await create({}, { token })).status).toBe(403);
    expect((await create({ caip2Network: other.caip2 }, { token })).status).toBe(200);
  });
});

describe("GET /x402/wallets", () => {
  it("filters by chain, and pages newest first by the last id seen", async () => {
    for (const caip2Network of [x402.caip2, other.caip2, x402.caip2])
      await expectOk(await create({ caip2Network }));
    const all = await list();
    const ids = all.map(({ id }) => String(id));
    expect(ids).toEqual([...ids].sort().reverse());
    const here = all.filter(({ caip2Network }) => caip2Network === x402.caip2);
    expect(await list(`caip2Network=${x402.caip2}`)).toEqual(here);
    expect(await list(`networkId=${await x402.networkId()}`)).toEqual(here);
    const selling = all.filter(({ type }) => type === "Selling");
    expect(await list("type=Selling")).toEqual(selling);
    expect(selling.length).toBeLessThan(all.length);
    expect(here.length).toBeLessThan(all.length);
    const rest = await api<{ Wallets: unknown[] }>(`/x402/wallets?limit=2&cursorId=${ids[0]}`);
    expect(rest.data.Wallets).toEqual(all.slice(1, 3));
    const first = await api<{ Wallets: unknown[] }>("/x402/wallets?take=2");
    expect(first.data.Wallets).toEqual(all.slice(0, 2));
  });
});
