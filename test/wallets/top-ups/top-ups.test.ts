import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { checkTopUps } from "../../../src/wallets/top-ups/check.ts";
import { emptyTables } from "../../support/app.ts";
import type { ChainWallet } from "../../support/chain.ts";
import { crashAt } from "../../support/crash-at.ts";
import { failingD1, RETRYABLE_ERRORS } from "../../support/d1.ts";
import { sweep } from "../../support/effort.ts";
import { found, RegistrationFixture } from "../../support/registry/registration-fixture.ts";
import { holdEventsToTheDocument } from "../../support/webhooks/declared.ts";
import { arrivals, freshPath, verified, WebhookService } from "../../support/webhooks/receivers.ts";

const RULES = "/wallet/top-up";
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

interface Rule {
  id: string;
  balance: string | null;
  waitsFor: string | null;
  [field: string]: unknown;
}

interface TopUp {
  id: string;
  status: string;
  minorUnitAmount: string;
  fromWalletAddress: string;
  toAddress: string;
  topUpRuleId: string | null;
  [field: string]: unknown;
}

holdEventsToTheDocument();
beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Two selling wallets, the first with 3 whole native coins, and a Funding wallet with plenty. */
async function open({ funded = true } = {}) {
  const fixture = await RegistrationFixture.open({ sellerFunds: [3_000_000] });
  const { wallets } = await fixture.chain.wallets();
  const treasury = found(wallets, (one) => one.name === "admin");
  const change = async (fields: object) =>
    (
      await fixture.ask<Record<string, { id: string; walletVkey: string }[]>>(
        "PATCH",
        "/payment-source-extended",
        { id: fixture.sourceId, ...fields },
      )
    ).data;
  if (funded) await change({ AddFundingWallets: [{ walletMnemonic: treasury.mnemonic }] });
  const source = await change({});
  const [poor] = fixture.sellers;
  const idOf = ({ vkey }: ChainWallet): string =>
    found(
      [...(source.SellingWallets ?? []), ...(source.FundingWallets ?? [])],
      (one) => one.walletVkey === vkey,
    ).id;
  let now = Date.now();
  return {
    fixture,
    treasury,
    poor,
    idOf,
    rule: (fields: object = {}) =>
      fixture.ask<Rule>("POST", RULES, {
        walletId: idOf(poor),
        below: "10000000",
        upTo: "50000000",
        ...fields,
      }),
    rules: async () => (await fixture.ask<{ Rules: Rule[] }>("GET", RULES)).data.Rules,
    topUps: async () =>
      (await fixture.ask<{ transfers: TopUp[] }>("GET", "/wallet/transfer-funds?limit=100")).data
        .transfers,
    /** The cron, so many minutes after the last time. */
    check: async (minutes = 0, overrides: object = {}) => {
      now += minutes * MINUTE_MS;
      await checkTopUps({ ...fixture.env(), ...overrides }, "test", now, Date.now() + 20_000);
    },
    /** The Funding wallet pays what was asked for, as if it happened at the time of the test. */
    pay: async () => {
      await fixture.settle(treasury);
      await env.DB.prepare("UPDATE transfer SET updated_at = ?, created_at = min(created_at, ?)")
        .bind(now, now)
        .run();
    },
    held: async ({ address }: ChainWallet, unit = "lovelace") => {
      const { amount } = await fixture.chain.get<{ amount: { unit: string; quantity: string }[] }>(
        `/addresses/${address}`,
      );
      return BigInt(amount.find((one) => one.unit === unit)?.quantity ?? 0);
    },
  };
}

describe("a rule that cannot be read", () => {
  it("says so, is checked again in the next window, and stops no other rule", async () => {
    const { fixture, idOf, rule, rules, topUps, check } = await open();
    const [, rich] = fixture.sellers;
    const { data: odd } = await rule();
    const below = "900000000000";
    const { data: other } = await rule({ walletId: idOf(rich), below, upTo: "900010000000" });
    await env.DB.prepare("UPDATE top_up_rule SET below = 'many' WHERE id = ?").bind(odd.id).run();
    await check();
    expect((await topUps()).map(({ topUpRuleId }) => topUpRuleId)).toEqual([other.id]);
    await env.DB.prepare("UPDATE top_up_rule SET below = '10000000' WHERE id = ?")
      .bind(odd.id)
      .run();
    const shown = (await rules()).find(({ id }) => id === odd.id);
    expect(shown?.waitsFor).toMatch(/^An internal error stopped this task\. /);
    await check(6);
    expect((await topUps()).map(({ topUpRuleId }) => topUpRuleId).toSorted()).toEqual(
      [odd.id, other.id].toSorted(),
    );
  });
});

