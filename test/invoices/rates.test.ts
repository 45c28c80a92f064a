import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import { ask, documents, MONTH, pay, send } from "./support.ts";

beforeEach(emptyTables);

const RATE = { unit: "", currency: "eur", month: MONTH, rate: 0.0000045, source: "House rate" };
const store = (overrides: object = {}, options = {}) =>
  send("POST", "rates", { ...RATE, ...overrides }, options);

async function conversions(): Promise<unknown> {
  return JSON.parse((await documents()).at(-1)?.content ?? "{}").conversions;
}

describe("POST /invoice/rates", () => {
  it("stores a rate, replaces it, and writes an audit row each time", async () => {
    const first = await store();
    expect(first.status).toBe(200);
    expect(first.data).toMatchObject({ ...RATE, rate: "0.0000045" });
    await store({ rate: "0.00000512345678901234567890" });
    const { data } = await send("GET", `rates?month=${MONTH}`);
    expect(data.Rates).toMatchObject([{ ...RATE, rate: "0.0000051234567890123456789" }]);
    const audit = await env.DB.prepare(
      "SELECT target FROM audit WHERE action = 'invoice-rate.store'",
    ).all();
    expect(audit.results).toHaveLength(2);
  });

  it.each([
    ["rate", 0],
    ["rate", -1],
    ["rate", "0.0"],
    ["rate", "1,5"],
    ["currency", "btc"],
    ["month", "2025-00"],
    ["source", ""],
  ])("answers 400 to %s %j", async (field, value) => {
    const answer = await store({ [field]: value });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(field);
  });
});

describe("the rate that an invoice uses", () => {
  it("is the stored rate of the month, with its source, unless the request has a rate", async () => {
    await pay({});
    await store();
    await store({ month: "2025-08", rate: 0.00001 });
    await store({ currency: "usd", rate: 1 });
    expect((await ask({ CurrencyConversion: {} })).status).toBe(200);
    expect(await conversions()).toEqual([
      { unit: "", amount: "2000000", rate: "0.0000045", source: "House rate" },
    ]);
    await ask({ CurrencyConversion: { "": 4.5e-7 } });
    expect(await conversions()).toMatchObject([{ rate: "0.00000045", source: null }]);
  });

  it("causes a new revision when it is corrected later", async () => {
    await pay({});
    await store();
    await ask({ CurrencyConversion: {} });
    await store({ rate: 0.000005 });
    const { data } = await ask({ CurrencyConversion: {} });
    expect(data.cancellationInvoice).toBeDefined();
  });

  it("is never invented: the error names the units without a rate", async () => {
    await pay({
      funds: [
        { unit: "", amount: "1" },
        { unit: "ab".repeat(30), amount: "1" },
      ],
    });
    const answer = await ask({ CurrencyConversion: {} });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(`for the native coin, the unit "${"ab".repeat(30)}"`);
  });
});

