import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  booleanParameter,
  limitParameter,
  parseTime,
  textParameter,
  timeParameter,
} from "../../src/http/openapi/parameters.ts";
import { REPEATED_PARAMETER, validate } from "../../src/http/validation.ts";

describe("parseTime", () => {
  it.each([
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["2024-02-29T12:30Z", Date.UTC(2024, 1, 29, 12, 30)],
    ["2024-02-29T12:30:15Z", Date.UTC(2024, 1, 29, 12, 30, 15)],
    ["2024-02-29T12:30:15.5Z", Date.UTC(2024, 1, 29, 12, 30, 15, 500)],
    ["2024-02-29T12:30:15.123456789Z", Date.UTC(2024, 1, 29, 12, 30, 15, 123)],
    ["2024-02-29T12:30:15.12345678901234567890Z", Date.UTC(2024, 1, 29, 12, 30, 15, 123)],
    ["2024-02-29T12:30:15+02:00", Date.UTC(2024, 1, 29, 10, 30, 15)],
    ["2024-02-29T12:30:15-0930", Date.UTC(2024, 1, 29, 22, 0, 15)],
    ["2024-02-29T12:30:15 02:00", Date.UTC(2024, 1, 29, 10, 30, 15)],
    ["2024-02-29t12:30:15z", Date.UTC(2024, 1, 29, 12, 30, 15)],
    ["1970-01-01T00:00:00.000Z", 0],
  ])("reads %s", (value, milliseconds) => {
    expect(parseTime(value)).toBe(milliseconds);
  });

  it.each([
    "2024-02-29T12:30:15",
    "2023-02-29",
    "2024-02-30T00:00:00Z",
    "2024-13-01",
    "2024-01-01T24:30:00Z",
    "2024-01-01T00:00:00+25:00",
    "1700000000000",
    "yesterday",
    "",
    " 2024-01-01",
    "2024-01-01T00:00:00Z; DROP",
  ])("refuses %j", (value) => {
    expect(parseTime(value)).toBeNull();
  });

  it("reads back every time that we print", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (milliseconds) => {
        expect(parseTime(new Date(milliseconds).toISOString())).toBe(milliseconds);
      }),
    );
  });
});

describe("query parameters", () => {
  const query = z.object({
    limit: limitParameter(50),
    includeHistory: booleanParameter(false),
    lastUpdate: timeParameter("1970-01-01T00:00:00.000Z"),
  });

  it("have their defaults", async () => {
    expect(await validate(query, {}, "query")).toEqual({
      limit: 10,
      includeHistory: false,
      lastUpdate: 0,
    });
  });

  it.each([
    [{ limit: "0" }, "limit: must be at least 1"],
    [{ limit: "51" }, "limit: must be at most 50"],
    [{ limit: "-1" }, "limit: must be at least 1"],
    [{ limit: "1.5" }, "limit: must be a whole number"],
    [{ limit: "1e1" }, "limit: must be a whole number"],
    [{ limit: "" }, "limit: must be a whole number"],
    [{ limit: REPEATED_PARAMETER }, "limit: must be sent only once"],
    [{ includeHistory: "yes" }, "includeHistory: must be one of true, false"],
    [{ includeHistory: "True" }, "includeHistory: must be one of true, false"],
    [
      { lastUpdate: "now" },
      "lastUpdate: must be an ISO 8601 date, with a time zone when it has a time",
    ],
    [
      { limit: "0", includeHistory: "1" },
      "limit: must be at least 1; includeHistory: must be one of true, false",
    ],
  ])("are refused as %j", async (sent, message) => {
    await expect(validate(query, sent, "query")).rejects.toThrow(
      expect.objectContaining({ status: 400, message }),
    );
  });
});