describe("a wallet with a rule", () => {
  it("is filled up when it is low, together with others, and receivers are told", async () => {
    const { fixture, treasury, poor, idOf, rule, topUps, check, pay, held } = await open();
    const [, rich] = fixture.sellers;
    const service = new WebhookService();
    fixture.bindings = { EVENTS: service.env.EVENTS };
    const path = freshPath();
    const kinds = ["FUND_DISTRIBUTION_SENT", "FUND_DISTRIBUTION_CONFIRMED"];
    const { secret } = await service.create(path, { Events: kinds });
    const { data: low } = await rule();
    const { data: high } = await rule({
      walletId: idOf(rich),
      below: "3000000000",
      upTo: "4000000000",
      perDay: "1000000000",
    });
    await rule({ walletId: idOf(rich), unit: "ab".repeat(28), enabled: false });
    await check();
    const asked = await topUps();
    expect(asked).toHaveLength(2);
    const requests = new Map(asked.map((one) => [one.topUpRuleId, one]));
    expect(requests.get(low.id)).toMatchObject({
      status: "Pending",
      minorUnitAmount: "47000000",
      fromWalletAddress: treasury.address,
      toAddress: poor.address,
    });
    expect(requests.get(high.id)).toMatchObject({ minorUnitAmount: "1000000000" });
    await pay();
    expect(await held(poor)).toBe(50_000_000n);
    expect(service.wakes).toBeGreaterThan(0);
    await service.settle();
    const bodies = (await arrivals(path)).map((arrival) => verified(arrival, secret));
    const data = expect.objectContaining({
      fundWalletId: idOf(treasury),
      fundWalletAddress: treasury.address,
      txHash: (await topUps())[0]?.txHash,
      distributions: expect.arrayContaining([
        {
          requestId: requests.get(low.id)?.id,
          targetWalletId: idOf(poor),
          targetWalletAddress: poor.address,
          assetUnit: "",
          amount: "47000000",
        },
        expect.objectContaining({ targetWalletId: idOf(rich), amount: "1000000000" }),
      ]),
    });
    expect(bodies.toSorted((a, b) => Number(a.sequence) - Number(b.sequence))).toEqual([
      expect.objectContaining({ type: kinds[0], sequence: 1, data }),
      expect.objectContaining({ type: kinds[1], sequence: 2, data }),
    ]);
  });

  it("gets one top-up at a time, and the next ten minutes after it", async () => {
    const { rule, rules, topUps, check, pay } = await open();
    await rule({ below: "1000000000", upTo: "1002000000", perDay: "2000000000" });
    await check();
    await check();
    await check(30);
    expect(await topUps()).toHaveLength(1);
    expect((await rules())[0]?.waitsFor).toBe("the top-up that is under way");
    await pay();
    await check(6);
    expect(await topUps()).toHaveLength(1);
    expect((await rules())[0]).toMatchObject({ balance: "1002000000", waitsFor: null });
  });

  it("gets no more in a day than perDay", async () => {
    const { rule, rules, topUps, check, pay } = await open();
    await rule({ below: "1000000000", upTo: "1002000000", perDay: "5000000" });
    const asked = async () => (await topUps()).map(({ minorUnitAmount }) => minorUnitAmount);
    await check();
    expect(await asked()).toEqual(["5000000"]);
    await pay();
    await check(20);
    expect(await asked()).toHaveLength(1);
    expect((await rules())[0]?.waitsFor).toMatch(/^the next day: perDay is used up, until /);
    await check(DAY_MS / MINUTE_MS);
    expect(await asked()).toEqual(["5000000", "5000000"]);
  });

  it("gets tokens, with as much of the native coin as they need", async () => {
    const { fixture, treasury, idOf, rule, topUps, check, pay, held } = await open();
    const [poor, rich] = fixture.sellers;
    await fixture.register({
      sellingWalletVkey: rich.vkey,
      recipientWalletAddress: treasury.address,
    });
    await fixture.settle(rich);
    const [unit = ""] = (await fixture.tokens()).held;
    await rule({ walletId: idOf(poor), unit, below: "1", upTo: "2", perDay: "1" });
    await check();
    expect(await topUps()).toMatchObject([
      { minorUnitAmount: "0", assets: [{ unit, quantity: "1" }] },
    ]);
    await pay();
    expect(await held(poor, unit)).toBe(1n);
  });

  it("waits visibly for a Funding wallet, and for what that lacks", async () => {
    const without = await open({ funded: false });
    await without.rule();
    await without.check();
    expect(await without.rules()).toMatchObject([
      { balance: "3000000", waitsFor: expect.stringMatching(/^a Funding wallet: /) },
    ]);
    expect(await without.topUps()).toEqual([]);
    await emptyTables();
    const { rule, rules, topUps, check } = await open();
    await rule({ upTo: "9000000000", perDay: "9000000000" });
    await check();
    expect((await rules())[0]?.waitsFor).toMatch(/^funds: of 8997000000 minor units the Funding /);
    expect(await topUps()).toEqual([]);
  });

  it("is left alone while a balance cannot be read, and checked again the next minute", async () => {
    const { fixture, rule, rules, topUps, check } = await open();
    await rule();
    await fixture.chain.faults({ match: "^/addresses/", status: 403 });
    await check();
    expect(await rules()).toMatchObject([{ balance: null, checkedAt: null }]);
    await fixture.chain.faults();
    await check(1);
    expect(await topUps()).toHaveLength(1);
  });

  it("loses its rules when it is removed", async () => {
    const { fixture, poor, idOf, rule, rules } = await open();
    await rule();
    const change = { id: fixture.sourceId, RemoveSellingWallets: [{ id: idOf(poor) }] };
    expect((await fixture.ask("PATCH", "/payment-source-extended", change)).status).toBe(200);
    expect(await rules()).toEqual([]);
  });

  it("is not topped up by a Funding wallet that is only watched", async () => {
    const { rule, rules, topUps, check } = await open();
    await rule();
    await env.DB.prepare(
      "UPDATE managed_wallet SET drives = 'nothing' WHERE role = 'Funding'",
    ).run();
    await check();
    expect((await rules())[0]?.waitsFor).toMatch(/^a Funding wallet: /);
    expect(await topUps()).toEqual([]);
  });

  it("gets one top-up where the answer of the database is lost", async () => {
    const { rule, rules, topUps, check } = await open();
    await rule();
    const fails = (n: number) => n % 2 === 0;
    const { d1, calls } = failingD1(env.DB, RETRYABLE_ERRORS[3] ?? "", "after", fails);
    await check(0, { DB: d1 });
    expect(calls()).toBeGreaterThan(4);
    expect(await topUps()).toHaveLength(1);
    await check(6);
    expect(await topUps()).toHaveLength(1);
    expect((await rules())[0]?.waitsFor).toBe("the top-up that is under way");
  });

  it("gets one top-up from two crons at once", async () => {
    const { rule, topUps, check } = await open();
    await rule();
    await Promise.all([check(), check(), check()]);
    expect(await topUps()).toHaveLength(1);
  });
});

