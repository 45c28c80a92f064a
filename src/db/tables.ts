import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * One row per feed and network (`escrow:Preprod`): the last change stamp assigned, in epoch
 * milliseconds. Advanced only by `clock.ts`.
 */
export const clock = sqliteTable("clock", {
  feed: text("feed").primaryKey(),
  t: integer("t").notNull(),
});

/** Columns of `audit`. */
export const AUDIT_COLUMNS = {
  id: text("id").primaryKey(),
  at: integer("at").notNull(),
  apiKeyId: text("api_key_id").notNull(),
  requestId: text("request_id").notNull(),
  action: text("action").notNull(),
  target: text("target").notNull(),
  /** JSON, or null. */
  detail: text("detail"),
};

/** Who changed what: one row per Admin or +PAY mutation, written in its batch. Holds no secret. */
export const audit = sqliteTable("audit", AUDIT_COLUMNS, (table) => [
  index("audit_api_key").on(table.apiKeyId, table.id),
  index("audit_action").on(table.action, table.id),
]);

/**
 * Answers of POSTs that create or spend, kept for 24 hours per API key and `Idempotency-Key`.
 * Written in the effect's batch, so both exist or neither does.
 */
export const idempotency = sqliteTable(
  "idempotency",
  {
    apiKeyId: text("api_key_id").notNull(),
    key: text("key").notNull(),
    /** SHA-256 of method, path and body, hex: the same key with another request is refused. */
    requestHash: text("request_hash").notNull(),
    /** The answer's body, sealed, since it may hold a token or a mnemonic. */
    sealedAnswer: text("sealed_answer").notNull(),
    /** Epoch milliseconds. */
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.apiKeyId, table.key] }),
    index("idempotency_created_at").on(table.createdAt),
  ],
);

/**
 * How far a cron job came, and when; one without a row was never begun. Rows that begin with
 * `wallets.changed:` or `erasure:` are what one has to do.
 */
export const job = sqliteTable("job", {
  name: text("name").primaryKey(),
  /** What it was done for, such as the id of a sealing key, or JSON of how far it came. */
  subject: text("subject").notNull(),
  /** Epoch milliseconds. */
  doneAt: integer("done_at").notNull(),
});
