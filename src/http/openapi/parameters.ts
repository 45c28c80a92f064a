import * as z from "zod";
import { createCalendar } from "../../local-date.ts";
import { described } from "./fields.ts";

/** A string of bounded length; the interface's ids and names are at most 250 characters. */
export function textParameter(max = 250, min = 1) {
  return z.string().min(min).max(max);
}

/** A text in a request that may be left out. */
export function optionalTextParameter(what: string, ...examples: string[]) {
  return described(textParameter().optional(), what, ...examples);
}

function integerParameter(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(min).max(max));
}

/** A whole number in a query string. */
export function wholeNumberParameter(options: { min: number; max: number; default: number }) {
  const { min, max } = options;
  return integerParameter(min, max)
    .default(options.default)
    .meta({
      wire: { type: "integer", minimum: min, maximum: max, default: options.default },
      description: "Maximum number of items on a page.",
      examples: [options.default],
    });
}

/** How many items a list returns. For lists outside the interface: default 10, 1..100. */
export function limitParameter(max = 100, byDefault = 10) {
  return wholeNumberParameter({ min: 1, max, default: byDefault });
}

/** The same in a body, where it is a number; the interface's bound of such lists is 50. */
export const bodyLimit = described(
  z.int().min(1).max(50).default(10),
  "Maximum number of items on a page.",
  10,
);

/** The last item seen, in the query or the body of a list. */
export function cursorParameter(max = 250) {
  return described(
    textParameter(max).optional(),
    "Id of the last item of the previous page. This page continues after the item.",
    "01m80ye14arhma0jvpxvf6nc73",
  );
}

/** Query parameters of a list, newest first; the item of `cursorId` is not repeated. */
export const pageParameters = { limit: limitParameter(), cursorId: cursorParameter() };

/** The same where clients send `take` for `limit`, as the service that they come from has it. */
export const pageParametersWithTake = {
  ...pageParameters,
  take: integerParameter(1, 100)
    .optional()
    .meta({
      wire: { type: "integer", minimum: 1, maximum: 100 },
      description: "Another name of `limit`, which overrides `limit`.",
      examples: [100],
    }),
};

/**
 * How a client pages through a diff, for the API reference.
 *
 * @param stamp - the field that orders the diff
 * @param since - the parameter that takes the stamp
 * @param begins - where a page without a cursor begins
 */
export function describeDiffPaging(stamp: string, since: string, begins: "at" | "after"): string {
  const [sign, without] =
    begins === "at"
      ? [">=", "Items with that stamp come again, and a client with `limit` 1 makes no progress"]
      : [">", "The page omits items that share that stamp with the last item seen"];
  return `Items are ordered by \`${stamp}\`, then id, oldest first. A changed item gets a newer stamp.

* **To page**, send the last item's \`${stamp}\` as \`${since}\` and its id as \`cursorId\`. The page has the items with a later stamp, or with the same stamp and an id \`>=\` the cursor's. It repeats the cursor item first, unless this item changed.
* With \`cursorId\` and \`limit\` 1, a page has two items while more follow, so that a client makes progress.
* Without \`cursorId\`, a page has the items whose stamp is \`${sign}\` \`${since}\`. ${without}.
* A page without items, or with the cursor item alone, is the end for now. Repeat the request later.`;
}

/** The cursor of a diff. */
export function diffCursorParameter(since: string, max = 250) {
  return described(
    textParameter(max).optional(),
    `Id of the last item of the previous page, whose stamp is \`${since}\`. This page repeats the item.`,
    "01m80ye14arhma0jvpxvf6nc73",
  );
}

/** `true` or `false` in a query string. */
export function booleanParameter(byDefault: boolean) {
  return z
    .enum(["true", "false"])
    .default(byDefault ? "true" : "false")
    .transform((value) => value === "true")
    .meta({
      wire: { type: "string", enum: ["true", "false"], default: String(byDefault) },
      examples: [byDefault ? "false" : "true"],
    });
}

/** `true` or `false` in a query string, as a filter. */
export function booleanFilter() {
  return z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional()
    .meta({ wire: { type: "string", enum: ["true", "false"] }, examples: ["true"] });
}

/** A point in time in a query string or a body, as epoch milliseconds. */
export function timeParameter(byDefault?: string) {
  const schema = z
    .string()
    .transform((value, problems) => {
      const milliseconds = parseTime(value);
      if (milliseconds !== null) return milliseconds;
      problems.addIssue("must be an ISO 8601 date, with a time zone when it has a time");
      return z.NEVER;
    })
    .meta({
      wire: { type: "string", format: "date-time" },
      examples: ["2026-11-22T06:17:26.922Z"],
    });
  return byDefault === undefined
    ? schema
    : schema
        .prefault(byDefault)
        .meta({ wire: { type: "string", format: "date-time", default: byDefault } });
}

const ISO_8601_PATTERN =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2})?(\.\d+)?(Z|[+-]\d{2}:?\d{2}))?$/i;

/**
 * Epoch milliseconds of an ISO 8601 time with zone `Z` or an offset, or of a bare date (midnight
 * UTC). Digits beyond milliseconds are cut. Null when it is anything else.
 */
export function parseTime(text: string): number | null {
  // An unencoded `+` in a query string arrives as a space.
  const match = ISO_8601_PATTERN.exec(text.replace(/ (\d{2}:?\d{2})$/, "+$1"));
  if (!match) return null;
  const [, day = "", minutes = "00:00", seconds = ":00", fraction = "", zone = "Z"] = match;
  const milliseconds = `.${fraction.slice(1, 4).padEnd(3, "0")}`;
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const at = Date.parse(`${day}T${minutes}${seconds}${milliseconds}${offset}`);
  // Date.parse accepts 30 February as 1 March.
  const rightDay = Date.parse(`${day}T00:00:00.000Z`);
  if (Number.isNaN(at) || Number.isNaN(rightDay)) return null;
  return new Date(rightDay).toISOString().startsWith(day) ? at : null;
}

/** The IANA time zone in whose days and months a request counts. */
export const timeZoneParameter = textParameter()
  .default("Etc/UTC")
  .refine((name) => createCalendar(name) !== null, "must be the name of an IANA time zone")
  .meta({
    format: "time-zone",
    description: "IANA time zone of the days and months.",
    examples: ["Europe/Berlin"],
  });

/** Query parameters of a list of what changed since a stamp, oldest first. */
export const diffParameters = {
  limit: limitParameter(),
  cursorId: diffCursorParameter("lastUpdate"),
  lastUpdate: described(
    timeParameter("1970-01-01T00:00:00.000Z"),
    "Stamp from which to return changes. Omitted: all changes.",
  ),
};
