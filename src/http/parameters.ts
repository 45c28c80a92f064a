import { z } from "@hono/zod-openapi";

/** A string of bounded length; the interface's ids and names are at most 250 characters. */
export function text(max = 250, min = 1) {
  return z.string().min(min).max(max);
}

/** A whole number in a query string. */
export function wholeNumber(options: { min: number; max: number; default: number }) {
  const { min, max } = options;
  return z
    .string()
    .regex(/^-?\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(options.default)
    .openapi({ type: "integer", minimum: min, maximum: max, default: options.default });
}

/** How many items a list returns. Bounds of lists outside the interface: default 10, 1..100. */
export function limit(max = 100, byDefault = 10) {
  return wholeNumber({ min: 1, max, default: byDefault });
}

/** Query parameters of a list, newest first; `cursorId` is the last id seen and does not return. */
export const page = {
  limit: limit(),
  cursorId: text().optional().openapi({ description: "Id of the last item of the previous page." }),
};

/** `true` or `false` in a query string. */
export function flag(byDefault: boolean) {
  return z
    .enum(["true", "false"])
    .default(byDefault ? "true" : "false")
    .transform((value) => value === "true")
    .openapi({ type: "string", enum: ["true", "false"], default: String(byDefault) });
}

/** A point in time in a query string or a body, as epoch milliseconds. */
export function time(byDefault?: string) {
  const schema = z
    .string()
    .transform((value, problems) => {
      const milliseconds = parseTime(value);
      if (milliseconds !== null) return milliseconds;
      problems.addIssue("must be an ISO 8601 date, with a time zone when it has a time");
      return z.NEVER;
    })
    .openapi({ type: "string", format: "date-time" });
  return byDefault === undefined
    ? schema
    : schema.prefault(byDefault).openapi({ default: byDefault });
}

const ISO_8601 =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2})?(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2}))?$/i;

/**
 * Epoch milliseconds of an ISO 8601 time with zone `Z` or an offset, or of a bare date (midnight
 * UTC). Digits beyond milliseconds are cut. Null when it is anything else.
 */
export function parseTime(text: string): number | null {
  // A `+` that was not percent-encoded arrives from a query string as a space.
  const match = ISO_8601.exec(text.replace(/ (\d{2}:?\d{2})$/, "+$1"));
  if (!match) return null;
  const [, day = "", minutes = "00:00", seconds = ":00", fraction = "", zone = "Z"] = match;
  const milliseconds = `.${fraction.slice(1, 4).padEnd(3, "0")}`;
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const at = Date.parse(`${day}T${minutes}${seconds}${milliseconds}${offset}`);
  // Date.parse lets 30 February pass as 1 March.
  const rightDay = Date.parse(`${day}T00:00:00.000Z`);
  if (Number.isNaN(at) || Number.isNaN(rightDay)) return null;
  return new Date(rightDay).toISOString().startsWith(day) ? at : null;
}
