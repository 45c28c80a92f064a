import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../chain/network.ts";

/** What archives hold. */
export const ARCHIVED_KINDS = ["escrow", "x402", "audit"] as const;
export type ArchivedKind = (typeof ARCHIVED_KINDS)[number];

/** Records of the core database belong to no network. */
export const ARCHIVED_SCOPES = [...NETWORKS, "Core"] as const;
export type ArchivedScope = (typeof ARCHIVED_SCOPES)[number];

/** In each archive: the last copy of a kind's records. It tells an archive that was set back. */
export const archiveOperation = sqliteTable(
  "archive_operation",
  {
    kind: text("kind", { enum: ARCHIVED_KINDS }).notNull(),
    network: text("network", { enum: ARCHIVED_SCOPES }).notNull(),
    /** Counted up by each copy, whatever becomes of it. */
    operation: integer("operation").notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.network] })],
);
