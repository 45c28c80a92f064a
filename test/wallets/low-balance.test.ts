import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../src/db/client.ts";
import { checkLowBalances } from "../../src/wallets/rules/low-balance.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { loseProviderKey, SourceApi } from "../support/sources/api.ts";
import { holdEventsToTheDocument } from "../support/webhooks/declared.ts";

const RULES = "/api/v1/wallet/low-balance";
const MINUTE_MS = 60_000;
const TOKEN = "ab".repeat(30);

let api: SourceApi;
let source: { id: string; SellingWallets: { id: string; walletAddress: string }[] };
let walletId: string;
let now: number;

holdEventsToTheDocument();
beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
  now = Date.now();
  source = (await api.create(api.selling())).data;
  walletId = source.SellingWallets[0]?.id ?? "";
});

/** The balance the provider tells from now on, minor units of the native coin. */
async function hold(amount: string): Promise<void> {
  const body = JSON.stringify({ amount: [{ unit: "lovelace", quantity: amount }] });
  await api.chain.faults({ match: "^/addresses/[^/]+$", status: 200, body });
}

/** The cron's job at a time; the providers have `waitMs` to answer. */
function run(at: number, { DB = env.DB, waitMs = 20_000 } = {}): Promise<void> {
  return checkLowBalances({ ...env, ...api.provider(), DB }, "request", at, Date.now() + waitMs);
}

/** The cron, ten minutes after the last time. */
async function check(options: Parameters<typeof run>[1] = {}): Promise<void> {
  now += 10 * MINUTE_MS;
  await run(now, options);
}

async function events(): Promise<{ sequence: number; data: Record<string, unknown> }[]> {
  const rows = await openDb(env).all<{ sequence: number; data: string }>(
    "SELECT sequence, data FROM event WHERE kind = 'WALLET_LOW_BALANCE' ORDER BY seq",
  );
  return rows.map(({ sequence, data }) => ({ sequence, data: JSON.parse(data) }));
}

const create = (body: object = {}) =>
  api.ask("POST", RULES, { walletId, thresholdAmount: "5000000", ...body });

async function rule() {
  return (await api.ask("GET", RULES)).data.Rules[0];
}

