import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { budgetOf, grant, order, pay, purse, terms, type Wallet } from "../pay/paying.ts";
import { api, expectOk, settle, X402Fixture } from "../x402-fixture.ts";

let x402: X402Fixture;
beforeAll(async () => {
  x402 = await X402Fixture.create("84532-change-wallet");
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
});

async function send(method: "PATCH" | "DELETE", body: object, token?: string) {
  const init = { method, body: JSON.stringify(body), headers: token ? { token } : {} };
  const response = await call("/api/v1/x402/wallets", init);
  const { data, error } = (await response.json()) as {
    data: Wallet;
    error?: { message: string };
  };
  return { status: response.status, data, message: error?.message };
}

const total = async (query = "", token?: string) => {
  const path = `/x402/wallets/count?${query}`;
  return (await expectOk(await api<{ total: number }>(path, undefined, token ? { token } : {})))
    .total;
};

const create = (type = "Selling", headers: Record<string, string> = {}) =>
  api<Wallet>("/x402/wallets", { caip2Network: x402.caip2, type }, headers).then(expectOk);

const network = async () => {
  const { Networks } = await expectOk(await api<{ Networks: object[] }>("/x402/networks"));
  return Networks[0];
};

describe("PATCH /x402/wallets", () => {
  it("changes the note, clears it by null, and keeps it when it is omitted", async () => {
    const { id } = await create();
    expect((await send("PATCH", { id, note: "one" })).data).toMatchObject({ id, note: "one" });
    expect((await send("PATCH", { id })).data).toMatchObject({ note: "one" });
    expect((await send("PATCH", { id, note: null })).data).toMatchObject({ note: null });
    expect((await send("PATCH", { id, note: "x".repeat(251) })).status).toBe(400);
    expect((await send("PATCH", { id: "nowhere", note: "x" })).status).toBe(404);
  });
});

describe("GET /x402/wallets/count", () => {
  it("counts by type and network, a key's own wallets alone", async () => {
    const token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    await create("Purchasing", { token });
    await create("Purchasing");
    expect(await total()).toBe(3);
    expect(await total("type=Selling")).toBe(1);
    expect(await total("caip2Network=eip155:1")).toBe(0);
    expect(await total("type=Purchasing", token)).toBe(1);
  });
});

describe("DELETE /x402/wallets", () => {
  it("keeps the sealed key, turns budgets and rules off, and pays nothing more", async () => {
    const wallet = await purse(x402);
    await insertKey({ id: "payer", canPay: true, networkLimit: [x402.caip2] });
    await expectOk(await grant(x402, "payer", wallet, "1000"));
    const rule = { evmWalletId: wallet.id, threshold: "5" };
    await expectOk(await api("/x402/low-balance", rule));
    expect((await send("DELETE", { id: wallet.id })).data).toMatchObject({ id: wallet.id });
    const stored = await env.DB.prepare(
      "SELECT private_key, (SELECT enabled FROM x402_balance_rule) AS enabled FROM x402_wallet WHERE id = ?",
    )
      .bind(wallet.id)
      .first();
    expect(stored).toEqual({ private_key: expect.stringMatching(/^v1\./), enabled: 0 });
    expect(await budgetOf("payer")).toMatchObject({ isEnabled: false });
    expect((await pay(order(wallet, [terms(x402)]))).status).toBe(404);
    expect((await send("DELETE", { id: wallet.id })).status).toBe(404);
    expect(await total()).toBe(1);
    const { privateKey } = wallet;
    const again = { caip2Network: x402.caip2, type: "Purchasing", privateKey };
    expect((await api("/x402/wallets", again)).status).toBe(200);
  });

  it("removes the wallet from its network, whose next wallet settles from then on", async () => {
    const others = [await create(), await create()];
    for (const { address } of others) await x402.fund(address);
    const ids = [x402.facilitator.id, ...others.map(({ id }) => id)];
    const save = (facilitatorWalletIds: string[]) =>
      api("/x402/networks", { caip2Id: x402.caip2, facilitatorWalletIds }).then(expectOk);
    await save(ids);
    await send("DELETE", { id: ids[1] });
    expect(await network()).toMatchObject({ facilitatorWalletIds: [ids[0], ids[2]] });
    await send("DELETE", { id: ids[0] });
    expect(await network()).toMatchObject({
      facilitatorWalletId: ids[2],
      facilitatorWalletIds: [ids[2]],
    });
    const source = await x402.source();
    const payment = await x402.payment(await x402.buyer(), source);
    expect((await settle(source, payment)).data).toMatchObject({
      settleResponse: { success: true },
    });
    const refused = await send("DELETE", { id: ids[2] });
    expect([refused.status, refused.message]).toEqual([
      409,
      expect.stringContaining("not final yet"),
    ]);
    expect(await network()).toMatchObject({ facilitatorWalletIds: [ids[2]] });
  });

  it("leaves a network without wallets settling nothing", async () => {
    await send("DELETE", { id: x402.facilitator.id });
    expect(await network()).toMatchObject({
      facilitatorWalletId: null,
      facilitatorWalletIds: [],
      facilitatorWalletAddress: null,
    });
  });

  it("is 404 for another key's wallet", async () => {
    const { id } = await create();
    const token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    for (const method of ["PATCH", "DELETE"] as const)
      expect((await send(method, { id, note: "mine" }, token)).status).toBe(404);
    expect(await total()).toBe(2);
  });
});