describe("a rate that is wrong by orders of magnitude", () => {
  const PER_COIN = { CurrencyConversion: { "": 0.45 } };

  it("does not come from named decimals, since the rate is then per whole coin", async () => {
    await pay({});
    const answer = await ask({ ...PER_COIN, decimals: { "": 6 } });
    const used = [{ unit: "", amount: "2000000", rate: "0.00000045", source: null, decimals: 6 }];
    expect(answer).toMatchObject({ status: 200, data: { Conversions: used } });
    const { data } = await send("GET", `monthly?network=Preprod&month=${MONTH}`);
    expect(data.Invoices).toMatchObject([{ grossTotal: "0.90", Conversions: used }]);
  });

  it.each([
    ["the stored one of the month", { month: MONTH }],
    ["the last one stored before it", { month: "2025-06" }],
  ])("gets 400 with the factor to %s, and 200 once it is confirmed", async (_, stored) => {
    await pay({});
    await store({ ...stored, rate: 0.00000045 });
    const answer = await ask(PER_COIN);
    expect(answer.status).toBe(400);
    expect(answer.message).toMatch(
      /^CurrencyConversion: 0\.45 EUR per minor unit of the native coin is 1000000 times the 0\.00000045 of 2025-0[69] \(House rate\)/,
    );
    expect(await documents()).toEqual([]);
    expect((await ask({ ...PER_COIN, confirmRate: true })).status).toBe(200);
  });

  it("gets 400 at a hundredth of the stored rate and at a hundred times that rate, not at 99 times", async () => {
    await pay({});
    await store({ rate: 0.000005 });
    const status = async (rate: number) => (await ask({ CurrencyConversion: { "": rate } })).status;
    expect(await status(0.0005)).toBe(400);
    expect(await status(0.00000005)).toBe(400);
    expect(await status(0.000495)).toBe(200);
  });

  it("gets 400 against the invoice that it would replace", async () => {
    await pay({});
    await ask();
    const answer = await ask(PER_COIN);
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(
      "is 90000 times the 0.000005 of 2025-09 (the previous invoice)",
    );
    expect(await documents()).toHaveLength(1);
  });

  it.each([
    ["what was paid in a unit", [{ unit: "ab".repeat(28), amount: "7" }], 'the unit "abab'],
    ["the total", [], "the native coin"],
  ])("gets 400 when %s rounds to zero, and 200 once it is confirmed", async (_, more, named) => {
    await pay({ funds: [{ unit: "", amount: "2000000" }, ...more] });
    const rates = { "": more.length ? 0.000005 : 1e-12, ["ab".repeat(28)]: 0.0001 };
    const answer = await ask({ CurrencyConversion: rates });
    expect(answer.status).toBe(400);
    expect(answer.message).toMatch(/^CurrencyConversion: .* comes to 0\.00 EUR/);
    expect(answer.message).toContain(named);
    expect((await ask({ CurrencyConversion: rates, confirmRate: true })).status).toBe(200);
  });

  it("gets 400 when lines above zero each round to zero", async () => {
    await pay(
      ...Array.from({ length: 3 }, (_, i) => ({
        funds: [{ unit: "", amount: "4" }],
        agentIdentifier: `${i}a`.repeat(30),
      })),
    );
    const answer = await ask({ CurrencyConversion: { "": 0.001 }, vatRate: 0 });
    expect(answer.message).toMatch(/^CurrencyConversion: what was paid comes to 0\.00 EUR/);
    expect(answer.status).toBe(400);
  });

  it("gets 400 when it is far from the replaced or the previous rate, and 200 once it is confirmed", async () => {
    await store();
    const perCoin = { rate: "0.45" };
    for (const month of [MONTH, "2025-11"]) {
      const refused = await store({ ...perCoin, month });
      expect(refused.message).toMatch(
        /^rate: 0\.45 EUR .* is 100000 times the 0\.0000045 of 2025-09/,
      );
      expect(refused.status).toBe(400);
    }
    const named = await store({ ...perCoin, decimals: 5 });
    expect(named).toMatchObject({ status: 200, data: { rate: "0.0000045" } });
    expect((await store({ ...perCoin, confirmRate: true })).status).toBe(200);
  });
});

