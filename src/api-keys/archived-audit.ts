import type { MovedKind } from "../archive/moved-kind.ts";
import { audit } from "../db/tables.ts";

/** The audit log. Only an erasure changes an entry, in the database and then in the archives. */
export const MOVED_AUDIT: MovedKind = {
  kind: "audit",
  scopes: ["Core"],
  isOfScopeSql: "? = 'Core'",
  isImmutable: true,
  table: audit,
  addedColumns: {},
  revisionSql: "(detail IS NULL)",
  children: [],
  ownerColumn: "",
  rangeColumns: { id: "id" },
  portionRecords: 200,
  maxAgeMs: Number.POSITIVE_INFINITY,
  finalRows: "audit",
  changedAt: "at",
  isFinalSql: () => "TRUE",
  stepsSql: "0",
  summarySql: "NULL",
  buildMoveStatements: () => [],
};
