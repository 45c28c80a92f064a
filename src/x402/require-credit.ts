import { requireCredits } from "../api-keys/credits.ts";
import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import type { SettleOrder } from "./rpc-types.ts";

const HELD = `SELECT 1 FROM x402_payment_attempt
  WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled')`;

/**
 * Checks that the caller can pay for a settlement before any node is called. A payment that an
 * attempt holds is already charged: sending it again, or joining it, is free.
 *
 * @throws ApiError 402
 */
export async function requireSettleCredit(
  c: AppContext,
  { caller, claim, payloadHash }: SettleOrder,
): Promise<void> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  await requireCredits(core, caller, "x402-settle", {
    // Each by its own index.
    sql: `EXISTS (${HELD} AND claim = ?) OR EXISTS (${HELD} AND payment_payload_hash = ?)`,
    params: [claim, payloadHash],
  });
}
