import type { Statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import { writeEventFrom } from "../../events/outbox.ts";
import { isoTime } from "../../http/envelope.ts";
import type { AttemptOrder } from "../rpc-types.ts";
import { ATTEMPT_JSON, SETTLEMENT_OF_ATTEMPT, withFields } from "./record.ts";
import type { Outcome } from "./row.ts";

/**
 * X402_PAYMENT_SETTLED or X402_PAYMENT_FAILED. Its record is the attempt as `GET /x402/payments`
 * shows it after the preceding statements of the batch, which must have written the attempt.
 *
 * @param sequence - 1, 2, 3 … per attempt
 * @param now - epoch milliseconds
 */
export function outcomeEvent(
  order: AttemptOrder,
  outcome: Outcome,
  sequence: number,
  now: number,
): Statement {
  return writeEventFrom(
    {
      kind: outcome.success ? "X402_PAYMENT_SETTLED" : "X402_PAYMENT_FAILED",
      network: order.requirements.network,
      sourceId: null,
      ownerId: order.caller.id,
      recordId: order.attemptId,
      sequence,
    },
    outcomeData(order, outcome, now),
    now,
  );
}

function outcomeData({ attemptId }: AttemptOrder, outcome: Outcome, now: number): SqlExpression {
  const { success, transaction } = outcome;
  // In addition to the record, for receivers that read these.
  const own: [name: string, value: unknown][] = [
    ["attemptId", attemptId],
    ["txHash", transaction === "" ? null : transaction],
    ["settledAt", success ? isoTime(now) : null],
  ];
  const record = withFields(ATTEMPT_JSON, [
    ...own.map(([name]) => [name, "?"] as const),
    ["success", `json('${success}')`],
  ]);
  return {
    sql: `(SELECT ${record} FROM x402_payment_attempt
      LEFT JOIN x402_settlement ON ${SETTLEMENT_OF_ATTEMPT} WHERE x402_payment_attempt.id = ?)`,
    params: [...own.map(([, value]) => value), attemptId],
  };
}
