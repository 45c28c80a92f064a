import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, it } from "vitest";
import { statement } from "../../src/db/client.ts";
import { toSqlText } from "../../tools/import/target-database.ts";

const database = new DatabaseSync(":memory:");
// A null character ends SQL text, and no text of PostgreSQL has one.
const text = fc.string({ unit: "binary" }).filter((one) => !one.includes("\0"));
const value = fc.oneof(text, fc.integer().map(BigInt), fc.constant(null));

it("a statement with its parameters in place returns what the bound statement returns", () => {
  const sql = `SELECT ?2 AS a, '?' || ?1 AS "b?", 'it''s ?1' AS c -- ? and 'this
    , ?3 AS d`;
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      const bound = database.prepare(sql).get(a, b, c);
      const placed = toSqlText(statement(sql, a, b, c));
      expect(database.prepare(placed).get()).toEqual(bound);
    }),
  );
});

it("parameters without numbers are taken in their order", () => {
  const placed = toSqlText(statement("SELECT ? AS a, ? AS b", "it's ?", true));
  expect(database.prepare(placed).get()).toEqual({ a: "it's ?", b: 1 });
  expect(() => toSqlText(statement("SELECT ?, ?", 1))).toThrow("lacks its parameter 2");
});
