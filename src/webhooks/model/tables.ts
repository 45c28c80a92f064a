import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { EVENT_KINDS } from "../../events/event-kinds.ts";

/** The states of a delivery: the first two are open, the others final. */
export const DELIVERY_STATUSES = ["Pending", "Retrying", "Success", "Failed", "Cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** What `POST /webhooks/test` sends; nobody subscribes to it. */
export const TEST_EVENT_KIND = "WEBHOOK_TEST";

/** How a delivered event is written: JSON with the whole record, or a chat message about it. */
export const WEBHOOK_FORMATS = ["EXTENDED", "CHAT", "GOOGLE_CHAT", "DISCORD"] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** SQL: a delivery tells of a payment or purchase. Only those are found by their record: an index costs two more rows each. */
export const ESCROW_KIND_CONDITION = "(kind GLOB 'PAYMENT_*' OR kind GLOB 'PURCHASE_*')";

/** A receiver of events. Core. */
export const webhookEndpoint = sqliteTable(
  "webhook_endpoint",
  {
    id: text("id").primaryKey(),
    /** Sealed for (`webhook_endpoint`, id, `url`), since chat URLs are secrets; empty once deleted. */
    url: text("url").notNull(),
    /** HMAC of creator, URL, source and format: a duplicate is refused. */
    targetHash: text("target_hash").notNull(),
    name: text("name").notNull(),
    format: text("format", { enum: WEBHOOK_FORMATS }).notNull(),
    /** JSON array of event kinds. */
    events: text("events").notNull(),
    /** Gets the events of this payment source only; null: of all, and those without a source. */
    sourceId: text("source_id"),
    /** Sealed for (…, `auth_token`): sent as a bearer token when there is one. */
    authToken: text("auth_token"),
    /** Sealed for (…, `secret`): `whsec_` and 32 bytes in base64. */
    secret: text("secret").notNull(),
    /** Sealed for (…, `secret`) too: also signs until `previousSecretUntil`. */
    previousSecret: text("previous_secret"),
    previousSecretUntil: integer("previous_secret_until"),
    isActive: integer("is_active", { mode: "boolean" }).notNull(),
    /** Deliveries that finally failed since the last success. */
    failureCount: integer("failure_count").notNull(),
    lastSuccessAt: integer("last_success_at"),
    disabledAt: integer("disabled_at"),
    /** Why the service disabled the webhook. Null: not disabled. */
    disabledReason: text("disabled_reason"),
    /** Attempts timed out since the last that was answered. */
    timeouts: integer("timeouts").notNull().default(0),
    /** Since when every attempt has timed out; null while they are answered. */
    silentSince: integer("silent_since"),
    /** Until when it backs off; null when it does not. */
    pausedUntil: integer("paused_until"),
    /** Time before which the sweep does not enqueue the webhook again. */
    enqueuedUntil: integer("enqueued_until"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** Its deliveries are deleted first, in chunks, then the row. */
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("webhook_endpoint_target").on(table.targetHash).where(sql`deleted_at IS NULL`),
    index("webhook_endpoint_disabled").on(table.disabledAt).where(sql`disabled_at IS NOT NULL`),
  ],
);

export type EndpointRow = typeof webhookEndpoint.$inferSelect;

/**
 * The event kinds of each active endpoint, by whose events it may receive. Triggers write it; see
 * `subscription-triggers.ts`. The service stores no event of another kind. Core.
 */
export const webhookSubscription = sqliteTable(
  "webhook_subscription",
  {
    kind: text("kind", { enum: EVENT_KINDS }).notNull(),
    /** The endpoint's payment source; empty: all. */
    sourceId: text("source_id").notNull(),
    /** `admin`, or with its value `key:`, `network:` or `wallet:`. */
    audience: text("audience").notNull(),
    endpointId: text("endpoint_id").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.sourceId, table.audience, table.endpointId] }),
    index("webhook_subscription_endpoint").on(table.endpointId),
  ],
);

/**
 * An event on its way to an endpoint. Core; the event itself is in the ledger of `network`.
 *
 * A claim lasts until `claimedUntil` and increments `attempt`, and the outcome is written only
 * under the same `attempt`. The claim's time is in no index, so a claim writes one row.
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
    /** As the event has it, like those above. */
    walletIds: text("wallet_ids"),
    /** The event's subject. */
    recordId: text("record_id").notNull(),
    status: text("status", { enum: DELIVERY_STATUSES }).notNull(),
    /** Claims so far; never decreases, so it fences. */
    attempt: integer("attempt").notNull(),
    /** Failed attempts of the schedule; a replay restarts at 0. */
    failedAttempts: integer("failed_attempts").notNull(),
    /** When it may be sent next; null when it is final. */
    dueAt: integer("due_at"),
    claimedUntil: integer("claimed_until").notNull(),
    lastAttemptAt: integer("last_attempt_at"),
    /** HTTP status of the last answer; null when there was none. */
    responseStatus: integer("response_status"),
    /** Why the last attempt failed; null after a success. */
    error: text("error"),
    durationMs: integer("duration_ms"),
    /** JSON array of the newest attempts, oldest first; null before the first. See `delivery/attempt-log.ts`. */
    attemptLog: text("attempt_log"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.endpointId, table.eventId] }),
    index("webhook_delivery_due").on(table.endpointId, table.dueAt).where(sql`due_at IS NOT NULL`),
    // Deliveries of a payment or purchase, newest first.
    index("webhook_delivery_record")
      .on(table.recordId, table.eventId, table.endpointId)
      .where(sql.raw(ESCROW_KIND_CONDITION)),
  ],
);
