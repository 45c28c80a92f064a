import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Something happened to a record: written in the batch of the change itself. The dispatcher fans
 * it out to subscribed endpoints and sets `dispatchedAt`. Ledger.
 */
export const event = sqliteTable(
  "event",
  {
    /** Made once, with the batch that writes the event; never derived from the transaction. */
    id: text("id").primaryKey(),
    kind: text("kind").notNull(),
    network: text("network").notNull(),
    sourceId: text("source_id"),
    recordId: text("record_id").notNull(),
    /** 1, 2, 3 … per record. */
    sequence: integer("sequence").notNull(),
    /** JSON text of the record as GET showed it at that moment. */
    data: text("data").notNull(),
    createdAt: integer("created_at").notNull(),
    dispatchedAt: integer("dispatched_at"),
  },
  (table) => [index("event_undispatched").on(table.id).where(sql`dispatched_at IS NULL`)],
);
