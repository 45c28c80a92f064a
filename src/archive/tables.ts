import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { ARCHIVED_KINDS, ARCHIVED_SCOPES } from "./archive-tables.ts";

/**
 * What an archive has of a kind and a network: a row for each, so that a read asks no archive in vain. It is
 * written in the batch that deletes moved rows from the database. Ranges also cover rows that came back. Ledger.
 */
export const archiveRange = sqliteTable(
  "archive_range",
  {
    kind: text("kind", { enum: ARCHIVED_KINDS }).notNull(),
    network: text("network", { enum: ARCHIVED_SCOPES }).notNull(),
    /** The number of its binding: 1 of `ARCHIVE_1`. */
    archive: integer("archive").notNull(),
    /** Of the last move; the archive has at least this one, unless it was set back. */
    operation: integer("operation").notNull(),
    /** Of immutable records: the move that may delete them, the last one that was begun. */
    begun: integer("begun").notNull().default(0),
    /** Records that are in the archive, and nowhere else. */
    count: integer("count").notNull(),
    /** How often records came back from it. A read that meets another number begins again. */
    returned: integer("returned").notNull(),
    /** Of the archive after the last move: a session that begins there sees all moves. Null: unknown. */
    bookmark: text("bookmark"),
    // The least and greatest of its records; null: there was none.
    leastId: text("least_id"),
    greatestId: text("greatest_id"),
    leastChainChangedAt: integer("least_chain_changed_at"),
    greatestChainChangedAt: integer("greatest_chain_changed_at"),
    leastActionChangedAt: integer("least_action_changed_at"),
    greatestActionChangedAt: integer("greatest_action_changed_at"),
    leastChangedAt: integer("least_changed_at"),
    greatestChangedAt: integer("greatest_changed_at"),
    /** Unix seconds. */
    leastBlockTime: integer("least_block_time"),
    greatestBlockTime: integer("greatest_block_time"),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.network, table.archive] }),
    // A poller that has caught up finds none here. No stamp of a record is greater than `changed_at`.
    index("archive_range_changed").on(table.kind, table.network, table.greatestChangedAt),
  ],
);
