import type { Statement } from "../../db/client.ts";
import { isoTimeSql, type SqlExpression } from "../../db/clock.ts";
import { writeEventWithSqlData } from "../../events/outbox.ts";
import { toIsoTime } from "../../http/envelope.ts";
import type { AttemptOrder } from "../model/messages.ts";
import type { AttemptOutcome } from "./attempt-row.ts";

/*
 * D1 renders the record of an attempt, so that lists and events show the same. The batch that writes a
 * change also reads the record for its event.
 */

/** Join of attempts and settlements. A replay shows the original settlement. */
export const SETTLEMENT_JOIN_CONDITION =
  "x402_settlement.attempt_id = ifnull(x402_payment_attempt.replay_of, x402_payment_attempt.id)";

/** A member of a JSON object: its name and the SQL of its value. */
type JsonField = readonly [name: string, sql: string];

const SETTLEMENT_FIELDS: readonly JsonField[] = [
  ["id", "x402_settlement.id"],
  ["success", "json(iif(x402_settlement.success, 'true', 'false'))"],
  ["txHash", "x402_settlement.tx_hash"],
  ["amount", "x402_settlement.amount"],
  ["payer", "x402_settlement.payer"],
  ["createdAt", isoTimeSql("x402_settlement.created_at")],
];

/** SQL of a settlement as its attempt shows it, JSON. */
export const SETTLEMENT_JSON_SQL = addJsonFieldsSql("json_object()", SETTLEMENT_FIELDS);

const ATTEMPT_FIELDS: readonly JsonField[] = [
  ["id", "x402_payment_attempt.id"],
  ["createdAt", isoTimeSql("x402_payment_attempt.created_at")],
  ["updatedAt", isoTimeSql("x402_payment_attempt.updated_at")],
  ["direction", "x402_payment_attempt.direction"],
  ["status", "x402_payment_attempt.status"],
  ["apiKeyId", "x402_payment_attempt.api_key_id"],
  ["evmWalletId", "x402_payment_attempt.evm_wallet_id"],
  ["facilitator", "x402_payment_attempt.facilitator"],
  ["registryRequestId", "x402_payment_attempt.registry_request_id"],
  ["supportedPaymentSourceId", "x402_payment_attempt.supported_payment_source_id"],
  ["caip2Network", "x402_payment_attempt.caip2_id"],
  ["asset", "x402_payment_attempt.asset"],
  ["amount", "x402_payment_attempt.amount"],
  ["maxAmount", "x402_payment_attempt.max_amount"],
  ["payTo", "x402_payment_attempt.pay_to"],
  ["payer", "x402_payment_attempt.payer"],
  ["resource", "x402_payment_attempt.resource"],
  ["paymentPayloadHash", "x402_payment_attempt.payment_payload_hash"],
  ["paymentIdentifier", "x402_payment_attempt.payment_identifier"],
  ["errorReason", "x402_payment_attempt.error_reason"],
  ["errorMessage", "x402_payment_attempt.error_message"],
  ["Settlement", `iif(x402_settlement.id IS NULL, json('null'), ${SETTLEMENT_JSON_SQL})`],
];

/** SQL of an attempt as the interface shows it, JSON. */
export const ATTEMPT_JSON_SQL = addJsonFieldsSql("json_object()", ATTEMPT_FIELDS);

/** SQL of a JSON object with more members; a D1 function takes at most 32 arguments. */
export function addJsonFieldsSql(object: string, fields: readonly JsonField[]): string {
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
