import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { SERVICE_EVENT_KINDS } from "./event-kinds.ts";

/**
 * Something happened to a record: written in the batch of the change itself, and fanned out to the
 * subscribed endpoints by the dispatcher. Ledger.
 *
 * `seq` is assigned in commit order, so the dispatcher needs one cursor and no index. The newest
 * row is never purged, since the next `seq` is one above the largest.
 */
export const event = sqliteTable(
  "event",
  {
    seq: integer("seq").primaryKey(),
    /** Made once, in the batch that writes the event; never derived from the transaction. */
    id: text("id").notNull(),
    kind: text("kind").notNull(),
    /** A network's name, a CAIP-2 id, or `service` for what is about the service itself. */
    network: text("network").notNull(),
    sourceId: text("source_id"),
    /** The API key it is for, besides Admins; null: all that may use the network. */
    ownerId: text("owner_id"),
    /**
     * JSON array of the wallets that the event concerns; null: none. A key bound to wallets receives only
     * events about its wallets.
     */
    walletIds: text("wallet_ids"),
    recordId: text("record_id").notNull(),
    /** 1, 2, 3 … per record. */
    sequence: integer("sequence").notNull(),
    /** JSON text of the record as GET showed it at that moment. */
    data: text("data").notNull(),
    createdAt: integer("created_at").notNull(),
    /** Why it could not be fanned out; null: nothing failed. Such an event is set aside. */
    dispatchError: text("dispatch_error"),
  },
  (table) => [index("event_set_aside").on(table.seq).where(sql`dispatch_error IS NOT NULL`)],
);

/**
 * Something of the service itself that an operator has to look at. A row stays when it is over: should
 * it come again, that is the next one of its `sequence`. Core.
 */
export const incident = sqliteTable(
  "incident",
  {
    kind: text("kind", { enum: SERVICE_EVENT_KINDS }).notNull(),
    /** What it is about, such as the id of a source. */
    subject: text("subject").notNull(),
    /** Epoch milliseconds of when it was last found to begin. */
    since: integer("since").notNull(),
    /** Epoch milliseconds; null while it goes on. */
    overAt: integer("over_at"),
    /** How often it has begun. */
    sequence: integer("sequence").notNull(),
    /** The run that found it to begin: only that one tells of it. */
    lastOp: text("last_op").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.subject] }),
    index("incident_open").on(table.kind).where(sql`over_at IS NULL`),
  ],
);

/** One row: the `seq` of the last event that was fanned out. Ledger. */
export const eventCursor = sqliteTable("event_cursor", {
  id: integer("id").primaryKey(),
  seq: integer("seq").notNull(),
});
