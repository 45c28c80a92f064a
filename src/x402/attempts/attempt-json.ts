import { getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Statement } from "../../db/client.ts";
import { isoTimeSql, type SqlExpression } from "../../db/clock.ts";
import { writeEventWithSqlData } from "../../events/outbox.ts";
import { toIsoTime } from "../../http/envelope.ts";
import type { AttemptOrder, AttemptOutcome } from "../model/messages.ts";
import { attemptRecord, settlementFields } from "../model/schemas.ts";
import { x402Attempt, x402Settlement } from "../model/tables.ts";
import { settlement } from "./schemas.ts";

/*
 * D1 renders the record of an attempt, so that lists and events show the same. The batch that writes a
 * change also reads the record for its event.
 */

/** Join of attempts and settlements. A replay shows the original settlement. */
export const SETTLEMENT_JOIN_CONDITION =
  "x402_settlement.attempt_id = ifnull(x402_payment_attempt.replay_of, x402_payment_attempt.id)";

/** A member of a JSON object: its name and the SQL of its value. */
type JsonField = readonly [name: string, sql: string];

/** The members of a record, each of the column of its name. */
function toJsonFields<Name extends string>(
  record: Record<Name, unknown>,
  columns: Record<NoInfer<Name>, SQLiteColumn>,
): JsonField[] {
  const names = Object.keys(record) as Name[];
  return names.map((name) => [name, toJsonValueSql(columns[name])]);
}

function toJsonValueSql({ table, name, dataType }: SQLiteColumn): string {
  const value = `${getTableName(table)}.${name}`;
  if (dataType === "boolean") return `json(iif(${value}, 'true', 'false'))`;
  return name.endsWith("_at") ? isoTimeSql(value) : value;
}

const attemptColumns = { ...getTableColumns(x402Attempt), caip2Network: x402Attempt.caip2Id };
const settlementColumns = getTableColumns(x402Settlement);

/** SQL of a settlement as its attempt shows it, JSON. */
export const SETTLEMENT_JSON_SQL = addJsonFieldsSql(
  "json_object()",
  toJsonFields(settlementFields, settlementColumns),
);

/** SQL of a settlement as the list of settlements shows it, JSON. */
export const LISTED_SETTLEMENT_JSON_SQL = addJsonFieldsSql(
  "json_object()",
  toJsonFields(settlement.shape, { ...attemptColumns, ...settlementColumns }),
);

/** SQL of an attempt as the interface shows it, JSON. */
export const ATTEMPT_JSON_SQL = addJsonFieldsSql("json_object()", [
  ...toJsonFields(attemptRecord.omit({ Settlement: true }).shape, attemptColumns),
  ["Settlement", `iif(x402_settlement.id IS NULL, json('null'), ${SETTLEMENT_JSON_SQL})`],
]);

/** SQL of a JSON object with more members; a D1 function takes at most 32 arguments. */
function addJsonFieldsSql(object: string, fields: readonly JsonField[]): string {
  let sql = object;
  for (let i = 0; i < fields.length; i += 15) {
    const members = fields.slice(i, i + 15).map(([name, value]) => `'$.${name}', ${value}`);
    sql = `json_set(${sql}, ${members.join(", ")})`;
  }
  return sql;
}

/**
 * X402_PAYMENT_SETTLED or X402_PAYMENT_FAILED. Its record is the attempt as `GET /x402/payments`
 * shows it after the preceding statements of the batch, which must have written the attempt.
 *
 * @param sequence - 1, 2, 3 … per attempt
 * @param now - epoch milliseconds
 */
export function insertOutcomeEvent(
  order: AttemptOrder,
  outcome: AttemptOutcome,
  sequence: number,
  now: number,
): Statement {
  return writeEventWithSqlData(
    {
      kind: outcome.success ? "X402_PAYMENT_SETTLED" : "X402_PAYMENT_FAILED",
      network: order.requirements.network,
      sourceId: null,
      ownerId: order.caller.id,
      recordId: order.attemptId,
      sequence,
    },
    outcomeDataSql(order, outcome, now),
    now,
  );
}

function outcomeDataSql(
  { attemptId }: AttemptOrder,
  outcome: AttemptOutcome,
  now: number,
): SqlExpression {
  const { success, transaction } = outcome;
  // Additional fields for receivers.
  const own: [name: string, value: unknown][] = [
    ["attemptId", attemptId],
    ["txHash", transaction === "" ? null : transaction],
    ["settledAt", success ? toIsoTime(now) : null],
  ];
  const record = addJsonFieldsSql(ATTEMPT_JSON_SQL, [
    ...own.map(([name]) => [name, "?"] as const),
    ["success", `json('${success}')`],
  ]);
  return {
    sql: `(SELECT ${record} FROM x402_payment_attempt
      LEFT JOIN x402_settlement ON ${SETTLEMENT_JOIN_CONDITION} WHERE x402_payment_attempt.id = ?)`,
    params: [...own.map(([, value]) => value), attemptId],
  };
}
