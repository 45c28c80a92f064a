import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { ask, BUYER, documents, MONTH, pay, SELLER_VKEY, send, signed } from "./support.ts";

beforeEach(emptyTables);

describe("POST /invoice/monthly for an invoice of another key", () => {
  it("answers with the same bytes when nothing changed", async () => {
    await pay({});
    const first = await ask();
    const token = await insertKey({ canPay: true });
    const answer = await send("POST", "monthly", signed(), { token });
    expect(answer).toMatchObject({ status: 200, data: first.data });
    expect(await documents()).toHaveLength(1);
  });

  it.each([
    ["another buyer's address", { Buyer: { ...BUYER, city: "Kiel" } }],
    ["another language", { Invoice: { language: "de" } }],
    ["a revision by force", { forceRegenerate: true }],
  ])("answers 403 to a request for %s, and nothing changes", async (_, change) => {
    await pay({});
    const owner = await insertKey({ canPay: true });
    const first = await send("POST", "monthly", signed(), { token: owner });
    const stranger = await insertKey({ canPay: true });
    const refused = await send("POST", "monthly", signed(change), { token: stranger });
    expect(refused.status).toBe(403);
    expect(refused.message).toContain("Another API key");
    expect(await documents()).toHaveLength(1);
    const again = await send("POST", "monthly", signed(), { token: stranger });
    expect(again.data).toEqual(first.data);
  });

  it("answers 403 when there are new payments, which the owner's key or an Admin bills", async () => {
    await pay({});
    const owner = await insertKey({ canPay: true });
    const stranger = await insertKey({ canPay: true });
    await send("POST", "monthly", signed(), { token: owner });
    await pay({});
    expect((await send("POST", "monthly", signed(), { token: stranger })).status).toBe(403);
    expect((await send("POST", "monthly", signed(), { token: owner })).status).toBe(200);
    expect(await documents()).toHaveLength(3);
    const change = { Invoice: { language: "de" } };
    expect((await send("POST", "monthly", signed(change))).status).toBe(200);
    // What an Admin made is the Admin's.
    expect((await send("POST", "monthly", signed(), { token: owner })).status).toBe(403);
    expect(await documents()).toHaveLength(5);
  });
});

describe("a key that is bound to wallets", () => {
  const MISSING = `monthly/missing?network=Preprod&month=${MONTH}`;

  /** Keys of the wallet that sold, and of another. */
  async function boundKeys() {
    const wallet = (id: string, vkey: string) =>
      statement(
        `INSERT INTO managed_wallet (id, source_id, network, role, vkey, address, mnemonic, note,
           drives, created_by_id, created_at)
         VALUES (?, 'source-a', 'Preprod', 'Selling', ?, 'addr_test1seller', '', '', 'all', 'key-a', 1)`,
        id,
        vkey,
      );
    await openDb(env).batch([wallet("wallet-a", SELLER_VKEY), wallet("wallet-b", "33".repeat(28))]);
    const [seller, stranger] = await Promise.all(
      ["wallet-a", "wallet-b"].map((id) => insertKey({ canPay: true, walletLimit: [id] })),
    );
    return { seller, stranger } as { seller: string; stranger: string };
  }

  it("sees only its own wallets' payments that are on no invoice", async () => {
    const [id] = await pay({});
    const { seller, stranger } = await boundKeys();
    const seen = async (token: string) => (await send("GET", MISSING, undefined, { token })).data;
    expect(await seen(seller)).toMatchObject({ UninvoicedPayments: [{ id }] });
    expect(await seen(stranger)).toEqual({ UninvoicedPayments: [] });
  });

  it("bills only its own wallets' sales", async () => {
    await pay({});
    const { seller, stranger } = await boundKeys();
    for (const body of [signed(), signed({ sellerWalletVkey: SELLER_VKEY })])
      expect(await send("POST", "monthly", body, { token: stranger })).toMatchObject({
        status: 404,
        message: "No payments are billable for this month and wallet. Check both.",
      });
    expect((await send("POST", "monthly", signed(), { token: seller })).status).toBe(200);
    const body = signed({ forceRegenerate: true });
    expect((await send("POST", "monthly", body, { token: stranger })).status).toBe(404);
    expect(await documents()).toHaveLength(1);
  });

  it("sees no invoice of another wallet, though the key requested the invoice before it was bound", async () => {
    await pay({});
    const { seller, stranger } = await boundKeys();
    await send("POST", "monthly", signed(), { token: seller });
    const path = `monthly?network=Preprod&month=${MONTH}`;
    const list = async (token: string) =>
      (await send("GET", path, undefined, { token })).data.Invoices;
    expect(await list(seller)).toHaveLength(1);
    await env.DB.prepare(
      `UPDATE invoice_document SET created_by_id =
         (SELECT id FROM api_key WHERE wallet_limit = '["wallet-b"]')`,
    ).run();
    expect(await list(stranger)).toEqual([]);
  });
});
