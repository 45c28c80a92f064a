import * as z from "zod";
import type { Database } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import type { SettleOrder } from "../rpc-types.ts";
import type { PaymentPayload } from "../schemas.ts";

const EXTENSION = "payment-identifier";

/** The id of the x402 extension `payment-identifier`. */
export const paymentIdentifier = z
  .string()
  .regex(/^[A-Za-z0-9_-]{16,128}$/, "must be 16 to 128 of the characters A-Z a-z 0-9 _ -");

/**
 * The payer's identifier of the payment; null without one.
 *
 * @throws ApiError 400 when it has the wrong form, or is required and absent
 */
export function paymentIdentifierOf({ extensions }: PaymentPayload): string | null {
  const extension = extensions?.[EXTENSION];
  if (extension === undefined) return null;
  const parsed = z
    .object({
      info: z.object({ required: z.boolean().default(false), id: z.unknown().optional() }),
    })
    .safeParse(extension);
  const field = `paymentPayload.extensions.${EXTENSION}.info`;
  if (!parsed.success) throw new ApiError(400, `${field}: must be an object`);
  const { required, id } = parsed.data.info;
  if (id === undefined || id === null) {
    if (required) throw new ApiError(400, `${field}.id: is required`);
    return null;
  }
  const valid = paymentIdentifier.safeParse(id);
  if (!valid.success) throw new ApiError(400, `${field}.id: ${valid.error.issues[0]?.message}`);
  return valid.data;
}

/**
 * One identifier is for one payload (specification of the extension).
 *
 * @throws ApiError 409 when the key has used it for another payload that is settled or pending
 */
export async function refuseReusedIdentifier(core: Database, order: SettleOrder): Promise<void> {
  if (order.paymentIdentifier === null) return;
  const [row] = await core.all<{ id: string }>(
    `SELECT id FROM x402_payment_attempt
     WHERE api_key_id = ? AND payment_identifier = ? AND direction = 'InboundSettle'
       AND status IN ('Verified', 'Settled') AND payment_payload_hash <> ? LIMIT 1`,
    order.caller.id,
    order.paymentIdentifier,
    order.payloadHash,
  );
  if (row)
    throw new ApiError(
      "identifier_reused",
      `paymentPayload.extensions.${EXTENSION}.info.id: was used for the attempt ${row.id}`,
    );
}