describe("a low-balance rule", () => {
  it("tells once on the way down, and again after the balance was up", async () => {
    const { data } = await create();
    expect(data).toMatchObject({ status: "Unknown", balance: null, checkedAt: null });
    const story = ["5000000", "4999999", "1", "4999999", "5000000", "0", "0"];
    const told: number[] = [];
    for (const balance of story) {
      await hold(balance);
      await check();
      told.push((await events()).length);
    }
    expect(told).toEqual([0, 1, 1, 1, 1, 2, 2]);
    expect(await rule()).toMatchObject({ status: "Low", balance: "0" });
    expect(await events()).toEqual([
      {
        sequence: 1,
        data: {
          ruleId: data.id,
          walletId,
          walletVkey: api.wallet("seller-0").vkey,
          walletAddress: api.wallet("seller-0").address,
          walletNote: "sells",
          network: "Preprod",
          paymentSourceId: source.id,
          unit: "",
          thresholdAmount: "5000000",
          balance: "4999999",
        },
      },
      { sequence: 2, data: expect.objectContaining({ balance: "0" }) },
    ]);
  });

  it("watches a token, and what a wallet does not hold counts as none", async () => {
    await create({ unit: TOKEN, thresholdAmount: "1" });
    await hold("5000000");
    await check();
    expect(await events()).toMatchObject([{ data: { unit: TOKEN, balance: "0" } }]);
  });

  it("keeps its word where the balance cannot be read", async () => {
    await create();
    await hold("1");
    await check();
    await api.chain.faults({ match: "^/addresses/", status: 403 });
    await check();
    expect(await rule()).toMatchObject({ status: "Low", balance: "1" });
    await hold("1");
    await check();
    expect(await events()).toHaveLength(1);
  });

  it("is checked every ten minutes, for one call of the provider per wallet", async () => {
    await create();
    await create({ unit: TOKEN });
    await api.chain.stats();
    const calls = async (later: number) => {
      await run(now + later);
      return (await api.chain.stats()).total;
    };
    expect(await calls(0)).toBe(1);
    expect(await calls(9 * MINUTE_MS)).toBe(0);
    expect(await calls(10 * MINUTE_MS)).toBe(1);
  });

  it("tells once when two runs of the cron overlap", async () => {
    await create();
    await hold("1");
    now += 10 * MINUTE_MS;
    await Promise.all([1, 2, 3].map(() => run(now)));
    expect(await events()).toHaveLength(1);
  });

  it("stays as it was changed while a check was reading the balance", async () => {
    const { data } = await create();
    await hold("1");
    let isChanged = false;
    const DB = wrapD1(env.DB, async ({ sql }, answer) => {
      if (!isChanged && sql.some((one) => one.startsWith('update "low_balance_rule"'))) {
        isChanged = true;
        await api.ask("PATCH", RULES, { id: data.id, thresholdAmount: "1" });
      }
      return answer();
    });
    await check({ DB });
    expect(isChanged).toBe(true);
    expect(await rule()).toMatchObject({
      thresholdAmount: "1",
      status: "Unknown",
      checkedAt: null,
    });
    expect(await events()).toEqual([]);
  });

  it("is not checked when it is off, and judged anew when it was changed", async () => {
    const { data } = await create({ enabled: false });
    await hold("1");
    await check();
    expect(await events()).toEqual([]);
    await api.ask("PATCH", RULES, { id: data.id, enabled: true });
    await check();
    expect(await events()).toHaveLength(1);
    const raised = await api.ask("PATCH", RULES, { id: data.id, thresholdAmount: "0009" });
    expect(raised.data).toMatchObject({ thresholdAmount: "9", status: "Unknown", balance: null });
    await check();
    expect((await events()).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });
});

describe("rules of a source beside another one", () => {
  let [mine, other] = ["", ""];

  beforeEach(async () => {
    const { data } = await api.create(api.elsewhere());
    other = data.SellingWallets[0].id;
    mine = walletId;
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  /** What the provider answers for the wallet of the first source; the other one's holds `1`. */
  const faultAt = (fault: object) => {
    const path = (name: string) => `^/addresses/${api.wallet(name).address}$`;
    const body = JSON.stringify({ amount: [{ unit: "lovelace", quantity: "1" }] });
    return api.chain.faults(
      { match: path("seller-0"), ...fault },
      { match: path("seller-1"), status: 200, body },
    );
  };

  const statuses = async () => {
    const { data } = await api.ask("GET", RULES);
    const rules: { walletId: string; status: string }[] = data.Rules;
    return Object.fromEntries(rules.map((one) => [one.walletId, one.status]));
  };

  it("are checked while its provider never answers", async () => {
    await create();
    await create({ walletId: other });
    await faultAt({ hang: true });
    await check({ waitMs: 3000 });
    expect(await statuses()).toEqual({ [other]: "Low", [mine]: "Unknown" });
    expect(await events()).toMatchObject([{ data: { walletId: other, balance: "1" } }]);
  });

  it("are written after its provider took nearly all the time there is", async () => {
    await create({ walletId: other });
    await faultAt({});
    vi.useFakeTimers({ toFake: ["Date"] });
    const DB = wrapD1(env.DB, async ({ sql }, answer) => {
      const result = await answer();
      if (sql.some((one) => one.includes('from "payment_source"')))
        vi.setSystemTime(Date.now() + 19_000);
      return result;
    });
    await check({ DB });
    expect(await events()).toMatchObject([{ data: { walletId: other } }]);
  });

  it("have their turn beside fifty that cannot be checked", async () => {
    for (let i = 10; i < 60; i++) await create({ unit: `${"ab".repeat(28)}${i}` });
    await create({ walletId: other });
    await faultAt({ status: 403 });
    await check();
    expect(await events()).toMatchObject([{ data: { walletId: other } }]);
  });

  it("are checked when its provider key does not open", async () => {
    await create();
    await create({ walletId: other });
    await faultAt({});
    await loseProviderKey(source.id);
    await check();
    expect(await events()).toMatchObject([{ data: { walletId: other } }]);
  });
});

describe("/wallet/low-balance", () => {
  it("lists by wallet, newest first, and pages", async () => {
    const first = (await create()).data;
    const second = (await create({ unit: TOKEN })).data;
    const ids = [first.id, second.id].sort().reverse();
    const idsAt = async (query: string) => {
      const { data } = await api.ask("GET", `${RULES}?${query}`);
      return data.Rules.map(({ id }: { id: string }) => id);
    };
    expect(await idsAt(`walletId=${walletId}`)).toEqual(ids);
    expect(await idsAt("walletId=another")).toEqual([]);
    expect(await idsAt("limit=1")).toEqual(ids.slice(0, 1));
    expect(await idsAt(`cursorId=${ids[0]}`)).toEqual(ids.slice(1));
  });

  it("has one rule per wallet and unit (409), for wallets there are (404)", async () => {
    await create();
    expect(await create()).toMatchObject({
      status: 409,
      message: "unit: the wallet has a rule for it already",
    });
    expect(await create({ walletId: "nothing" })).toMatchObject({
      status: 404,
      message: "walletId: there is no such wallet",
    });
  });

  it("creates one rule under one Idempotency-Key", async () => {
    const headers = { "idempotency-key": "once" };
    const body = { walletId, thresholdAmount: "1" };
    const first = await api.ask("POST", RULES, body, { headers });
    const again = await api.ask("POST", RULES, body, { headers });
    expect(again.data).toEqual(first.data);
  });

  it("deletes, and knows no rule that is gone (404)", async () => {
    const { data } = await create();
    expect((await api.ask("DELETE", RULES, { id: data.id })).data).toEqual(data);
    for (const method of ["PATCH", "DELETE"])
      expect(await api.ask(method, RULES, { id: data.id })).toMatchObject({
        status: 404,
        message: "id: there is no such rule",
      });
  });

  it("leaves an audit row for each change", async () => {
    const { data } = await create();
    await api.ask("PATCH", RULES, { id: data.id, enabled: false });
    await api.ask("DELETE", RULES, { id: data.id });
    const rows = await openDb(env).all<{ action: string }>(
      "SELECT action FROM audit WHERE target = ? ORDER BY action",
      data.id,
    );
    expect(rows.map(({ action }) => action)).toEqual([
      "low-balance-rule.create",
      "low-balance-rule.delete",
      "low-balance-rule.update",
    ]);
  });
});
