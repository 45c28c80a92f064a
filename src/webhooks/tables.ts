import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { DELIVERY_STATUSES, WEBHOOK_FORMATS } from "./kinds.ts";

/**
 * Something happened to a record: written in the batch of the change itself, and fanned out to the
 * subscribed endpoints by the dispatcher. Ledger.
 *
 * `seq` is given out in commit order, so the dispatcher needs one cursor and no index. The newest
 * row is never purged, for the next `seq` is one more than the largest there is.
 */
export const event = sqliteTable("event", {
  seq: integer("seq").primaryKey(),
  /** Made once, with the batch that writes the event; never derived from the transaction. */
  id: text("id").notNull(),
  kind: text("kind").notNull(),
  /** A network's name or a CAIP-2 id. */
  network: text("network").notNull(),
  sourceId: text("source_id"),
  /** The API key that it is for, besides Admins; null: all that may use the network. */
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

/** A receiver of events. Core. */
export const webhookEndpoint = sqliteTable(
  "webhook_endpoint",
  {
    id: text("id").primaryKey(),
    /** Sealed for (`webhook_endpoint`, id, `url`), since chat URLs are secrets; empty once deleted. */
    url: text("url").notNull(),
    /** HMAC of creator, URL, source and format: a second endpoint with the same is refused. */
    targetHash: text("target_hash").notNull(),
    name: text("name").notNull(),
    format: text("format", { enum: WEBHOOK_FORMATS }).notNull(),
    /** JSON array of event kinds. */
    events: text("events").notNull(),
    /** Gets the events of this payment source only; null: of all, and those that have no source. */
    sourceId: text("source_id"),
    /** Sealed for (…, `auth_token`): sent as a bearer token when there is one. */
    authToken: text("auth_token"),
    /** Sealed for (…, `secret`): `whsec_` and 32 bytes in base64. */
    secret: text("secret").notNull(),
    /** Sealed for (…, `secret`) too: signs beside `secret` until `previousSecretUntil`. */
    previousSecret: text("previous_secret"),
    previousSecretUntil: integer("previous_secret_until"),
    isActive: integer("is_active", { mode: "boolean" }).notNull(),
    /** Deliveries that failed for good since the last success. */
    failureCount: integer("failure_count").notNull(),
    lastSuccessAt: integer("last_success_at"),
    disabledAt: integer("disabled_at"),
    /** Why we disabled it; null when we did not. */
    disabledReason: text("disabled_reason"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** Its deliveries go first, in chunks, and then the row. */
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("webhook_endpoint_target").on(table.targetHash).where(sql`deleted_at IS NULL`),
  ],
);

export type EndpointRow = typeof webhookEndpoint.$inferSelect;

/**
 * An event on its way to an endpoint. Core; the event itself is in the ledger of `network`.
 *
 * A claim lasts until `claimedUntil` and counts `attempt` up, and the outcome is written only under
 * the same `attempt`. The claim's time is in no index, so a claim writes one row.
 */
export const webhookDelivery = sqliteTable(
  "webhook_delivery",
  {
    endpointId: text("endpoint_id").notNull(),
    eventId: text("event_id").notNull(),
    eventSeq: integer("event_seq").notNull(),
    kind: text("kind").notNull(),
    network: text("network").notNull(),
    sourceId: text("source_id"),
    ownerId: text("owner_id"),
    status: text("status", { enum: DELIVERY_STATUSES }).notNull(),
    /** Claims so far; never goes back, so it fences. */
    attempt: integer("attempt").notNull(),
    /** Attempts of the schedule that have failed; a replay begins again at 0. */
    failedAttempts: integer("failed_attempts").notNull(),
    /** When it may be sent next; null when it is over. */
    dueAt: integer("due_at"),
    claimedUntil: integer("claimed_until").notNull(),
    lastAttemptAt: integer("last_attempt_at"),
    /** HTTP status of the last answer; null when there was none. */
    responseStatus: integer("response_status"),
    /** Why the last attempt failed; null after a success. */
    error: text("error"),
    durationMs: integer("duration_ms"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.endpointId, table.eventId] }),
    index("webhook_delivery_due").on(table.endpointId, table.dueAt).where(sql`due_at IS NOT NULL`),
  ],
);
