import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { packHexSql, unpackHexSql } from "../../src/db/hex-column.ts";

/** Mostly hex, of both cases and lengths. */
const TEXT = fc.oneof(
  fc.string(),
  fc.stringMatching(/^[0-9a-f]{0,70}$/),
  fc.stringMatching(/^[0-9a-fA-F]{0,8}$/),
);

it("A packed column returns every text as it was stored, and lower-case hex takes half the bytes", async () => {
  await fc.assert(
    fc.asyncProperty(TEXT, async (text) => {
      const row = await env.DB.prepare(
        `WITH packed AS (SELECT ${packHexSql("?1")} AS column)
         SELECT ${unpackHexSql("column")} AS text, octet_length(column) AS bytes FROM packed`,
      )
        .bind(text)
        .first<{ text: string; bytes: number }>();
      const isHex = /^([0-9a-f]{2})*$/.test(text);
      const length = new TextEncoder().encode(text).length;
      expect(row).toEqual({ text, bytes: isHex ? length / 2 : length });
    }),
  );
});
