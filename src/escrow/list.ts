import type { z } from "@hono/zod-openapi";
import { PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { PAGE_COLUMNS, readPage } from "./diff.ts";
import { hashOf } from "./known.ts";
import type { Side } from "./record.ts";
import type { listQuery } from "./schemas.ts";

/**
 * One page of a list, newest first by id, after `cursorId`. As in `diffPage`, an arm per type walks
 * one index from where the page begins. Each filter has an index that ends in the id, so a page reads
 * no more rows than it returns; of a contract and a state together, those in the state are walked and
 * looked at one by one.
 *
 * @returns JSON text of the records, comma separated
 */
export function listPage(
  db: Database,
  side: Side,
  query: z.output<typeof listQuery>,
): Promise<string> {
  const params: unknown[] = [side, query.network];
  const where = ["side = ?1", "network = ?2"];
  const filter = (condition: string, value: unknown) => {
    if (value === undefined) return;
    params.push(value);
    where.push(`${condition} ?${params.length}`);
  };
  filter("id =", query.id);
  filter("identifier_hash =", query.blockchainIdentifier && hashOf(query.blockchainIdentifier));
  filter("on_chain_state =", query.filterOnChainState);
  filter("contract_address =", query.filterSmartContractAddress);
  filter("id <", query.cursorId);
  const types = query.filterPaymentSourceType
    ? [query.filterPaymentSourceType]
    : PAYMENT_SOURCE_TYPES;
  // Left to choose, SQLite would rather walk all ids in order than sort the one that is found.
  const table =
    query.blockchainIdentifier === undefined ? "escrow" : "escrow INDEXED BY escrow_identifier";
  const arms = types.map(
    (_, i) => `SELECT ${PAGE_COLUMNS} FROM ${table}
      WHERE ${where.join(" AND ")} AND source_type = ?${params.length + 1 + i}`,
  );
  params.push(...types, query.limit);
  return readPage(
    db,
    side,
    query,
    `${arms.join(" UNION ALL ")} ORDER BY id DESC LIMIT ?${params.length}`,
    params,
  );
}
