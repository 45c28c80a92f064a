import { index, integer, sqliteTable } from "drizzle-orm/sqlite-core";
import { AUDIT_COLUMNS } from "./tables.ts";

/** Entries of the audit log in an archive. */
export const archivedAudit = sqliteTable(
  "audit",
  {
    ...AUDIT_COLUMNS,
    /** Of the copy. */
    operation: integer("operation").notNull(),
  },
  (table) => [
    index("audit_operation").on(table.operation),
    index("audit_api_key").on(table.apiKeyId, table.id),
    index("audit_action").on(table.action, table.id),
  ],
);
