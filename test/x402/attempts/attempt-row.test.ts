import fc from "fast-check";
import { describe, it } from "vitest";
import { MAX_RESOURCE_BYTES, toStoredResource } from "../../../src/x402/attempts/attempt-row.ts";
import { runs } from "../../support/effort.ts";

const sizeOf = (text: string) => new TextEncoder().encode(text).length;

describe("the stored URL of a resource", () => {
  it("is the URL, or its longest head that fits with a mark", () => {
    const letters = fc.constantFrom("x", "é", "€", "😀");
    const urls = fc.tuple(letters, letters, fc.nat(3 * MAX_RESOURCE_BYTES));
    fc.assert(
      fc.property(urls, ([first, letter, length]) => {
        const url = first + letter.repeat(length);
        const stored = toStoredResource(url);
        if (sizeOf(url) <= MAX_RESOURCE_BYTES) return stored === url;
        const next = String.fromCodePoint(url.codePointAt(stored.length - 1) ?? 0);
        return (
          url.startsWith(stored.slice(0, -1)) &&
          stored.endsWith("…") &&
          sizeOf(stored) <= MAX_RESOURCE_BYTES &&
          sizeOf(stored + next) > MAX_RESOURCE_BYTES
        );
      }),
      runs(100, 5_000),
    );
  });
});