describe("body fields", () => {
  const body = z.object({
    id: textParameter(5),
    count: z.int().min(1).optional(),
    rate: z.number().max(1).optional(),
    list: z
      .array(z.object({ kind: z.enum(["A", "B"]) }))
      .max(1)
      .optional(),
    on: z.boolean().optional(),
    note: textParameter().nullable().optional(),
    byUnit: z.record(z.string(), z.number().positive()).optional(),
  });

  it.each([
    [{}, "id: is required"],
    [{ id: null }, "id: must be a string"],
    [{ id: 5 }, "id: must be a string"],
    [{ id: "" }, "id: must have at least 1 character"],
    [{ id: "123456" }, "id: must have at most 5 characters"],
    [{ id: "a", count: 1.5 }, "count: must be a whole number"],
    [{ id: "a", count: "1" }, "count: must be a number"],
    [{ id: "a", rate: 2 }, "rate: must be at most 1"],
    [{ id: "a", on: "true" }, "on: must be true or false"],
    [{ id: "a", note: 1 }, "note: must be a string"],
    [{ id: "a", list: {} }, "list: must be a list"],
    [{ id: "a", list: [{}] }, "list[0].kind: is required"],
    [{ id: "a", list: [{ kind: "C" }] }, "list[0].kind: must be one of A, B"],
    [{ id: "a", list: [{ kind: "A" }, { kind: "A" }] }, "list: must have at most 1 item"],
    [{ id: "a", byUnit: { "": 0 } }, 'byUnit[""]: must be more than 0'],
    [[], "body: must be an object"],
    ["text", "body: must be an object"],
    [null, "body: must be an object"],
  ])("of %j are refused with the field and the reason", async (sent, message) => {
    await expect(validate(body, sent, "body")).rejects.toThrow(
      expect.objectContaining({ status: 400, message }),
    );
  });

  it("that nobody knows are dropped", async () => {
    const sent = JSON.parse('{"id":"a","extra":1,"__proto__":{"x":1}}');
    expect(await validate(body, sent, "body")).toEqual({ id: "a" });
  });

  it("are reported up to five problems, and the other problems are counted", async () => {
    const many = z.object({ list: z.array(z.string()) });
    const sent = { list: Array.from({ length: 50 }, () => 1) };
    await expect(validate(many, sent, "body")).rejects.toThrow(
      /^(list\[\d\]: must be a string; ){5}and 45 more$/,
    );
  });

  const odd = z.object({
    list: z.array(textParameter()).max(5).optional(),
    either: z.union([z.boolean(), z.number()]).optional(),
    form: z
      .union([
        z.strictObject({ id: textParameter(3) }),
        z.object({ url: textParameter(), name: textParameter() }),
        z.strictObject({ list: z.array(z.object({ id: textParameter(3) })) }),
        z.string(),
      ])
      .optional(),
    kind: z.discriminatedUnion("is", [z.object({ is: z.literal("A") })]).optional(),
    share: z.number().positive().lt(1).optional(),
    step: z.number().multipleOf(5).optional(),
    exact: z.string().length(2).optional(),
    url: z.url().optional(),
    mail: z.email().optional(),
    day: z.iso.date().optional(),
    hex: z
      .string()
      .regex(/^[0-9a-f]+$/, "must be hex")
      .optional(),
    rates: z.record(textParameter(3), z.number()).optional(),
  });

  it.each([
    [{ list: "a long text" }, "list: must be a list"],
    [{ either: "a" }, "either: must be true or false, or must be a number"],
    [{ form: { id: "long" } }, "form.id: must have at most 3 characters"],
    [{ form: { name: "a" } }, "form.url: is required"],
    [{ form: { list: [{ id: "a" }, {}] } }, "form.list[1].id: is required"],
    [{ form: { ids: "a", id: "a" } }, "form.ids: this field is not known"],
    [{ form: 5 }, "form: must be an object, or must be a string"],
    [{ kind: { is: "B" } }, "kind.is: must be A"],
    [{ kind: {} }, "kind.is: is required"],
    [{ share: 0 }, "share: must be more than 0"],
    [{ share: 1 }, "share: must be less than 1"],
    [{ step: 4 }, "step: must be a multiple of 5"],
    [{ exact: "a" }, "exact: must have exactly 2 characters"],
    [{ url: "a" }, "url: must be a URL"],
    [{ mail: "a" }, "mail: must be an e-mail address"],
    [{ day: "a" }, "day: must be a date, YYYY-MM-DD"],
    [{ hex: "z" }, "hex: must be hex"],
    [{ rates: { abcd: 1 } }, "rates.abcd: its name must have at most 3 characters"],
    [{ rates: { abc: "1" } }, "rates.abc: must be a number"],
    [
      { rates: { ["x".repeat(61)]: 1 } },
      `rates.${"x".repeat(60)}…: its name must have at most 3 characters`,
    ],
  ])("of %j get one sentence, which says what is right", async (sent, message) => {
    await expect(validate(odd, sent, "body")).rejects.toThrow(
      expect.objectContaining({ status: 400, message }),
    );
  });
});
