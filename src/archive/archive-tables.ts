import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { NETWORKS } from "../chain/network.ts";

/** What archives hold. */
export const ARCHIVED_KINDS = ["escrow"] as const;
export type ArchivedKind = (typeof ARCHIVED_KINDS)[number];

/** In each archive: the last copy of a kind's records. It tells an archive that was set back. */
export const archiveOperation = sqliteTable(
  "archive_operation",
  {
    kind: text("kind", { enum: ARCHIVED_KINDS }).notNull(),
    network: text("network", { enum: NETWORKS }).notNull(),
    /** Counted up by each copy, whatever becomes of it. */
    operation: integer("operation").notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.network] })],
);
