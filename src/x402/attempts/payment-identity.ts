import * as z from "zod";
import { toCanonicalJson } from "../../canonical-json.ts";
import { ApiError } from "../../http/errors.ts";
import type { PaymentPayload } from "../model/schemas.ts";

/**
 * SHA-256 of a payload's canonical JSON, hex: the name under which a payment is settled once.
 * Canonical means keys sorted by UTF-16 code unit, no whitespace, and format and private-use
 * characters escaped (not RFC 8785, but what existing such services compute).
 */
export async function hashPayload(payload: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(toCanonicalJson(payload, escapeText));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

/** Characters that canonical JSON escapes in addition to JSON's own. */
const ESCAPED_CHARACTERS =
  /[\u007f-\u009f\u00ad\u0600-\u0604\u070f\u17b4\u17b5\u200c-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff]/g;

function escapeText(text: string): string {
  return JSON.stringify(text).replace(
    ESCAPED_CHARACTERS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Key of the x402 extension by which a payer names a payment. */
export const PAYMENT_IDENTIFIER_EXTENSION = "payment-identifier";

/** The id of the x402 extension `payment-identifier`. */
export const paymentIdentifier = z
  .string()
  .regex(/^[A-Za-z0-9_-]{16,128}$/, "must be 16 to 128 of the characters A-Z a-z 0-9 _ -");

/**
 * The payer's identifier of the payment; null without one.
 *
 * @throws ApiError 400 when it has the wrong form, or is required and absent
 */
export function readPaymentIdentifier({ extensions }: PaymentPayload): string | null {
  const extension = extensions?.[PAYMENT_IDENTIFIER_EXTENSION];
  if (extension === undefined) return null;
  const parsed = z
    .object({
      info: z.object({ required: z.boolean().default(false), id: z.unknown().optional() }),
    })
    .safeParse(extension);
  const field = `paymentPayload.extensions.${PAYMENT_IDENTIFIER_EXTENSION}.info`;
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
