import type { MovedKind } from "../../archive/moved-kind.ts";
import { OPEN_SETTLEMENT_SQL, x402Attempt, x402Settlement } from "../model/tables.ts";

const DAY_MS = 24 * 60 * 60_000;

/**
 * Attempts with their settlements. An attempt stays as long as its authorization could be used, and a day more: until
 * then its row refuses another payment with the authorization.
 */
export const MOVED_ATTEMPTS: MovedKind = {
  kind: "x402",
  scopes: ["Core"],
  isOfScopeSql: "? = 'Core'",
  isImmutable: true,
  table: x402Attempt,
  addedColumns: {},
  revisionSql: "revision",
  children: [x402Settlement],
  ownerColumn: "attempt_id",
  rangeColumns: { id: "id", changed_at: "updated_at" },
  portionRecords: 200,
  maxAgeMs: 3 * DAY_MS,
  finalRows: "x402_payment_attempt",
  changedAt: "updated_at",
  isFinalSql: (now) =>
    `watched_until IS NULL AND NOT (${OPEN_SETTLEMENT_SQL})
     AND (valid_before IS NULL OR valid_before < ${Math.floor((now - DAY_MS) / 1000)})`,
  stepsSql: "1",
  summarySql: "NULL",
  buildMoveStatements: () => [],
};
