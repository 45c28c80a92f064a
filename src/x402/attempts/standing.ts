/** What D1 has of an attempt whose write was refused, or is not known to have succeeded. */
import type { Database } from "../../db/client.ts";
import type { AttemptOrder } from "../rpc-types.ts";

/** Id of the attempt that holds the order's payment, settled or pending; null when there is none. */
export async function holderOf(core: Database, order: AttemptOrder): Promise<string | null> {
  const held = `SELECT id FROM x402_payment_attempt
    WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled')`;
  const [row] = await core.all<{ id: string }>(
    // With OR, none of the indexes would be used.
    `${held} AND claim = ? UNION ${held} AND payment_payload_hash = ?
     UNION ${held} AND api_key_id = ? AND payment_identifier = ?`,
    order.claim,
    order.payloadHash,
    order.caller.id,
    order.paymentIdentifier,
  );
  return row?.id ?? null;
}

/** The state of an attempt's row; null when there is none. */
export async function standingOf(core: Database, attemptId: string) {
  const [row] = await core.all<{ status: string; version: number; settledIn: string | null }>(
    `SELECT status, version, (SELECT tx_hash FROM x402_settlement
       WHERE attempt_id = x402_payment_attempt.id AND success = 1) AS settledIn
     FROM x402_payment_attempt WHERE id = ?`,
    attemptId,
  );
  return row ?? null;
}
