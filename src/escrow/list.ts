import type { z } from "zod";
import { PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { pageColumns, readPage, type Viewer } from "./diff.ts";
import { hashOf } from "./fold/escrow-outputs.ts";
import type { Side } from "./record.ts";
import type { listQuery } from "./schemas.ts";

/**
 * One page of a list, newest first by id, after `cursorId`. As in `diffPage`, an arm per type walks
 * one index from where the page begins. Each filter has an index that ends in the id, so a page reads
 * no more rows than it returns; with a contract and a state, the rows in the state are scanned and
 * filtered by contract.
 *
 * @returns JSON text of the records, comma separated
 */
export function listPage(
  db: Database,
  side: Side,
  query: z.output<typeof listQuery> & { viewer?: Viewer },
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
  // By itself, SQLite would scan all ids in order rather than sort the one row that matches.
  const table =
    query.blockchainIdentifier === undefined ? "escrow" : "escrow INDEXED BY escrow_identifier";
  const arms = types.map(
    (_, i) => `SELECT ${pageColumns(query)} FROM ${table}
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
