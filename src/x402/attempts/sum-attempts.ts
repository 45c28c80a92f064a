import type * as z from "zod";
import { overlapsIds } from "../../archive/read-snapshot.ts";
import { openDb, statement } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { createCalendar, type LocalDate } from "../../local-date.ts";
import { readAttempts } from "./read-attempts.ts";
import type { AttemptTotals, totalsQuery } from "./schemas.ts";

const DAY_MS = 24 * 60 * 60_000;
const MAX_PERIOD_DAYS = 400;
const DEFAULT_PERIOD_MS = 30 * DAY_MS;
/** Days × chains × tokens that one answer lists. */
const MAX_SUMS = 20_000;
/** Clocks of all time zones show the same quarters of an hour. */
const QUARTER_HOUR_MS = 15 * 60_000;
/** A local day may have 25 hours. */
const MAX_QUARTERS_PER_DAY = 26 * 4;

/** A sum of payments in one token. */
type TokenTotal = AttemptTotals["Income"][number];
/** What was received and what was paid. */
type PeriodTotals = Pick<AttemptTotals, "Income" | "Spending">;

/**
 * Sums payments to sellers and of managed wallets, by the time of their attempts.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a period of more than 400 days, or with too many sums
 */
export async function sumAttempts(
  c: AppContext,
  query: z.output<typeof totalsQuery>,
  now: number,
): Promise<AttemptTotals> {
  const to = query.createdTo ?? Math.max(now, query.createdFrom ?? now);
  const from = query.createdFrom ?? to - DEFAULT_PERIOD_MS;
  if (from > to) throw new ApiError(400, "createdFrom: must not be after createdTo");
  if (to - from > MAX_PERIOD_DAYS * DAY_MS)
    throw new ApiError(
      400,
      `createdFrom: must be at most ${MAX_PERIOD_DAYS} days before createdTo`,
    );
  const days = splitIntoDays(from, to, query.timeZone);
  const [sums, gas] = await Promise.all([
    readSums(c, days, query.caip2Network),
    readSponsoredGas(c, from, to, query.caip2Network),
  ]);
  if (sums.length > MAX_SUMS)
    throw new ApiError(
      400,
      `createdFrom: the period has more than ${MAX_SUMS} sums. Name a chain or a shorter period.`,
    );
  const toBuckets = (toDate: (date: Required<LocalDate>) => LocalDate) => {
    const dated = sums.map((sum) => ({ sum, date: toDate(days[sum.day]?.date ?? NO_DATE) }));
    const buckets = Map.groupBy(dated, ({ date }) => JSON.stringify(date));
    return [...buckets.values()].map((some) => ({
      ...(some[0]?.date ?? NO_DATE),
      ...toTotals(some.map(({ sum }) => sum)),
    }));
  };
  const countOf = (isIncome: boolean) =>
    sums.reduce((all, sum) => all + (sum.isIncome === isIncome ? sum.count : 0), 0);
  return {
    createdFrom: toIsoTime(from),
    createdTo: toIsoTime(to),
    incomeCount: countOf(true),
    spendingCount: countOf(false),
    ...toTotals(sums),
    SponsoredGas: gas,
    Days: toBuckets((date) => date) as AttemptTotals["Days"],
    Months: toBuckets(({ year, month }) => ({ year, month })),
  };
}

const NO_DATE: Required<LocalDate> = { year: 0, month: 0, day: 0 };

/** A part of a local day, epoch milliseconds. */
interface DayPart {
  date: Required<LocalDate>;
  from: number;
  to: number;
}

/** Splits a period where the local date changes. */
function splitIntoDays(from: number, to: number, timeZone: string): DayPart[] {
  const dateOf = createCalendar(timeZone);
  if (!dateOf) throw new ApiError(400, "timeZone: must be the name of an IANA time zone");
  const dateAt = (time: number) => dateOf(time / 1000);
  const days: DayPart[] = [];
  for (let at = from; at < to; ) {
    const date = dateAt(at);
    const name = JSON.stringify(date);
    const quarter = Math.floor(at / QUARTER_HOUR_MS);
    let [same, other] = [0, MAX_QUARTERS_PER_DAY];
    while (other - same > 1) {
      const middle = (same + other) >> 1;
      const isSame = JSON.stringify(dateAt((quarter + middle) * QUARTER_HOUR_MS)) === name;
      [same, other] = isSame ? [middle, other] : [same, middle];
    }
    const end = Math.min((quarter + other) * QUARTER_HOUR_MS, to);
    days.push({ date, from: at, to: end });
    at = end;
  }
  return days;
}

interface AttemptSum extends Omit<TokenTotal, "amount"> {
  /** Index of the day. */
  day: number;
  isIncome: boolean;
  count: number;
  amount: bigint;
}

