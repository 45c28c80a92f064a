import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { ask, documents, MONTH, pay, send } from "./support.ts";

beforeEach(emptyTables);

const RATE = { unit: "", currency: "eur", month: MONTH, rate: 0.0000045, source: "House rate" };
const store = (overrides: object = {}, options = {}) =>
  send("POST", "rates", { ...RATE, ...overrides }, options);

async function conversions(): Promise<unknown> {
  return JSON.parse((await documents()).at(-1)?.content ?? "{}").conversions;
}

describe("POST /invoice/rates", () => {
  it("200 stores a rate, replaces it, and leaves an audit row each time", async () => {
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
  ])("400 for %s %j", async (field, value) => {
    const answer = await store({ [field]: value });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(field);
  });
});

describe("the rate that an invoice uses", () => {
  it("is the stored one of the month, with its source, unless the request has its own", async () => {
    await pay({});
    await store();
    await store({ month: "2025-08", rate: 1 });
    await store({ currency: "usd", rate: 1 });
    expect((await ask({ CurrencyConversion: {} })).status).toBe(200);
    expect(await conversions()).toEqual([
      { unit: "", amount: "2000000", rate: "0.0000045", source: "House rate" },
    ]);
    await ask({ CurrencyConversion: { "": 4.5e-7 } });
    expect(await conversions()).toMatchObject([{ rate: "0.00000045", source: null }]);
  });

  it("corrected later, makes a new revision", async () => {
    await pay({});
    await store();
    await ask({ CurrencyConversion: {} });
    await store({ rate: 0.000005 });
    const { data } = await ask({ CurrencyConversion: {} });
    expect(data.cancellationInvoice).toBeDefined();
  });

  it("is never made up: without one the units are named", async () => {
    await pay({
      funds: [
        { unit: "", amount: "1" },
        { unit: "ab".repeat(30), amount: "1" },
      ],
    });
    const answer = await ask({ CurrencyConversion: {} });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(`"", "${"ab".repeat(30)}"`);
  });
});

describe("the price source", () => {
  const coins = { "": { id: "native", decimals: 6 }, young: { id: "young", decimals: 0 } };
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

  it("gives the price at the end of the month, exact, and it is stored with its name", async () => {
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
    ["has no price for the day", {}, { young: "1" }],
    ["does not know the unit", {}, { ["cd".repeat(28)]: "1" }],
    ["is off", { PRICE_SOURCE_URL: undefined }, { "": "1" }],
  ])("400 naming the unit when it %s", async (_, more, funds) => {
    await pay({ funds: Object.entries(funds).map(([unit, amount]) => ({ unit, amount })) });
    const answer = await askSource(more);
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(`"${Object.keys(funds)[0]}"`);
  });

  it.each([
    ["502", "fails", { PRICE_SOURCE_URL: `${env.PRICES_URL}/broken` }],
    ["502", "answers with no JSON", { PRICE_SOURCE_URL: `${env.PRICES_URL}/text` }],
    ["502", "refuses the key", { PRICE_SOURCE_KEY: "wrong" }],
    ["504", "does not answer", { PRICE_SOURCE_URL: `${env.PRICES_URL}/slow` }],
  ])("%s when it %s, and nothing is issued", async (status, _, more) => {
    await pay({});
    expect((await askSource(more)).status).toBe(Number(status));
    expect(await documents()).toEqual([]);
  });

  it("never takes the place of a rate that is stored while it is asked", async () => {
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

  it("is asked for six units at once, and not for more", async () => {
    const units = Array.from({ length: 12 }, (_, i) => `${10 + i}`.repeat(28));
    await pay({ funds: units.map((unit) => ({ unit, amount: "5000000" })) });
    const native = units.map((unit) => [unit, { id: "native", decimals: 6 }]);
    const answer = await askSource({
      PRICE_SOURCE_URL: `${env.PRICES_URL}/six`,
      PRICE_SOURCE_COINS: JSON.stringify(Object.fromEntries(native)),
    });
    expect(answer).toMatchObject({ status: 200 });
    expect(await conversions()).toHaveLength(12);
  });

  it("502 when it fails for one unit: what it said of others is kept", async () => {
    const unit = "cd".repeat(28);
    await pay({ funds: ["", unit].map((unit) => ({ unit, amount: "5000000" })) });
    const coins = { "": { id: "native", decimals: 6 }, [unit]: { id: "broken", decimals: 6 } };
    const answer = await askSource({ PRICE_SOURCE_COINS: JSON.stringify(coins) });
    expect(answer.status).toBe(502);
    expect(await documents()).toEqual([]);
    const { data } = await send("GET", `rates?month=${MONTH}`);
    expect(data.Rates).toMatchObject([{ unit: "", rate: "0.0000006871234567890123" }]);
  });

  it("504 before the deadline of the request, when it does not answer", async () => {
    await pay({});
    const PRICE_SOURCE_URL = `${env.PRICES_URL}/slow`;
    const answer = await askSource({ PRICE_SOURCE_URL, REQUEST_DEADLINE_MS: "3000" });
    expect(answer).toMatchObject({
      status: 504,
      message: "The price source did not answer in time",
    });
  });

  it("is not asked for a month that is not over", async () => {
    const month = new Date().toISOString().slice(0, 7);
    await pay({ blockTime: Math.floor(Date.now() / 1000) - 1 });
    expect((await askSource({}, { month })).status).toBe(400);
  });
});
