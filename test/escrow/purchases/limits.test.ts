/** What a key is bound to: wallets, amounts and return addresses. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { runSchedule } from "../../../src/schedule.ts";
import { emptyTables } from "../../support/app.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import type { Shown } from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";
import { arrivals, freshPath, WebhookService } from "../../support/webhooks/receivers.ts";

beforeEach(emptyTables);

const limitOf = (amount: string) => [{ network: "Preprod", unit: "", amount }];

/** Ids of the managed wallets of a role, the oldest first. */
async function walletIds(role: "Selling" | "Purchasing"): Promise<string[]> {
  const { results } = await env.DB.prepare(
    "SELECT id FROM managed_wallet WHERE role = ? ORDER BY id",
  )
    .bind(role)
    .all<{ id: string }>();
  return results.map(({ id }) => id);
}

const spent = () => env.DB.prepare("SELECT sum(spent) AS spent FROM key_spending").first("spent");

describe("a key with spendingLimits", () => {
  it("spends exactly up to its limits when many purchases arrive at once", async () => {
    const fixture = await PurchaseFixture.open();
    const spendingLimits = limitOf("14999999");
    const headers = { token: await insertKey({ canPay: true, spendingLimits }) };
    const quotes = await Promise.all(Array.from({ length: 6 }, () => fixture.quote()));
    const answers = await Promise.all(quotes.map((quote) => fixture.purchase(quote, {}, headers)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(4);
    for (const { status, message } of refused)
      expect({ status, message }).toEqual({ status: 400, message: "Insufficient funds" });
    expect(await spent()).toBe(10_000_000);
    expect(await fixture.purchases()).toHaveLength(2);

    const another = await fixture.quote();
    expect(await fixture.ask("/purchase/verify", fixture.body(another), headers)).toMatchObject({
      status: 402,
      message: "The API key's spending limits do not cover 5000000 of the native coin",
    });
    // A purchase that is given up makes room for another one, once.
    const { blockchainIdentifier } = quotes[answers.findIndex(({ status }) => status === 200)];
    for (const _ of ["first", "again"])
      await fixture.ask("/purchase/cancel", { network: "Preprod", blockchainIdentifier }, headers);
    expect(await spent()).toBe(5_000_000);
    expect((await fixture.purchase(another, {}, headers)).status).toBe(200);
    expect((await fixture.purchase(await fixture.quote(), {}, headers)).status).toBe(400);
  });

  it("gets back what it spent for a purchase of a removed source, once none of it can be locked any more", async () => {
    const fixture = await PurchaseFixture.open();
    const { fixture: service } = fixture.quotes;
    const spendingLimits = limitOf("20000000");
    const headers = { token: await insertKey({ canPay: true, spendingLimits }) };
    const [{ data: unsent }, { data: sent }] = [
      await fixture.purchase(await fixture.quote(), {}, headers),
      await fixture.purchase(await fixture.quote(), {}, headers),
    ];
    await service.ask("DELETE", "/payment-source-extended", { id: service.sourceId, force: true });
    await env.DB.batch([
      env.DB.prepare("UPDATE escrow SET pending_hash = 'ab' WHERE id = ?").bind(sent.id),
      env.DB.prepare("UPDATE escrow_open SET pending_transaction = ? WHERE id = ?").bind(
        '{"transaction":{"txHash":"ab"},"spends":null}',
        sent.id,
      ),
    ]);
    const spentAfter = async (minutes: number) => {
      await env.DB.prepare("UPDATE escrow SET pay_by_time = ?")
        .bind(String(Date.now() - minutes * 60_000))
        .run();
      await runSchedule(service.env());
      return spent();
    };
    expect(await spentAfter(5)).toBe(10_000_000);
    expect(await spentAfter(10)).toBe(5_000_000);
    expect(await spentAfter(10)).toBe(5_000_000);
    const shown = await fixture.purchases();
    expect(shown.find(({ id }) => id === unsent.id)).toMatchObject({
      expiredAt: expect.any(String),
      NextAction: { requestedAction: "None", errorNote: null },
    });
    expect(shown.find(({ id }) => id === sent.id)).toMatchObject({ expiredAt: null });
  });

  it("pays only in the units that its limits list, in any spelling of the native coin", async () => {
    const fixture = await PurchaseFixture.open();
    for (const spendingLimits of [
      [],
      [{ network: "Mainnet", unit: "", amount: "9000000" }],
      [{ network: "Preprod", unit: "ab".repeat(28), amount: "9000000" }],
    ]) {
      const headers = { token: await insertKey({ canPay: true, spendingLimits }) };
      expect(await fixture.purchase(await fixture.quote(), {}, headers)).toMatchObject({
        status: 400,
        message: "Insufficient funds",
      });
    }
    expect(await fixture.purchases()).toEqual([]);

    const spelled = [{ network: "Preprod", unit: "Lovelace", amount: "5000000" }];
    const { data: key } = await fixture.ask("/api-key", { canPay: true, spendingLimits: spelled });
    const headers = { token: key.token };
    expect((await fixture.purchase(await fixture.quote(), {}, headers)).status).toBe(200);
    expect((await fixture.purchase(await fixture.quote(), {}, headers)).status).toBe(400);
  });
});

describe("a key with walletLimit", () => {
  it("buys with its wallets, and sells with its wallets", async () => {
    const fixture = await PurchaseFixture.open();
    const shown = (await fixture.quotes.quote()).data.SmartContractWallet;
    const [buyer = ""] = await walletIds("Purchasing");
    const seller = { token: await insertKey({ canPay: true, walletLimit: [shown.id] }) };
    const owner = { token: await insertKey({ canPay: true, walletLimit: [buyer] }) };
    expect((await fixture.quotes.quote({}, seller)).status).toBe(200);
    expect((await fixture.quotes.quote({}, owner)).status).toBe(404);
    const quote = await fixture.quote();
    expect(await fixture.purchase(quote, {}, seller)).toMatchObject({
      status: 404,
      message:
        "agentIdentifier: the payment source has no purchasing wallet that the API key may use",
    });
    const { status, data } = await fixture.purchase(quote, {}, owner);
    expect(status).toBe(200);
    const permitted = await env.DB.prepare("SELECT wallet_ids AS ids FROM escrow WHERE id = ?")
      .bind(data.id)
      .first<string>("ids");
    expect(JSON.parse(permitted ?? "null")).toEqual([buyer]);
  });

  it("sees the records, wallets and sources of its wallets, and is told of no others", async () => {
    const fixture = await PurchaseFixture.open();
    const { fixture: admin } = fixture.quotes;
    const [selling = "", other = ""] = await walletIds("Selling");
    const [buying = ""] = await walletIds("Purchasing");
    const webhooks = new WebhookService();
    const keys = await Promise.all(
      [[selling], [other, selling], [buying], null].map(async (walletLimit) => {
        const token = await insertKey({ canPay: true, ...(walletLimit && { walletLimit }) });
        const path = freshPath();
        await webhooks.create(path, {}, token);
        return { token, path };
      }),
    );

    const mine = await fixture.quote({ metadata: "mine" });
    await fixture.quotes.agent(undefined, { holder: "seller-1" });
    const others = await fixture.quote({ metadata: "another's" });
    const [, , buyer] = keys;
    const { data: bought } = await fixture.purchase(mine, { metadata: "bought" }, buyer);
    // By any purchasing wallet, as far as anybody knows.
    const { data: anyones } = await fixture.purchase(others);

    const identifiers = [mine, others].map(({ blockchainIdentifier }) => blockchainIdentifier);
    const seen = async ({ token }: { token: string }, side: "payment" | "purchase") => {
      const ask = async (method: "GET" | "POST", path: string, body: object | null = null) => {
        const answer = await admin.ask<Record<string, Shown>>(method, `/${side}${path}`, body, {
          token,
        });
        return { status: answer.status, list: Object.values(answer.data ?? {})[0] };
      };
      const query = "?network=Preprod&limit=100";
      const pages = await Promise.all([
        ask("GET", query),
        ask("GET", `/diff${query}`),
        ask("GET", `/diff/next-action${query}`),
        ask("GET", `/diff/onchain-state-or-result${query}`),
        ask("POST", "/resolve-blockchain-identifier", {
          network: "Preprod",
          blockchainIdentifiers: identifiers,
        }),
      ]);
      const found = pages.map(({ list }) =>
        list.map(({ id, metadata }: Shown) => `${id} ${metadata}`).sort(),
      );
      expect(new Set(found.map(String)).size).toBe(1);
      const one = await ask("POST", "/resolve-blockchain-identifier", {
        network: "Preprod",
        blockchainIdentifier: identifiers[0],
      });
      const { list: total } = await ask("GET", `/count?network=Preprod`);
      expect(total).toBe(found[0].length);
      return { records: found[0], one: one.status };
    };
    const ofMine = [`${mine.id} mine`];
    const ofBoth = [...ofMine, `${others.id} another's`].sort();
    const wanted = [
      { payment: ofMine, purchase: [], one: [200, 404] },
      { payment: ofBoth, purchase: [], one: [200, 404] },
      { payment: [], purchase: [`${bought.id} bought`], one: [404, 200] },
      {
        payment: ofBoth.map((one) => one.replace(/ .*/, " null")),
        purchase: [`${bought.id} null`, `${anyones.id} null`].sort(),
        one: [200, 200],
      },
    ];
    for (const [i, key] of keys.entries()) {
      const payment = await seen(key, "payment");
      const purchase = await seen(key, "purchase");
      expect({
        payment: payment.records,
        purchase: purchase.records,
        one: [payment.one, purchase.one],
      }).toEqual(wanted[i]);
    }

    await webhooks.settle();
    const told = await Promise.all(
      keys.map(async ({ path }) => {
        const data = (await arrivals(path)).map(({ body }) => JSON.parse(body).data);
        return [...new Set(data.map(({ id, metadata }) => `${id} ${metadata}`))].sort();
      }),
    );
    expect(told).toEqual(wanted.map(({ payment, purchase }) => [...payment, ...purchase].sort()));

    const ownWallets = async ({ token }: { token: string }) => {
      const wallets = await admin.ask<{ Wallets: Shown[] }>("GET", "/wallet/list", null, { token });
      const sources = await admin.ask<{ PaymentSources: Shown[] }>("GET", "/payment-source", null, {
        token,
      });
      const inSources = sources.data.PaymentSources.flatMap((source: Shown) =>
        [source.SellingWallets, source.PurchasingWallets].flat(),
      );
      const ids = [wallets.data.Wallets, inSources].map((all) =>
        all.map(({ id }: Shown) => id).sort(),
      );
      expect(ids[0]).toEqual(ids[1]);
      return ids[0];
    };
    expect(await Promise.all(keys.map(ownWallets))).toEqual([
      [selling],
      [selling, other].sort(),
      [buying],
      [...(await walletIds("Selling")), buying].sort(),
    ]);

    const { blockchainIdentifier } = mine;
    const cancel = { network: "Preprod", blockchainIdentifier };
    expect((await fixture.ask("/purchase/cancel", cancel, keys[0])).status).toBe(404);
    expect((await fixture.ask("/purchase/cancel", cancel, keys[3])).status).toBe(403);
  });
});

describe("a key with returnAddresses", () => {
  it("may turn refunds to them, and set them with its other limits only as an Admin", async () => {
    const fixture = await PurchaseFixture.open();
    const [{ address }, { address: other }] = fixture.quotes.fixture.sellers;
    const { data: key } = await fixture.quotes.fixture.ask<Record<string, string>>(
      "POST",
      "/api-key",
      {
        canPay: true,
        returnAddresses: [address],
        spendingLimits: limitOf("5000000"),
      },
    );
    const headers = { token: key.token ?? "" };
    expect(key).toMatchObject({
      walletLimit: null,
      spendingLimits: limitOf("5000000"),
      returnAddresses: [address],
    });
    const quote = await fixture.quote();
    expect((await fixture.purchase(quote, { buyerReturnAddress: other }, headers)).status).toBe(
      403,
    );
    expect((await fixture.purchase(quote, { buyerReturnAddress: address }, headers)).status).toBe(
      200,
    );
    const change = (fields: object) =>
      fixture.quotes.fixture.ask("PATCH", "/api-key", { id: key.id, ...fields });
    expect(await change({ walletLimit: ["w"] })).toMatchObject({
      status: 404,
      message: "walletLimit[0]: there is no such wallet",
    });
    const [walletId] = await walletIds("Purchasing");
    expect((await change({ walletLimit: [walletId] })).data).toMatchObject({
      walletLimit: [walletId],
      spendingLimits: limitOf("5000000"),
      returnAddresses: [address],
    });
    const lifted = { walletLimit: null, spendingLimits: null, returnAddresses: [] };
    expect((await change(lifted)).data).toMatchObject(lifted);
  });
});
