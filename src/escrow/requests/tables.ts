import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** What the request that made a record left beside its terms. Ledger. */
export const escrowRequest = sqliteTable(
  "escrow_request",
  {
    recordId: text("record_id").primaryKey(),
    /** The record's. */
    requestedById: text("requested_by_id").notNull(),
    /** What the caller noted, up to 16 KiB. Shown to the record's owner and to Admins alone. */
    metadata: text("metadata"),
    /** Change stamp of the batch that made the record, as the request is answered. */
    madeAt: integer("made_at").notNull(),
    /** Of a purchase: network and hash of the identifier, which a network has one purchase of. */
    purchaseOf: text("purchase_of"),
    /** Of a purchase: the credits that its key was charged; null: none. */
    credits: integer("credits"),
    /** Of a purchase: whether its price was charged to its key's spending limits. */
    isSpent: integer("is_spent", { mode: "boolean" }),
  },
  (table) => [uniqueIndex("escrow_request_purchase").on(table.purchaseOf)],
);
