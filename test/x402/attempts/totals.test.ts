import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newId } from "../../../src/db/id.ts";
import { emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { api, expectOk } from "../x402-fixture.ts";

interface TokenTotal {
  caip2Network: string;
  asset: string;
  amount: string;
}
interface Totals {
  createdFrom: string;
  createdTo: string;
  incomeCount: number;
  spendingCount: number;
  Income: TokenTotal[];
  Spending: TokenTotal[];
  Days: (Record<"year" | "month" | "day", number> & Record<"Income" | "Spending", TokenTotal[]>)[];
  Months: (Record<"year" | "month", number> & Record<"Income" | "Spending", TokenTotal[]>)[];
}

const DAY = 24 * 60 * 60_000;
const END = Date.UTC(2026, 10, 20);
const ASSETS = [`0x${"a1".repeat(20)}`, `0x${"b2".repeat(20)}`];

interface Attempt {
  at: number;
  direction: string;
  status: string;
  caip2Id: string;
  asset: string;
  amount: bigint;
}

async function insert(attempts: readonly Attempt[]): Promise<void> {
  const rows = attempts.map(({ at, direction, status, caip2Id, asset, amount }) =>
    env.DB.prepare(
      `INSERT INTO x402_payment_attempt (id, direction, status, caip2_id, asset, amount, pay_to,
         payment_payload_hash, charged, revision, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, '0x', ?, 0, 0, ?, ?)`,
    ).bind(newId(at), direction, status, caip2Id, asset, `${amount}`, crypto.randomUUID(), at, at),
  );
  if (rows.length > 0) await env.DB.batch(rows);
}

const read = async (query: Record<string, string>, token?: string) =>
  api<Totals>(`/x402/totals?${new URLSearchParams(query)}`, undefined, token ? { token } : {});

beforeAll(emptyTables);
beforeEach(() => env.DB.prepare("DELETE FROM x402_payment_attempt").run());

const attempt = fc.record({
  at: fc.integer({ min: END - 395 * DAY, max: END + DAY }),
  direction: fc.constantFrom("InboundSettle", "InboundVerify", "OutboundPayment"),
  status: fc.constantFrom("Verified", "Settled", "Failed", "Replayed"),
  caip2Id: fc.constantFrom("eip155:1", "eip155:8453"),
  asset: fc.constantFrom(...ASSETS),
  amount: fc.oneof(
    fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }),
    fc.bigInt({ min: 1n, max: 10n ** 11n }),
  ),
});

describe("GET /x402/totals", () => {
  it("sums what a plain sum in the time zone's calendar does", async () => {
    const property = fc.asyncProperty(
      fc.array(attempt, { maxLength: 60 }),
      fc.constantFrom(
        "Etc/UTC",
        "Europe/Berlin",
        "America/New_York",
        "Asia/Kathmandu",
        "Pacific/Apia",
      ),
      fc.integer({ min: 0, max: 390 * DAY }),
      async (attempts, timeZone, length) => {
        await env.DB.prepare("DELETE FROM x402_payment_attempt").run();
        await insert(attempts);
        const from = END - length;
        const period = {
          createdFrom: new Date(from).toISOString(),
          createdTo: new Date(END).toISOString(),
        };
        const totals = await expectOk(await read({ ...period, timeZone }));
        expect(totals).toEqual({ ...period, ...sumPlainly(attempts, from, timeZone) });
      },
    );
    await fc.assert(property, runs(15, 200));
  });

  it("sums the last 30 days of one chain", async () => {
    const now = Date.now();
    const settled = { direction: "InboundSettle", status: "Settled", asset: ASSETS[0] ?? "" };
    await insert([
      { ...settled, at: now - 29 * DAY, caip2Id: "eip155:1", amount: 5n },
      { ...settled, at: now - 31 * DAY, caip2Id: "eip155:1", amount: 7n },
      { ...settled, at: now - DAY, caip2Id: "eip155:8453", amount: 9n },
    ]);
    const { Income, incomeCount } = await expectOk(await read({ caip2Network: "eip155:1" }));
    expect({ Income, incomeCount }).toEqual({
      Income: [{ caip2Network: "eip155:1", asset: ASSETS[0], amount: "5" }],
      incomeCount: 1,
    });
  });

  it.each([
    [{ createdFrom: "2025-01-01", createdTo: "2026-02-06" }, "at most 400 days"],
    [{ createdFrom: "2026-01-02", createdTo: "2026-01-01" }, "must not be after createdTo"],
    [{ timeZone: "Mars/Olympus" }, "IANA time zone"],
  ])("refuses %j", async (query, message) => {
    const answer = await read(query as unknown as Record<string, string>);
    expect([answer.status, answer.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it("is for Admins", async () => {
    expect((await read({}, await insertKey({ canPay: true }))).status).toBe(403);
  });
});

/** The sums without SQL. */
function sumPlainly(attempts: readonly Attempt[], from: number, timeZone: string) {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone });
  const counted = attempts.filter(({ at }) => at >= from && at < END);
  const income = counted.filter(
    ({ direction, status }) => direction === "InboundSettle" && status === "Settled",
  );
  const spending = counted.filter(
    ({ direction, status }) =>
      direction === "OutboundPayment" && ["Verified", "Settled"].includes(status),
  );
  const toTotals = (of: (one: Attempt) => boolean) => ({
    Income: toTokens(income.filter(of)),
    Spending: toTokens(spending.filter(of)),
  });
  const dateOf = ({ at }: Attempt) => format.format(at);
  const buckets = (length: number) => {
    const names = [...income, ...spending].map((one) => dateOf(one).slice(0, length));
    return [...new Set(names)].sort().map((name) => {
      const [year, month, day] = name.split("-").map(Number);
      const date = day === undefined ? { year, month } : { year, month, day };
      return { ...date, ...toTotals((one) => dateOf(one).startsWith(name)) };
    });
  };
  return {
    incomeCount: income.length,
    spendingCount: spending.length,
    SponsoredGas: [],
    ...toTotals(() => true),
    Days: buckets(10),
    Months: buckets(7),
  };
}

function toTokens(attempts: readonly Attempt[]): TokenTotal[] {
  const tokens = Map.groupBy(attempts, ({ caip2Id, asset }) => `${caip2Id} ${asset}`);
  return [...tokens]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, some]) => {
      const [caip2Network = "", asset = ""] = name.split(" ");
      return {
        caip2Network,
        asset,
        amount: `${some.reduce((sum, { amount }) => sum + amount, 0n)}`,
      };
    });
}