describe("a check that is stopped at any awaited step", () => {
  it.each(["before", "after"] as const)("asks for each top-up once (%s the step)", async (when) => {
    const { rule, topUps, check, pay } = await open();
    await rule({ below: "1000000000", upTo: "1002000000", perDay: "3000000" });
    let days = 0;
    const dieAt = async (k: number): Promise<number> => {
      const dying = crashAt(k, when);
      vi.stubGlobal("fetch", dying.fetch);
      await check(DAY_MS / MINUTE_MS + 20, dying.overrides.env).catch(() => {});
      vi.unstubAllGlobals();
      await check();
      expect(await topUps(), `stopped at step ${k}`).toHaveLength(++days);
      await pay();
      return dying.count();
    };
    const steps = await dieAt(Number.POSITIVE_INFINITY);
    expect(steps).toBeGreaterThanOrEqual(8);
    for (const k of sweep(18, steps)) await dieAt(k);
    for (const { status } of await topUps()) expect(status).toBe("Confirmed");
  });
});

describe("/wallet/top-up", () => {
  it("POST 200 shows what holds where nothing is said, once per Idempotency-Key", async () => {
    const { fixture, idOf, poor } = await open();
    const body = { walletId: idOf(poor), below: "010000000", upTo: "50000000" };
    const key = { "Idempotency-Key": "poor" };
    const first = await fixture.ask("POST", RULES, body, key);
    expect(first).toMatchObject({
      status: 200,
      data: {
        walletId: idOf(poor),
        unit: "",
        below: "10000000",
        upTo: "50000000",
        perDay: "200000000",
        enabled: true,
        balance: null,
        checkedAt: null,
        waitsFor: null,
      },
    });
    expect(await fixture.ask("POST", RULES, body, key)).toEqual(first);
    expect(await fixture.ask("POST", RULES, body)).toMatchObject({
      status: 409,
      message: "unit: the wallet has a rule for it already",
    });
  });

  it("PATCH 200 keeps what is left out, null is the default again, and DELETE ends it", async () => {
    const { fixture, rule, rules, topUps, check } = await open();
    const { id } = (await rule({ perDay: "40000000" })).data;
    const changed = await fixture.ask<Rule>("PATCH", RULES, { id, upTo: "40000000", perDay: null });
    expect(changed.data).toMatchObject({
      below: "10000000",
      upTo: "40000000",
      perDay: "150000000",
    });
    expect(await rules()).toEqual([changed.data]);
    expect((await fixture.ask("DELETE", RULES, { id })).data).toEqual(changed.data);
    await check();
    expect(await topUps()).toEqual([]);
    expect((await fixture.ask("DELETE", RULES, { id })).status).toBe(404);
    expect((await fixture.ask("PATCH", RULES, { id })).status).toBe(404);
    const { results } = await env.DB.prepare(
      "SELECT target FROM audit WHERE action LIKE 'top-up-rule.%' ORDER BY action",
    ).all();
    expect(results).toEqual(["create", "delete", "update"].map(() => ({ target: id })));
  });

  it("400 for bounds that make no sense together, and for a Funding wallet", async () => {
    const { fixture, treasury, idOf, rule } = await open();
    const refused = async (fields: object) => {
      const { status, message } = await rule(fields);
      expect(status).toBe(400);
      return message;
    };
    expect(await refused({ upTo: "11999999" })).toBe("upTo: must be at least 12000000");
    expect(await refused({ unit: "ab".repeat(28), upTo: "10000000" })).toBe(
      "upTo: must be at least 10000001",
    );
    expect(await refused({ perDay: "39999999" })).toBe("perDay: must be at least 40000000");
    expect(await refused({ walletId: idOf(treasury) })).toMatch(/^walletId: must not be a Funding/);
    expect(await rule({ walletId: "none" })).toMatchObject({ status: 404 });
    const { id } = (await rule()).data;
    expect(await fixture.ask("PATCH", RULES, { id, below: "49000000" })).toMatchObject({
      status: 400,
      message: "upTo: must be at least 51000000",
    });
  });

  it("GET 200 pages, newest first, and filters by wallet", async () => {
    const { fixture, idOf, poor, rule } = await open();
    const units = ["", "ab".repeat(28), "cd".repeat(28)];
    for (const unit of units) await rule({ unit });
    const list = async (query: string) =>
      (await fixture.ask<{ Rules: Rule[] }>("GET", `${RULES}?${query}`)).data.Rules.map(
        ({ id }) => id,
      );
    const all = await list("limit=100");
    expect(all).toHaveLength(units.length);
    expect(await list("limit=2")).toEqual(all.slice(0, 2));
    expect(await list(`cursorId=${all[1]}`)).toEqual(all.slice(2));
    expect(await list(`walletId=${idOf(poor)}`)).toEqual(all);
    expect(await list("walletId=none")).toEqual([]);
  });
});
