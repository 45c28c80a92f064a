import type { Network } from "../chain/network.ts";
import { type Statement, statement } from "../db/client.ts";
import { pageSql } from "./entries/read-entries.ts";

export interface RegistryDiffQuery {
  network: Network;
  /** Epoch milliseconds. */
  statusUpdatedAfter: number;
  limit: number;
  cursorId?: string | undefined;
}

/**
 * The entries changed since a point, by the five rules of the interface:
 *
 * 1. A client that sends the last item's stamp and id sees every change at least once.
 * 2. The cursor item is returned again, with all after it; one that changed stands at its new stamp.
 * 3. An unknown cursor is compared by its text with the ids at exactly `statusUpdatedAfter`.
 * 4. Without a cursor the items at `statusUpdatedAfter` are all in it.
 * 5. A cursor item whose stamp is before `statusUpdatedAfter` does not count.
 */
export function buildRegistryDiffQuery(query: RegistryDiffQuery): Statement {
  const { network, statusUpdatedAfter, cursorId } = query;
  // The cursor item is returned again: with limit 1 a client would not advance.
  const limit = cursorId === undefined ? query.limit : Math.max(query.limit, 2);
  return statement(
    pageSql(
      `e.network = ?1 AND (e.status_updated_at, e.id) >= (?2,
         iif((SELECT c.status_updated_at FROM registry_entry AS c
              WHERE c.id = ?3 AND c.network = ?1) < ?2, '', ?3))`,
      `ORDER BY e.status_updated_at, e.id LIMIT ${limit}`,
    ),
    network,
    statusUpdatedAfter,
    cursorId ?? "",
  );
}
