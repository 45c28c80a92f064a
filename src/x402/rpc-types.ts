/** Messages between routes, the PaymentPayload object and the FacilitatorWallet object. */
import type { Env } from "../env.ts";
import type { Caller } from "../http/context.ts";
import type { PaymentPayload, PaymentRequirements } from "./schemas.ts";

/** A payment to be settled. Plain data: it is passed to objects and stored. */
export interface SettleOrder {
  /** Version of this message: two versions of the code run at once during a rollout. */
  v: 1;
  /** One per request: tells a retried request from a repeat of the payment. */
  requestId: string;
  /** Id of the attempt, if this order is the one that is tried. */
  attemptId: string;
  caller: Caller;
  /** The registered resource; null when a resource server brings its own requirements. */
  paymentSourceId: string | null;
  registryRequestId: string | null;
  resource: string | null;
  payload: PaymentPayload;
  payloadHash: string;
  /** See `authorizationKey` of authorization.ts; the object's name. */
  claim: string;
  paymentIdentifier: string | null;
  requirements: PaymentRequirements;
  /** Milliseconds the caller waits for the outcome. */
  waitMs: number;
}

/** What an attempt is written from. Bounded: a payload may have a megabyte. */
export type AttemptOrder = Omit<SettleOrder, "v" | "payload" | "requirements" | "waitMs"> & {
  requirements: Pick<PaymentRequirements, "network" | "asset" | "amount" | "payTo">;
};

/** State of a payment. `transaction` is a hash, or empty when there is none. */
export type SettleAnswer =
  | ({ kind: "settled" | "failed" | "pending"; attemptId: string; replay: boolean } & Standing)
  /** The authorization belongs to another payload, another source or other terms. */
  | { kind: "conflict"; attemptId: string }
  /** Nothing was begun. */
  | { kind: "refused"; status: 402 | 404 | 502 | 503 | 504; message: string };

export interface Standing {
  transaction: string;
  payer: string | null;
  /** CAIP-2 id and amount that are settled, not those the caller sent. */
  network: string;
  amount: string;
  errorReason: string | null;
  errorMessage: string | null;
  /** Whether this answer is the first to report success; see docs/x402.md. */
  first: boolean;
}

/** A settlement for a facilitator wallet to submit. Plain data; amounts are decimal text. */
export interface Job {
  /** The attempt's id. */
  id: string;
  to: string;
  data: string;
  kind: "eip3009" | "permit2";
  asset: string;
  from: string;
  payTo: string;
  amount: string;
  /** Hex of 32 bytes for EIP-3009, decimal text for Permit2. */
  nonce: string;
  /** Unix seconds after which the chain refuses it. */
  validBefore: string;
  /** Epoch milliseconds: not signed by then, it never is. */
  signBefore: number;
}

/** State of a job. `isFinal`: no re-org is expected to change it. */
export interface JobStatus {
  state: "unknown" | "pending" | "settled" | "failed";
  transaction: string;
  reason: string | null;
  message: string | null;
  isFinal: boolean;
  /** Whether the wallet has written this as the attempt's first outcome to D1; left out: no. */
  isRecorded?: boolean;
}

/** For whom a job is submitted. */
export interface Submission {
  /** The attempt, whose first outcome the wallet writes. */
  order: AttemptOrder;
  /** Milliseconds to wait for the outcome. */
  waitMs: number;
}

/** The object of an on-chain authorization. */
export function paymentObject({ PAYMENT_PAYLOAD }: Pick<Env, "PAYMENT_PAYLOAD">, claim: string) {
  return PAYMENT_PAYLOAD.get(PAYMENT_PAYLOAD.idFromName(claim));
}

/** The object of a facilitator wallet on a chain. */
export function walletObject(
  { FACILITATOR_WALLET }: Pick<Env, "FACILITATOR_WALLET">,
  caip2Id: string,
  address: string,
) {
  return FACILITATOR_WALLET.get(FACILITATOR_WALLET.idFromName(`${caip2Id}:${address}`));
}