describe("the price source", () => {
  const coins = { Lovelace: { id: "native", decimals: 6 }, young: { id: "young", decimals: 0 } };
  const source = (more: object = {}) => ({
    env: {
      LOOPBACK_ORIGINS: env.PRICES_URL,
      PRICE_SOURCE_URL: `${env.PRICES_URL}/api/v3`,
      PRICE_SOURCE_COINS: JSON.stringify(coins),
      ...more,
    },
  });
  const askSource = (more: object = {}, overrides: object = {}) =>
    ask({ CurrencyConversion: {}, ...overrides }, source(more));

  it("gives the exact price at the end of the month, which is stored with the source's name", async () => {
    await pay({});
    expect((await askSource()).status).toBe(200);
    const found = { unit: "", rate: "0.0000006871234567890123", source: "127.0.0.1" };
    expect(await conversions()).toEqual([{ amount: "2000000", ...found }]);
    const { data } = await send("GET", `rates?month=${MONTH}&currency=eur`);
    expect(data.Rates).toMatchObject([found]);
    // Stored: the source is not asked again.
    const again = await askSource({ PRICE_SOURCE_URL: `${env.PRICES_URL}/broken` });
    expect(again.status).toBe(200);
    expect(again.data.cancellationInvoice).toBeUndefined();
  });

  it.each([
    ["has no price for the day", {}, { young: "1" }, 'the unit "young"'],
    ["does not know the unit", {}, { ["cd".repeat(28)]: "1" }, `"${"cd".repeat(28)}"`],
    ["is off", { PRICE_SOURCE_URL: undefined }, { "": "1" }, "the native coin"],
  ])("causes a 400 that names the unit when it %s", async (_, more, funds, named) => {
    await pay({ funds: Object.entries(funds).map(([unit, amount]) => ({ unit, amount })) });
    const answer = await askSource(more);
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(named);
  });

  it.each([
    ["502", "fails", { PRICE_SOURCE_URL: `${env.PRICES_URL}/broken` }],
    ["502", "answers with no JSON", { PRICE_SOURCE_URL: `${env.PRICES_URL}/text` }],
    ["502", "refuses the key", { PRICE_SOURCE_KEY: "wrong" }],
    ["504", "does not answer", { PRICE_SOURCE_URL: `${env.PRICES_URL}/slow` }],
  ])("causes a %s without an invoice when it %s", async (status, _, more) => {
    await pay({});
    expect((await askSource(more)).status).toBe(Number(status));
    expect(await documents()).toEqual([]);
  });

  it("gets no request for a key without credits", async () => {
    await pay({});
    const limits = { usageLimited: true, maxUsageCredits: 0 };
    const token = await insertKey({ permission: "Admin", ...limits });
    const broken = source({ PRICE_SOURCE_URL: `${env.PRICES_URL}/broken` });
    expect((await ask({ CurrencyConversion: {} }, { ...broken, token })).status).toBe(402);
  });

  it("never replaces a rate that is stored while it answers", async () => {
    await pay({});
    let stored = false;
    const DB = wrapD1(env.DB, async ({ sql }, run) => {
      const result = await run();
      if (!stored && sql.some((one) => /^SELECT .* FROM invoice_rate/s.test(one))) {
        stored = true;
        await store();
      }
      return result;
    });
    expect((await askSource({ DB })).status).toBe(200);
    const kept = { unit: "", rate: "0.0000045", source: "House rate" };
    expect(await conversions()).toMatchObject([kept]);
    expect((await send("GET", `rates?month=${MONTH}`)).data.Rates).toMatchObject([kept]);
  });

  it("gets requests for four units at the same time, and for no more", async () => {
    const units = Array.from({ length: 12 }, (_, i) => `${10 + i}`.repeat(28));
    await pay({ funds: units.map((unit) => ({ unit, amount: "5000000" })) });
    const native = units.map((unit) => [unit, { id: "native", decimals: 6 }]);
    const answer = await askSource({
      PRICE_SOURCE_URL: `${env.PRICES_URL}/four`,
      PRICE_SOURCE_COINS: JSON.stringify(Object.fromEntries(native)),
    });
    expect(answer).toMatchObject({ status: 200 });
    expect(await conversions()).toHaveLength(12);
  });

  it("causes a 502 when it fails for one unit, and its rates of other units are stored", async () => {
    const unit = "cd".repeat(28);
    await pay({ funds: ["", unit].map((unit) => ({ unit, amount: "5000000" })) });
    const coins = { "": { id: "native", decimals: 6 }, [unit]: { id: "broken", decimals: 6 } };
    const answer = await askSource({ PRICE_SOURCE_COINS: JSON.stringify(coins) });
    expect(answer.status).toBe(502);
    expect(await documents()).toEqual([]);
    const { data } = await send("GET", `rates?month=${MONTH}`);
    expect(data.Rates).toMatchObject([{ unit: "", rate: "0.0000006871234567890123" }]);
  });

  it("causes a 504 before the deadline of the request when it does not answer", async () => {
    await pay({});
    const PRICE_SOURCE_URL = `${env.PRICES_URL}/slow`;
    const answer = await askSource({ PRICE_SOURCE_URL, REQUEST_DEADLINE_MS: "6000" });
    expect(answer).toMatchObject({
      status: 504,
      message: "The price source did not answer in time",
    });
  });

  it("is compared with a given rate when no rate is stored", async () => {
    await pay({});
    const answer = await askSource({}, { CurrencyConversion: { "": 0.6871 } });
    expect(answer.message).toContain("is 999966 times the 0.0000006871234567890123 of 2025-09");
    expect(answer.status).toBe(400);
    const near = await askSource({}, { CurrencyConversion: { "": 0.6871 }, decimals: { "": 6 } });
    expect(near.status).toBe(200);
  });

  it("causes a 400 when its price is far from the last stored rate, and the price is not stored", async () => {
    await pay({});
    await store({ month: "2025-08", rate: 0.6871 });
    const answer = await askSource();
    expect(answer.message).toMatch(
      /^CurrencyConversion: .* is a 999966th of the 0\.6871 of 2025-08/,
    );
    expect(answer.status).toBe(400);
    expect((await send("GET", `rates?month=${MONTH}`)).data.Rates).toEqual([]);
    expect((await askSource({}, { confirmRate: true })).status).toBe(200);
  });

  it("gets no request for a month that is not over", async () => {
    const month = new Date().toISOString().slice(0, 7);
    await pay({ blockTime: Math.floor(Date.now() / 1000) - 1 });
    expect((await askSource({}, { month })).status).toBe(400);
  });
});
