/** The time that the overview's figures are of. */
import { route } from "../../ui/route.ts";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export const PERIODS = {
  day: { label: "24 hours", days: 1 },
  week: { label: "7 days", days: 7 },
  month: { label: "30 days", days: 30 },
  all: { label: "All", days: null },
} as const;
export type Period = keyof typeof PERIODS;

/** The period of the URL. */
export function readPeriod(): Period {
  const { period = "" } = route.value.query;
  return Object.hasOwn(PERIODS, period) ? (period as Period) : "week";
}

/** A span of time as ISO 8601: `from` is inside, `to` is not. Undefined: without that end. */
export interface Span {
  from: string | undefined;
  to: string | undefined;
}

/**
 * The span of a period, and the one of the same length before it; null: all time has none. Both are
 * rounded to the minute, so that an unchanged answer is known again.
 */
export function spansOf(period: Period): { current: Span; previous: Span | null } {
  const { days } = PERIODS[period];
  if (days === null) return { current: { from: undefined, to: undefined }, previous: null };
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const isoOf = (daysAgo: number) => new Date(now - daysAgo * DAY_MS).toISOString();
  return {
    current: { from: isoOf(days), to: undefined },
    previous: { from: isoOf(2 * days), to: isoOf(days) },
  };
}
