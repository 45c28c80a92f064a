import type { PlacedTransaction } from "../ledger/view.ts";
import { BlockfrostError, type BlockfrostRequest } from "./request.ts";

const MAX_COUNT = 100;
const MAX_PAGE = 21_474_836;

/**
 * Selects the page of `count`, `page` and `order` from rows in ascending order.
 *
 * @throws BlockfrostError 400 when a parameter is out of its bounds
 */
export function paged<T>({ query }: BlockfrostRequest, rows: readonly T[]): T[] {
  const count = bounded(query, "count", MAX_COUNT, MAX_COUNT);
  const page = bounded(query, "page", 1, MAX_PAGE);
  const order = query.get("order") ?? "asc";
  if (order !== "asc" && order !== "desc") {
    throw new BlockfrostError(
      400,
      "querystring/order must be equal to one of the allowed values (asc, desc)",
    );
  }
  const start = (page - 1) * count;
  return (order === "asc" ? rows : rows.toReversed()).slice(start, start + count);
}

function bounded(query: URLSearchParams, name: string, fallback: number, max: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  if (!/^\d+$/.test(text)) throw new BlockfrostError(400, `querystring/${name} must be integer`);
  const value = Number(text);
  if (value < 1) throw new BlockfrostError(400, `querystring/${name} must be >= 1`);
  if (value > max) throw new BlockfrostError(400, `querystring/${name} must be <= ${max}`);
  return value;
}

/**
 * Selects the transactions from `from` to `to`, each `block` or `block:index` and inclusive. A bare
 * block means all of its transactions.
 *
 * @throws BlockfrostError 400 when a bound is malformed or `from` comes after `to`
 */
export function inRange(
  { query }: BlockfrostRequest,
  transactions: readonly PlacedTransaction[],
): readonly PlacedTransaction[] {
  const from = position(query.get("from"), 0);
  const to = position(query.get("to"), Number.POSITIVE_INFINITY);
  if (from && to && compare(from, to) > 0) {
    throw new BlockfrostError(400, "Invalid (malformed or out of range) from/to parameter(s).");
  }
  return transactions.filter(({ block, index }) => {
    const at = { height: block.height, index };
    return (!from || compare(at, from) >= 0) && (!to || compare(at, to) <= 0);
  });
}

interface Position {
  height: number;
  index: number;
}

function position(text: string | null, indexWhenBare: number): Position | null {
  if (text === null) return null;
  const match = /^(\d+)(?::(\d+))?$/.exec(text);
  if (!match) {
    throw new BlockfrostError(400, "Invalid (malformed or out of range) from/to parameter(s).");
  }
  return {
    height: Number(match[1]),
    index: match[2] === undefined ? indexWhenBare : Number(match[2]),
  };
}

function compare(a: Position, b: Position): number {
  return a.height - b.height || Math.sign(a.index - b.index) || 0;
}
