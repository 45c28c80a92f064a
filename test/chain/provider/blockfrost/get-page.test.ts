import fc from "fast-check";
import { expect, it } from "vitest";
import * as z from "zod";
import { getPage } from "../../../../src/chain/provider/blockfrost/get-page.ts";
import { ResponseTooLargeError } from "../../../../src/chain/provider/provider.ts";
import type { Requester } from "../../../../src/chain/provider/request.ts";
import { runs } from "../../../support/effort.ts";

/** A list of rows of some sizes, of which a provider's answer holds so much. */
function listing(sizes: readonly number[], most: number, isKnown = true): Requester {
  return async (path, shape) => {
    const query = new URL(path, "https://provider.example").searchParams;
    const [page, count] = [Number(query.get("page")), Number(query.get("count"))];
    expect(Number.isInteger(page) && Number.isInteger(count)).toBe(true);
    if (!isKnown) return null;
    const rows = sizes.map((size, i) => ({ i, size })).slice((page - 1) * count, page * count);
    if (rows.reduce((sum, { size }) => sum + size, 0) > most)
      throw new ResponseTooLargeError("answer is too large");
    return shape.parse(rows.map(({ i }) => i));
  };
}

const ROWS = z.array(z.number());

it("a page is the same, whatever its rows' sizes, and in how many parts it is read", async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 250 });
  await fc.assert(
    fc.asyncProperty(
      sizes,
      fc.constantFrom(1, 7, 20, 99, 100),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 100, max: 5_000 }),
      async (rows, count, page, most) => {
        const found = await getPage(listing(rows, most), "/list", ROWS, {
          page,
          count,
          order: "asc",
        });
        const first = (page - 1) * count;
        expect(found).toEqual(rows.map((_, i) => i).slice(first, first + count));
      },
    ),
    runs(200, 2_000),
  );
});

it("of a list that is not known is none, and a row that is too large alone is told", async () => {
  const page = { page: 1, count: 100, order: "asc" } as const;
  expect(await getPage(listing([], 1, false), "/list", ROWS, page)).toBeNull();
  await expect(getPage(listing([1, 9], 5), "/list", ROWS, page)).rejects.toThrow(
    ResponseTooLargeError,
  );
});
