import { openDb } from "../../../src/db/client.ts";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import { readDiffPage, type StampColumn } from "../../../src/escrow/queries/diff-page.ts";
import { type ListQuery, readListPage } from "../../../src/escrow/queries/list-page.ts";
import type { PageOptions, Viewer } from "../../../src/escrow/queries/page-rows.ts";
import { WALLETS } from "../../archive/story/archive-story.ts";

/** Which pages a client reads, and in which order. */
export type Reading = { side: Side; isOfWallet?: true } & (
  | { stamp: StampColumn }
  | { filter: Pick<ListQuery, "filterOnChainState"> }
);

/** Fields with the stamps. */
const STAMPS: Record<StampColumn, string> = {
  chain_changed_at: "onChainStateOrResultLastChangedAt",
  action_changed_at: "nextActionLastChangedAt",
  changed_at: "nextActionOrOnChainStateOrResultLastChangedAt",
};
/** A key that is bound to one wallet. */
const VIEWER = {
  id: "key-b",
  permission: "User",
  scope: { walletIds: [WALLETS[0]] },
} as unknown as Viewer;

/** Forward and backward, all records, those of a wallet and those of a filter. */
export const READINGS: readonly Reading[] = (["payment", "purchase"] as const).flatMap((side) => [
  { side, stamp: "changed_at" },
  { side, stamp: "changed_at", isOfWallet: true },
  { side, stamp: "chain_changed_at" },
  { side, stamp: "action_changed_at" },
  { side, filter: {} },
  { side, filter: {}, isOfWallet: true },
  { side, filter: { filterOnChainState: "Withdrawn" } },
]);

/** A record of a page, without the ids of what belongs to it. */
export interface Item {
  id: string;
  [field: string]: unknown;
}

/** A bound database with its archives. */
export type Bindings = { DB: D1Database } & PageOptions["env"];

/** The record after which a page begins; null: at the beginning. */
export type Place = Item | null;

/**
 * Reads a page.
 *
 * @param bookmark - of an earlier page; null: whatever a replica shows
 */
export async function readPage(
  env: Bindings,
  reading: Reading,
  { limit, after, bookmark = null }: { limit: number; after: Place; bookmark?: string | null },
): Promise<{ items: Item[]; bookmark: string | null }> {
  const db = openDb(env, "Preprod", { reads: bookmark === null ? "replica" : { bookmark } });
  const { side, isOfWallet } = reading;
  const options = {
    ...({ network: "Preprod", limit, includeHistory: true, env } as const),
    ...(isOfWallet && { viewer: VIEWER }),
    ...(after && { cursorId: after.id }),
  };
  const records =
    "stamp" in reading
      ? (
          await readDiffPage(db, side, reading.stamp, {
            ...options,
            lastUpdate: after ? stampOf(after, reading.stamp) : 0,
          })
        ).records
      : await readListPage(db, side, { ...options, ...reading.filter });
  return { items: parseItems(`[${records}]`), bookmark: db.bookmark() };
}

export const stampOf = (item: Item, stamp: StampColumn): number =>
  Date.parse(item[STAMPS[stamp]] as string);

/** Transactions and past actions have random ids. */
const HISTORIES = new Set(["CurrentTransaction", "TransactionHistory", "ActionHistory"]);

function parseItems(text: string): Item[] {
  return JSON.parse(text, (field, value) =>
    HISTORIES.has(field)
      ? JSON.parse(JSON.stringify(value, (name, one) => (name === "id" ? null : one)))
      : value,
  );
}
