import { z } from "@hono/zod-openapi";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flag, limit, parseTime, text, time } from "../../src/http/parameters.ts";
import { validate } from "../../src/http/validation.ts";

describe("parseTime", () => {
  it.each([
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["2024-02-29T12:30Z", Date.UTC(2024, 1, 29, 12, 30)],
    ["2024-02-29T12:30:15Z", Date.UTC(2024, 1, 29, 12, 30, 15)],
    ["2024-02-29T12:30:15.5Z", Date.UTC(2024, 1, 29, 12, 30, 15, 500)],
    ["2024-02-29T12:30:15.123456789Z", Date.UTC(2024, 1, 29, 12, 30, 15, 123)],
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
    limit: limit(50),
    includeHistory: flag(false),
    lastUpdate: time("1970-01-01T00:00:00.000Z"),
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
    [{ limit: ["1", "2"] }, "limit: must be a string"],
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
    id: text(5),
    count: z.int().min(1).optional(),
    rate: z.number().max(1).optional(),
    list: z
      .array(z.object({ kind: z.enum(["A", "B"]) }))
      .max(1)
      .optional(),
    on: z.boolean().optional(),
    note: text().nullable().optional(),
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

  it("are listed up to twenty problems", async () => {
    const many = z.object({ list: z.array(z.string()) });
    const sent = { list: Array.from({ length: 1000 }, () => 1) };
    await expect(validate(many, sent, "body")).rejects.toThrow(/list\[19\].*; and 980 more$/);
  });
});
