import type * as z from "zod";
import { ResponseTooLargeError } from "../provider.ts";
import type { Requester } from "../request.ts";

/** A page of a list. */
interface PageRequest {
  /** From 1. */
  page: number;
  /** Rows of a page. */
  count: number;
  /** Of the chain. */
  order: "asc" | "desc";
}

/**
 * Reads a page of a list whose rows have no bound: anybody can send an address outputs of a hundred kilobytes
 * each. What is too large at once is read in smaller pages.
 *
 * @returns null when the provider answers 404
 * @throws as `get`; ResponseTooLargeError when a single row is
 */
export async function getPage<Row>(
  get: Requester,
  path: string,
  shape: z.ZodType<Row[]>,
  { page, count, order }: PageRequest,
): Promise<Row[] | null> {
  try {
    return await get(`${path}?${toPageQuery({ page, count, order })}`, shape);
  } catch (error) {
    if (!(error instanceof ResponseTooLargeError) || count === 1) throw error;
  }
  const parts = findSmallestFactor(count);
  const rows: Row[] = [];
  for (let part = 1; part <= parts; part++) {
    const smaller = { page: (page - 1) * parts + part, count: count / parts, order };
    const found = await getPage(get, path, shape, smaller);
    if (found === null) return part === 1 ? null : rows;
    rows.push(...found);
    if (found.length < smaller.count) break;
  }
  return rows;
}

/** The query of a page of any list. */
export function toPageQuery({ page, count, order }: PageRequest): URLSearchParams {
  return new URLSearchParams({ order, count: String(count), page: String(page) });
}

/** Pages of another size begin where the larger ones do only if they divide them. */
function findSmallestFactor(count: number): number {
  for (let factor = 2; factor * factor <= count; factor++) if (count % factor === 0) return factor;
  return count;
}
