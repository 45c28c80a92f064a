/** Signatures of deliveries: Standard Webhooks 1.0.0, symmetric (`v1`, HMAC-SHA-256). */
import { createHmac } from "node:crypto";

const SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `${SECRET_PREFIX}${Buffer.from(bytes).toString("base64")}`;
}

/**
 * The headers that tell a receiver who sent a body, when, and for which event.
 *
 * @param secrets - all sign; two during a rotation
 * @param id - the event's id, the same on every attempt
 * @param at - the attempt's time, epoch milliseconds; sent in whole seconds
 */
export function createSignatureHeaders(
  secrets: readonly string[],
  id: string,
  at: number,
  body: string,
): Record<string, string> {
  const timestamp = Math.floor(at / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
