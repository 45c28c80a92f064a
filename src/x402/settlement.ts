/** What routes, the PaymentPayload object and the FacilitatorWallet object say to each other. */
import type { Env } from "../env.ts";
import type { Caller } from "../http/context.ts";
import type { PaymentPayload, PaymentRequirements } from "./schemas.ts";

/** A payment to be settled. Plain data: it goes through object calls and is stored. */
export interface SettleOrder {
  /** Version of this message: two versions of the code run at once during a rollout. */
  v: 1;
  /** One per request: tells its own repetition from a repeat of the payment. */
  requestId: string;
  /** Id of the attempt, should this order be the one that is tried. */
  attemptId: string;
  caller: Caller;
  /** The registered resource; null when a resource server brings its own requirements. */
  paymentSourceId: string | null;
  registryRequestId: string | null;
  resource: string | null;
  payload: PaymentPayload;
  payloadHash: string;
  /** See `claimOf` of authorization.ts; names the object. */
  claim: string;
  paymentIdentifier: string | null;
  requirements: PaymentRequirements;
  /** Milliseconds the caller waits for the outcome. */
  waitMs: number;
}

/** How a payment stands. `transaction` is a hash, or empty when there is none. */
export type SettleAnswer =
  | ({ kind: "settled" | "failed" | "pending"; attemptId: string; replay: boolean } & Standing)
  /** The authorization belongs to another payload or another source. */
  | { kind: "conflict"; attemptId: string }
  /** Nothing was begun. */
  | { kind: "refused"; status: 402 | 404 | 502 | 503 | 504; message: string };

export interface Standing {
  transaction: string;
  payer: string | null;
  errorReason: string | null;
  errorMessage: string | null;
  /** Whether this is the first time that the success is told; see docs/x402.md. */
  first: boolean;
}

/** A settlement for a facilitator wallet to bring to the chain. Plain data; amounts decimal text. */
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

/** How a job stands. `isFinal`: no reorganisation of the chain is expected to change it. */
export interface JobStatus {
  state: "unknown" | "pending" | "settled" | "failed";
  transaction: string;
  reason: string | null;
  message: string | null;
  isFinal: boolean;
}

/** The RPC of `durable-objects/payment-payload.ts`. */
export interface PaymentPayloadRpc {
  settle(order: SettleOrder): Promise<SettleAnswer>;
  /** Has anything that was left undone looked after. */
  wake(): Promise<void>;
}

/** The RPC of `durable-objects/facilitator-wallet.ts`. */
export interface FacilitatorWalletRpc {
  /** Takes a job on, once however often it is asked. */
  submit(walletId: string, job: Job): Promise<void>;
  /** How the job stands: at once when it is decided, else after `waitMs` at most. */
  wait(jobId: string, waitMs: number): Promise<JobStatus>;
  /** Has anything that was left undone looked after. */
  wake(): Promise<void>;
}

/** The object of an on-chain authorization. */
export function paymentObject(env: Pick<Env, "PAYMENT_PAYLOAD">, claim: string): PaymentPayloadRpc {
  const { PAYMENT_PAYLOAD } = env;
  return PAYMENT_PAYLOAD.get(PAYMENT_PAYLOAD.idFromName(claim)) as unknown as PaymentPayloadRpc;
}

/** The object of a facilitator wallet on a chain. */
export function walletObject(
  env: Pick<Env, "FACILITATOR_WALLET">,
  caip2Id: string,
  address: string,
): FacilitatorWalletRpc {
  const { FACILITATOR_WALLET } = env;
  const id = FACILITATOR_WALLET.idFromName(`${caip2Id}:${address}`);
  return FACILITATOR_WALLET.get(id) as unknown as FacilitatorWalletRpc;
}
