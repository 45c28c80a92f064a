/** A calendar month in UTC, `YYYY-MM`, and its bounds in epoch milliseconds. */
export interface Month {
  text: string;
  /** The first millisecond. */
  startAt: number;
  /** The first millisecond of the next month. */
  endAt: number;
}

/** Reads `YYYY-MM`; null when it is not a month. */
export function parseMonth(text: string): Month | null {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text);
  if (!match) return null;
  const [year, month] = [Number(match[1]), Number(match[2])];
  // Date.UTC would read the years 0 to 99 as those of the last century.
  if (year < 1970) return null;
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
