/** A day or a month of a calendar. */
export interface LocalDate {
  year: number;
  month: number;
  /** Left out of a month. */
  day?: number;
}

/**
 * Tells the local date of times in a time zone; null when there is no such zone. An offset, which Intl takes
 * as well, is none: its days need not be whole quarters of an hour.
 */
export function createCalendar(
  timeZone: string,
): ((seconds: number) => Required<LocalDate>) | null {
  if (/^[+-]/.test(timeZone)) return null;
  let format: Intl.DateTimeFormat;
  try {
    const parts = { year: "numeric", month: "numeric", day: "numeric" } as const;
    format = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", { timeZone, ...parts });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return (seconds) => {
    const parts = format.formatToParts(seconds * 1000);
    const partOf = (type: "year" | "month" | "day") =>
      Number(parts.find((part) => part.type === type)?.value);
    return { day: partOf("day"), month: partOf("month"), year: partOf("year") };
  };
}
