import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Something happened to a record: written in the batch of the change itself, and fanned out to the
 * subscribed endpoints by the dispatcher. Ledger.
 *
 * `seq` is assigned in commit order, so the dispatcher needs one cursor and no index. The newest
 * row is never purged, since the next `seq` is one above the largest.
 */
export const event = sqliteTable("event", {
  seq: integer("seq").primaryKey(),
  /** Made once, in the batch that writes the event; never derived from the transaction. */
  id: text("id").notNull(),
  kind: text("kind").notNull(),
  /** A network's name or a CAIP-2 id. */
  network: text("network").notNull(),
  sourceId: text("source_id"),
  /** The API key it is for, besides Admins; null: all that may use the network. */
  ownerId: text("owner_id"),
  recordId: text("record_id").notNull(),
  /** 1, 2, 3 … per record. */
  sequence: integer("sequence").notNull(),
  /** JSON text of the record as GET showed it at that moment. */
  data: text("data").notNull(),
  createdAt: integer("created_at").notNull(),
});

/** One row: the `seq` of the last event that was fanned out. Ledger. */
export const eventCursor = sqliteTable("event_cursor", {
  id: integer("id").primaryKey(),
  seq: integer("seq").notNull(),
});
