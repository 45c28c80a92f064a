/** A calendar month in UTC, `YYYY-MM`, and its bounds in epoch milliseconds. */
export interface Month {
  text: string;
  /** The first millisecond. */
  startAt: number;
  /** The first millisecond of the next month. */
  endAt: number;
}

/** A month from 1970 on: Date.UTC would read the years 0 to 99 as those of the last century. */
export const MONTH_PATTERN = /^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])$/;

/** Reads a text of `MONTH_PATTERN`. */
export function parseMonth(text: string): Month {
  const [year = 0, month = 0] = text.split("-").map(Number);
  return { text, startAt: Date.UTC(year, month - 1), endAt: Date.UTC(year, month) };
}

/** `YYYY-MM-DD` of a point in time, UTC. From epoch milliseconds. */
export function formatDay(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

/** The last day of a month, `YYYY-MM-DD`. */
export function formatLastDay(month: Month): string {
  return formatDay(month.endAt - 1);
}
