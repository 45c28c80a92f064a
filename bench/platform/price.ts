/** What a month of a deployment costs: the price model. */
import type { Row } from "../support/table.ts";
import { BILLED, type Billed, UNITS, type Unit } from "./units.ts";

/** Dollars of the paid plan. */
const PLAN = 5;
/** Dollars per million, and the millions that the plan includes (published prices of Cloudflare). */
const PRICES: Record<keyof Billed, { perMillion: number; included: number }> = {
  requests: { perMillion: 0.3, included: 10 },
  "CPU ms": { perMillion: 0.02, included: 30 },
  "rows read": { perMillion: 0.001, included: 25_000 },
  "rows written": { perMillion: 1, included: 50 },
  "object requests": { perMillion: 0.15, included: 1 },
  "object GB-s": { perMillion: 12.5, included: 0.4 },
  "object rows read": { perMillion: 0.001, included: 25_000 },
  "object rows written": { perMillion: 1, included: 50 },
  "queue ops": { perMillion: 0.4, included: 1 },
  "log events": { perMillion: 0.6, included: 20 },
};
/** Dollars per GB and month. */
const STORAGE_PRICES = { database: 0.75, object: 0.2 };
/** Bytes of the database that stay of each for good, as the part `storage` measures. */
const STORED_BYTES: Partial<Record<Unit, number>> = {
  payment: 6_963,
  purchase: 6_349,
  settlement: 1_300,
};

/**
 * CPU milliseconds, as the parts diff, purchases, steps, x402 and webhooks measure them (docs/benchmarks.md): the
 * meter costs too. A payment is half of a lock, a result and a withdrawal; a purchase is half of a lock, and
 * reads as many steps. Those of the cron and of sources are the meter's.
 */
const CPU_MS: Partial<Record<Unit, number>> = {
  poll: 1.58,
  payment: 502,
  purchase: 172,
  settlement: 13.5,
  "event of few endpoints": 0.77,
  "event of many endpoints": 0.77,
};

/** The default of `LOG_POLLS`. The lines of a hundred metered polls are a matter of chance. */
const LOG_LINES_PER_POLL = 0.01;

const MONTH_S = 30 * 24 * 60 * 60;
const MONTH_MINUTES = MONTH_S / 60;
const PASSES_A_MINUTE = 3;
const EVENTS_PER_RECORD = 3.5;

/** What a deployment does in a month. */
export interface Deployment {
  name: string;
  units: Partial<Record<Unit, number>>;
  /** Rows that a run of the cron reads, where its database is larger than the metered one. */
  cronRowsRead?: number;
}

/** 1,000 operators with 10 million escrow records a year, half of each side, and polls from everywhere. */
function large(settlementsPerSecond: number): Deployment {
  const records = 10e6 / 12;
  const settlement = settlementsPerSecond * MONTH_S;
  return {
    name: `(b), ${settlementsPerSecond} settlements/s`,
    units: {
      poll: 200 * MONTH_S,
      payment: records / 2,
      purchase: records / 2,
      settlement,
      "event of many endpoints": EVENTS_PER_RECORD * records + settlement,
      "run of the cron": MONTH_MINUTES,
      "pass of a source": 50 * PASSES_A_MINUTE * MONTH_MINUTES,
      "move of an escrow": records,
      "move of an x402 payment": settlement,
    },
    // Counted with 5,000 wallets and their rules.
    cronRowsRead: 158_000,
  };
}

/** Settlements a second of (b) on average. */
const AVERAGE_SETTLEMENTS = 2;
/** Dollars a month that (b) may cost with so many. */
const MAX_TOTAL = 700;

export const DEPLOYMENTS: readonly Deployment[] = [
  {
    // One operator. Each of its 100 agents polls every ten seconds.
    name: "(a)",
    units: {
      poll: (100 / 10) * MONTH_S,
      payment: 30 * 1_000,
      "event of few endpoints": 30 * 1_000 * EVENTS_PER_RECORD,
      "run of the cron": MONTH_MINUTES,
      "pass of a source": PASSES_A_MINUTE * MONTH_MINUTES,
    },
  },
  large(AVERAGE_SETTLEMENTS),
  large(20),
];

/**
 * Dollars a month, by item. Storage is what a month adds to the bill of each month after it; the total is
 * without it.
 *
 * @param objectBytes - what a settlement leaves in the storage of objects
 */
export function pricesOf(
  units: Record<Unit, Billed>,
  { units: amounts, cronRowsRead }: Deployment,
  objectBytes: number,
): Record<string, number> {
  const amountOf = (unit: Unit) => amounts[unit] ?? 0;
  const billed = BILLED.map((item): [string, number] => {
    const used = UNITS.reduce((sum, unit) => {
      const replaced = {
        "CPU ms": CPU_MS[unit],
        "rows read": unit === "run of the cron" ? cronRowsRead : undefined,
        "log events": unit === "poll" ? LOG_LINES_PER_POLL : undefined,
      }[item as string];
      return sum + (replaced ?? units[unit][item]) * amountOf(unit);
    }, 0);
    const { perMillion, included } = PRICES[item];
    return [item, Math.max(used / 1e6 - included, 0) * perMillion];
  });
  const total = billed.reduce((sum, [, dollars]) => sum + dollars, PLAN);
  const stored = UNITS.reduce((sum, unit) => sum + (STORED_BYTES[unit] ?? 0) * amountOf(unit), 0);
  return {
    plan: PLAN,
    ...Object.fromEntries(billed),
    total,
    "added: D1 storage": (stored / 1e9) * STORAGE_PRICES.database,
    "added: object storage": ((amountOf("settlement") * objectBytes) / 1e9) * STORAGE_PRICES.object,
  };
}

/** A row for each item, and a column for each deployment. */
export function priceRows(units: Record<Unit, Billed>, objectBytes: number): Row[] {
  const prices = DEPLOYMENTS.map((one) => pricesOf(units, one, objectBytes));
  return Object.keys(prices[0] ?? {}).map((item) => ({
    item,
    ...Object.fromEntries(
      DEPLOYMENTS.map(({ name }, i) => [name, (prices[i]?.[item] ?? 0).toFixed(2)]),
    ),
  }));
}

/** What is above the price that (b) may have. */
export function excessOfPrice(units: Record<Unit, Billed>, objectBytes: number): string[] {
  const deployment = large(AVERAGE_SETTLEMENTS);
  const { total = 0 } = pricesOf(units, deployment, objectBytes);
  if (total <= MAX_TOTAL) return [];
  return [`platform: ${deployment.name} costs ${total.toFixed(0)} dollars, at most ${MAX_TOTAL}`];
}
