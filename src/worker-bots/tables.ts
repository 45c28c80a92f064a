import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A version that bots can run. The row is kept when archived. Core, as all tables here. */
export const workerBotVersion = sqliteTable("worker_bot_version", {
  /** Chosen by the operator, such as `v2-fast`. */
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  summary: text("summary"),
  status: text("status", { enum: ["Active", "Archived"] }).notNull(),
  createdById: text("created_by_id").notNull(),
  /** Epoch milliseconds, as all times. */
  createdAt: integer("created_at").notNull(),
  updatedAt: integer("updated_at").notNull(),
});

/** A worker bot and the version it runs. The row is kept when archived. */
export const workerBot = sqliteTable(
  "worker_bot",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    versionId: text("version_id").notNull(),
    status: text("status", { enum: ["Active", "Archived"] }).notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("worker_bot_version_bots").on(table.versionId, table.id)],
);

/** A call of the migration: who asked for what. */
export const workerBotMigration = sqliteTable("worker_bot_migration", {
  id: text("id").primaryKey(),
  toVersionId: text("to_version_id").notNull(),
  fromVersionId: text("from_version_id"),
  reason: text("reason").notNull(),
  requestedById: text("requested_by_id").notNull(),
  requestId: text("request_id").notNull(),
  createdAt: integer("created_at").notNull(),
});

/**
 * What a migration did to one bot: one row per bot it moved or failed to move, written in the batch
 * that moved it.
 */
export const workerBotMove = sqliteTable(
  "worker_bot_move",
  {
    /**
     * The migration's id and the bot's five-digit place in it. Being unique, it is the operation
     * key of the batch: a repeat aborts.
     */
    id: text("id").primaryKey(),
    migrationId: text("migration_id").notNull(),
    workerBotId: text("worker_bot_id").notNull(),
    fromVersionId: text("from_version_id").notNull(),
    outcome: text("outcome", { enum: ["Moved", "Failed"] }).notNull(),
    /** Why it failed; null when it did not. */
    message: text("message"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    index("worker_bot_move_bot").on(table.workerBotId, table.id),
    index("worker_bot_move_failed").on(table.id).where(sql`outcome = 'Failed'`),
  ],
);

/** Lets one migration run at a time: its only row names the one allowed to write. */
export const workerBotLock = sqliteTable("worker_bot_lock", {
  name: text("name", { enum: ["migration"] }).primaryKey(),
  migrationId: text("migration_id").notNull(),
  /** Epoch milliseconds from which another migration may begin. */
  leaseUntil: integer("lease_until").notNull(),
});
