/** The client of another x402 facilitator (x402 v2, specification §7). */
import * as z from "zod";
import type { Env } from "../../env.ts";
import { fetchPublic, PublicFetchError } from "../../http/outbound/fetch-public.ts";
import type { SettleOrder } from "../model/messages.ts";
import { type RemoteFacilitator, readRpcOptions } from "./settlement-network.ts";

/** The facilitator gave no answer that says anything. It may have settled the payment all the same. */
export class RemoteFacilitatorError extends Error {
  override name = "RemoteFacilitatorError";
  readonly timedOut: boolean;

  constructor(message: string, timedOut: boolean, cause?: unknown) {
    super(message, { cause });
    this.timedOut = timedOut;
  }
}

type RemotePayment = Pick<SettleOrder, "payload" | "requirements">;

const VERIFY_TIMEOUT_MS = 8_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_REASON_LENGTH = 200;
/** A shorter text is no secret, and may stand anywhere in an answer. */
const MIN_SECRET_LENGTH = 8;
const reason = z
  .string()
  .transform((text) => text.slice(0, MAX_REASON_LENGTH))
  .nullish();

const verifyResponse = z.object({
  isValid: z.boolean(),
  invalidReason: reason,
  invalidMessage: reason,
});

const settleResponse = z.object({
  success: z.boolean(),
  transaction: z.string().nullish(),
  network: z.string().nullish(),
  errorReason: reason,
  errorMessage: reason,
});

/**
 * Has the facilitator verify a payment, which sends nothing.
 *
 * @param deadline - epoch milliseconds
 * @throws RemoteFacilitatorError
 */
export async function verifyRemotely(
  env: Env,
  facilitator: RemoteFacilitator,
  payment: RemotePayment,
  deadline: number,
): Promise<
  { isValid: true } | { isValid: false; invalidReason: string; invalidMessage: string | null }
> {
  const until = Math.min(deadline, Date.now() + VERIFY_TIMEOUT_MS);
  const answer = await post(env, facilitator, "verify", payment, verifyResponse, until);
  if (answer.isValid) return { isValid: true };
  const { invalidReason, invalidMessage } = answer;
  return {
    isValid: false,
    invalidReason: invalidReason || "unexpected_verify_error",
    invalidMessage: invalidMessage || null,
  };
}

/** What the facilitator says of a settlement. Only the chain says what became of it. */
export interface SettlementClaim {
  /** Hash of its transaction; empty: it names none. */
  transaction: string;
  /** Why it did not settle; null: it did, or it does not say. */
  reason: string | null;
}

/**
 * Has the facilitator settle a payment.
 *
 * @param deadline - epoch milliseconds
 * @throws RemoteFacilitatorError; the payment may be settled all the same
 */
export async function settleWithRemote(
  env: Env,
  facilitator: RemoteFacilitator,
  payment: RemotePayment,
  deadline: number,
): Promise<SettlementClaim> {
  const answer = await post(env, facilitator, "settle", payment, settleResponse, deadline);
  const { network } = payment.requirements;
  if (answer.network && answer.network !== network)
    return { transaction: "", reason: `it settled on ${answer.network.slice(0, 50)}` };
  const hash = answer.transaction ?? "";
  const transaction = /^0x[0-9a-fA-F]{64}$/.test(hash) ? hash.toLowerCase() : "";
  const { errorReason, errorMessage } = answer;
  if (answer.success)
    return { transaction, reason: transaction ? null : "it names no transaction" };
  return { transaction, reason: errorReason || errorMessage || "it gives no reason" };
}

async function post<Schema extends z.ZodType>(
  env: Env,
  { url, auth }: RemoteFacilitator,
  operation: "verify" | "settle",
  { payload, requirements }: RemotePayment,
  schema: Schema,
  deadline: number,
): Promise<z.output<Schema>> {
  const timeoutMs = Math.max(deadline - Date.now(), 1);
  try {
    const { status, body } = await fetchPublic(`${url}/${operation}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(auth !== null && { authorization: auth }),
      },
      body: JSON.stringify({
        x402Version: 2,
        paymentPayload: payload,
        paymentRequirements: requirements,
      }),
      timeoutMs,
      maxBytes: MAX_RESPONSE_BYTES,
      ...(await readRpcOptions(env, deadline)),
    });
    const parsed = schema.safeParse(parseJson(redact(new TextDecoder().decode(body), auth)));
    if (parsed.success) return parsed.data;
    throw new RemoteFacilitatorError(`the facilitator answered HTTP ${status}`, false);
  } catch (error) {
    if (!(error instanceof PublicFetchError)) throw error;
    throw new RemoteFacilitatorError(
      `the facilitator gave no answer: ${error.message}`,
      error.reason === "timeout",
      error,
    );
  }
}

/** A facilitator may repeat what it was sent in its reasons, which callers and logs get. */
function redact(text: string, auth: string | null): string {
  if (auth === null) return text;
  const secrets = [auth, auth.slice(auth.lastIndexOf(" ") + 1)];
  return secrets
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .reduce((redacted, secret) => redacted.replaceAll(secret, "***"), text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, such as a gateway's page.
    return null;
  }
}
