import type { z } from "@hono/zod-openapi";
import type { Database } from "../db/client.ts";
import { PAGE_COLUMNS, readPage } from "./diff.ts";
import { hashOf } from "./known.ts";
import type { Side } from "./record.ts";
import type { listQuery } from "./schemas.ts";

/**
 * One page of a list, newest first by id, after `cursorId`. Only the filters that were sent are in
 * the statement, so that it can use the index of the most selective one.
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
  filter("source_type =", query.filterPaymentSourceType);
  filter("id <", query.cursorId);
  params.push(query.limit);
  return readPage(
    db,
    side,
    query,
    `SELECT ${PAGE_COLUMNS} FROM escrow WHERE ${where.join(" AND ")}
     ORDER BY id DESC LIMIT ?${params.length}`,
    params,
  );
}
