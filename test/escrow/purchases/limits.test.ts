/** What a key is bound to: wallets, amounts and return addresses. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { PurchaseDesk } from "../../support/escrow/purchasing.ts";
import { insertKey } from "../../support/keys.ts";

beforeEach(emptyTables);

const limitOf = (amount: string) => [{ network: "Preprod", unit: "", amount }];

const spent = () => env.DB.prepare("SELECT sum(spent) AS spent FROM key_spending").first("spent");

describe("a key with spendingLimits", () => {
  it("buys up to them, however many purchases are made at once, and never beyond", async () => {
    const desk = await PurchaseDesk.open();
    const spendingLimits = limitOf("14999999");
    const headers = { token: await insertKey({ canPay: true, spendingLimits }) };
    const quotes = await Promise.all(Array.from({ length: 6 }, () => desk.quote()));
    const answers = await Promise.all(quotes.map((quote) => desk.purchase(quote, {}, headers)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(4);
    for (const { status, message } of refused)
      expect({ status, message }).toEqual({ status: 400, message: "Insufficient funds" });
    expect(await spent()).toBe(10_000_000);
    expect(await desk.purchases()).toHaveLength(2);

    const another = await desk.quote();
    expect(await desk.ask("/purchase/verify", desk.body(another), headers)).toMatchObject({
      status: 402,
      message: "The API key's spending limits do not cover 5000000 of the native coin",
    });
    // A purchase that is given up makes room for another one, once.
    const { blockchainIdentifier } = quotes[answers.findIndex(({ status }) => status === 200)];
    for (const _ of ["first", "again"])
      await desk.ask("/purchase/cancel", { network: "Preprod", blockchainIdentifier }, headers);
    expect(await spent()).toBe(5_000_000);
    expect((await desk.purchase(another, {}, headers)).status).toBe(200);
    expect((await desk.purchase(await desk.quote(), {}, headers)).status).toBe(400);
  });

  it("buys nothing in a unit, or on a network, that they do not list", async () => {
    const desk = await PurchaseDesk.open();
    for (const spendingLimits of [
      [],
      [{ network: "Mainnet", unit: "", amount: "9000000" }],
      [{ network: "Preprod", unit: "ab".repeat(28), amount: "9000000" }],
    ]) {
      const headers = { token: await insertKey({ canPay: true, spendingLimits }) };
      expect(await desk.purchase(await desk.quote(), {}, headers)).toMatchObject({
        status: 400,
        message: "Insufficient funds",
      });
    }
    expect(await desk.purchases()).toEqual([]);
  });
});

describe("a key with walletLimit", () => {
  it("buys with its wallets, and sells with its wallets", async () => {
    const desk = await PurchaseDesk.open();
    const shown = (await desk.quotes.quote()).data.SmartContractWallet;
    const purchasing = "SELECT id FROM managed_wallet WHERE role = 'Purchasing'";
    const buyer = (await env.DB.prepare(purchasing).first<string>("id")) ?? "";
    const seller = { token: await insertKey({ canPay: true, walletLimit: [shown.id] }) };
    const owner = { token: await insertKey({ canPay: true, walletLimit: [buyer] }) };
    expect((await desk.quotes.quote({}, seller)).status).toBe(200);
    expect((await desk.quotes.quote({}, owner)).status).toBe(404);
    const quote = await desk.quote();
    expect(await desk.purchase(quote, {}, seller)).toMatchObject({
      status: 404,
      message:
        "agentIdentifier: the payment source has no purchasing wallet that the API key may use",
    });
    const { status, data } = await desk.purchase(quote, {}, owner);
    expect(status).toBe(200);
    const terms = await env.DB.prepare("SELECT terms FROM escrow WHERE id = ?")
      .bind(data.id)
      .first<string>("terms");
    expect(JSON.parse(terms ?? "{}").walletIds).toEqual([buyer]);
  });
});

describe("a key with returnAddresses", () => {
  it("may turn refunds to them, and set them with its other limits only as an Admin", async () => {
    const desk = await PurchaseDesk.open();
    const [{ address }, { address: other }] = desk.quotes.desk.sellers;
    const { data: key } = await desk.quotes.desk.ask<Record<string, string>>("POST", "/api-key", {
      canPay: true,
      returnAddresses: [address],
      spendingLimits: limitOf("5000000"),
    });
    const headers = { token: key.token ?? "" };
    expect(key).toMatchObject({
      walletLimit: null,
      spendingLimits: limitOf("5000000"),
      returnAddresses: [address],
    });
    const quote = await desk.quote();
    expect((await desk.purchase(quote, { buyerReturnAddress: other }, headers)).status).toBe(403);
    expect((await desk.purchase(quote, { buyerReturnAddress: address }, headers)).status).toBe(200);
    const change = (fields: object) =>
      desk.quotes.desk.ask("PATCH", "/api-key", { id: key.id, ...fields });
    expect((await change({ walletLimit: ["w"] })).data).toMatchObject({
      walletLimit: ["w"],
      spendingLimits: limitOf("5000000"),
      returnAddresses: [address],
    });
    const lifted = { walletLimit: null, spendingLimits: null, returnAddresses: [] };
    expect((await change(lifted)).data).toMatchObject(lifted);
  });
});