/** An amount has at most 78 digits, and SQLite sums 64-bit numbers: it sums each group of digits. */
const GROUP_DIGITS = 10;
const GROUPS = 8;
const PADDING = "0".repeat(GROUPS * GROUP_DIGITS);
const GROUP_SUMS_SQL = Array.from({ length: GROUPS }, (_, i) => {
  const digits = `substr('${PADDING}' || amount, ${-(i + 1) * GROUP_DIGITS}, ${GROUP_DIGITS})`;
  return `CAST(sum(CAST(${digits} AS INTEGER)) AS TEXT)`;
}).join(", ");

async function readSums(
  c: AppContext,
  days: readonly DayPart[],
  caip2Network: string | undefined,
): Promise<AttemptSum[]> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const rows = await readAttempts<
    Omit<AttemptSum, "amount" | "isIncome"> & { isIncome: number; groups: string }
  >(c.env, core, {
    overlap: overlapsIds({
      from: days[0]?.from,
      before: firstIdAt(days.at(-1)?.to ?? 0),
    }),
    select: (condition) =>
      statement(
        `SELECT day.key AS day, direction = 'InboundSettle' AS isIncome, caip2_id AS caip2Network, asset,
           count(*) AS count, json_array(${GROUP_SUMS_SQL}) AS groups
         FROM json_each(?) AS day CROSS JOIN x402_payment_attempt AS attempt
           ON attempt.id >= day.value->>0 AND attempt.id < day.value->>1
         WHERE ${condition} AND ((direction = 'InboundSettle' AND status = 'Settled')
             OR (direction = 'OutboundPayment' AND status IN ('Verified', 'Settled')))
           AND caip2_id = ifnull(?, caip2_id)
         GROUP BY day.key, isIncome, caip2_id, asset ORDER BY day.key, caip2_id, asset LIMIT ${MAX_SUMS + 1}`,
        JSON.stringify(days.map(({ from, to }) => [firstIdAt(from), firstIdAt(to)])),
        caip2Network ?? null,
      ),
  });
  const sums = rows.map(({ groups, isIncome, ...row }) => ({
    ...row,
    isIncome: isIncome === 1,
    amount: (JSON.parse(groups) as string[]).reduceRight(
      (sum, group) => sum * 10n ** BigInt(GROUP_DIGITS) + BigInt(group),
      0n,
    ),
  }));
  return addSums(sums);
}

/** Adds the sums of several databases. */
function addSums(sums: readonly AttemptSum[]): AttemptSum[] {
  const buckets = Map.groupBy(sums, ({ day, isIncome, caip2Network, asset }) =>
    JSON.stringify([day, isIncome, caip2Network, asset]),
  );
  return [...buckets.values()]
    .flatMap((some) => {
      const [first] = some;
      if (!first) return [];
      const count = some.reduce((all, one) => all + one.count, 0);
      return { ...first, count, amount: some.reduce((all, one) => all + one.amount, 0n) };
    })
    .toSorted((a, b) => a.day - b.day);
}

/** Costs of gas by chain, in wei. SQLite sums 64-bit numbers: gwei, and the last nine digits. */
async function readSponsoredGas(
  c: AppContext,
  from: number,
  to: number,
  caip2Network: string | undefined,
): Promise<AttemptTotals["SponsoredGas"]> {
  const rows = await openDb(c.env, undefined, { deadline: c.var.deadline }).all<{
    caip2Network: string;
    gwei: string;
    rest: string;
  }>(
    `SELECT caip2_id AS caip2Network,
       CAST(sum(iif(wei IS NULL, gwei, CAST(substr(wei, 1, length(wei) - 9) AS INTEGER))) AS TEXT) AS gwei,
       CAST(sum(ifnull(CAST(substr(wei, -9) AS INTEGER), 0)) AS TEXT) AS rest
     FROM x402_sponsored_gas
     WHERE attempt_id >= ? AND attempt_id < ? AND caip2_id = ifnull(?, caip2_id)
     GROUP BY caip2_id ORDER BY caip2_id`,
    firstIdAt(from),
    firstIdAt(to),
    caip2Network ?? null,
  );
  return rows.map(({ caip2Network, gwei, rest }) => ({
    caip2Network,
    amount: String(BigInt(gwei) * 10n ** 9n + BigInt(rest)),
  }));
}

function toTotals(sums: readonly AttemptSum[]): PeriodTotals {
  return {
    Income: toTokenTotals(sums.filter(({ isIncome }) => isIncome)),
    Spending: toTokenTotals(sums.filter(({ isIncome }) => !isIncome)),
  };
}

function toTokenTotals(sums: readonly AttemptSum[]): TokenTotal[] {
  const tokens = Map.groupBy(sums, ({ caip2Network, asset }) => `${caip2Network} ${asset}`);
  return [...tokens]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([token, some]) => {
      const [caip2Network = "", asset = ""] = token.split(" ");
      const amount = some.reduce((all, one) => all + one.amount, 0n);
      return { caip2Network, asset, amount: String(amount) };
    });
}
