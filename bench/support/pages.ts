/** Where diff pages begin, and what they read. */

import { openDb } from "../../src/db/client.ts";
import type { Side } from "../../src/escrow/model/escrow-record.ts";
import { type DiffQuery, readDiffPage } from "../../src/escrow/queries/diff-page.ts";
import { countingD1 } from "../../test/support/d1.ts";

/** A record as a client knows it from the page before. */
export interface PageStart {
  id: string;
  /** Epoch milliseconds. */
  stamp: number;
}

/** What the data of a diff page looks like, as far as the bench looks at it. */
export interface DiffData {
  [list: string]: {
    id: string;
    onChainStateOrResultLastChangedAt: string;
    CurrentTransaction: object | null;
    TransactionHistory: object[];
    ActionHistory?: object[];
  }[];
}

export const DIFFS: Record<Side, { path: string; list: string }> = {
  payment: { path: "/api/v1/payment/diff/onchain-state-or-result", list: "Payments" },
  purchase: { path: "/api/v1/purchase/diff/onchain-state-or-result", list: "Purchases" },
};

/** Every record of a side, in the order of its diff. */
export async function pageStarts(d1: D1Database, side: Side): Promise<PageStart[]> {
  const { results } = await d1
    .prepare(
      `SELECT id, chain_changed_at AS stamp FROM escrow WHERE side = ?
       ORDER BY chain_changed_at, id`,
    )
    .bind(side)
    .all<PageStart>();
  return results;
}

/** Path and query of the page that begins with a record. */
export function pagePath(
  side: Side,
  start: PageStart,
  options: { limit: number; includeHistory: boolean },
): string {
  const query = new URLSearchParams({
    network: "Preprod",
    limit: String(options.limit),
    includeHistory: String(options.includeHistory),
    lastUpdate: new Date(start.stamp).toISOString(),
    cursorId: start.id,
  });
  return `${DIFFS[side].path}?${query}`;
}

/** D1 rows that the query of a page reads, as D1 counts them. */
export async function rowsReadBy(
  d1: D1Database,
  side: Side,
  start: PageStart,
  options: Omit<DiffQuery, "network" | "lastUpdate" | "cursorId" | "env">,
): Promise<number> {
  const counting = countingD1(d1);
  await readDiffPage(openDb({ DB: counting.d1 }), side, "chain_changed_at", {
    network: "Preprod",
    lastUpdate: start.stamp,
    cursorId: start.id,
    env: {},
    ...options,
  });
  return counting.rowsRead();
}
