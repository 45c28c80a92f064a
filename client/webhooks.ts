import type { webhooks } from "./generated/schema.ts";
import { parseWire } from "./names.ts";

/** An event in the format EXTENDED; `type` distinguishes the kinds. */
export type WebhookEvent = {
  [Kind in keyof webhooks]: webhooks[Kind]["post"]["requestBody"]["content"]["application/json"];
}[keyof webhooks];

/** A delivery as it arrived. */
export interface Delivery {
  /** The bytes or the text of the body, before anything parsed it. */
  body: string | Uint8Array;
  /** Names in any case. */
  headers: Headers | Record<string, string | string[] | undefined>;
}

/** How to verify a delivery. */
export interface VerifyOptions {
  /** Milliseconds that the clocks of the two sides may differ; default five minutes. */
  toleranceMs?: number;
  /** Epoch milliseconds; default now. */
  now?: number;
}

/** The delivery is not from the service, or too old. */
export class WebhookError extends Error {
  override name = "WebhookError";
}

const TOLERANCE_MS = 5 * 60_000;

/**
 * Verifies a delivery (Standard Webhooks 1.0.0, `v1`) and reads its event. An event's `id` never
 * changes; `sequence` orders a record's events.
 *
 * @param secret - `whsec_…`, as shown when the webhook was created or its secret rotated. Several
 *   are valid during a rotation.
 * @throws WebhookError
 *
 * @example
 * const event = await verifyWebhook({ body: await request.text(), headers: request.headers }, secret);
 * if (event.type === "PAYMENT_ON_CHAIN_STATUS_CHANGED") console.log(event.data.onChainState);
 */
export async function verifyWebhook(
  { body, headers }: Delivery,
  secret: string | readonly string[],
  { toleranceMs = TOLERANCE_MS, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const given = new Headers();
  for (const [name, value] of headers instanceof Headers ? headers : Object.entries(headers))
    if (value !== undefined) given.set(name, String(value));
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) =>
    given.get(`webhook-${name}`),
  );
  if (!id || !timestamp || !signatures) throw new WebhookError("a webhook header is missing");
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp) * 1000) > toleranceMs)
    throw new WebhookError("webhook-timestamp is not of now");
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + bytes.length);
  signed.set(prefix);
  signed.set(bytes, prefix.length);
  const secrets = typeof secret === "string" ? [secret] : secret;
  for (const one of secrets)
    if (await isSigned(signed, signatures, one))
      return parseWire(new TextDecoder().decode(bytes)) as WebhookEvent;
  throw new WebhookError("no signature is of this secret");
}

async function isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string, secret: string) {
  const secretBytes = fromBase64(secret.replace(/^whsec_/, ""));
  if (!secretBytes) throw new WebhookError("the secret is not whsec_ and base64");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secretBytes, algorithm, false, ["verify"]);
  for (const signature of signatures.split(" ")) {
    const mac = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : null;
    // The platform compares in constant time.
    if (mac && (await crypto.subtle.verify("HMAC", key, mac, signed))) return true;
  }
  return false;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
