/**
 * Messages between routes, the PaymentPayload object and the FacilitatorWallet object.
 *
 * The chain gives a verdict before a settlement and a finding after it. A wallet's job has a status, and an
 * attempt an outcome. The payment's object makes a reply, which a route turns into the response.
 */
import { type Env, getDurableObject } from "../../env.ts";
import type { Caller } from "../../http/context.ts";
import type { PaymentPayload, PaymentRequirements } from "./schemas.ts";

/** A payment to be settled. Plain data: it is passed to objects and stored. */
export interface SettleOrder {
  /** Version of this message: two versions of the code run at once during a rollout. */
  v: 1;
  /** One per request. Distinguishes a retried request from a repeated payment. */
  requestId: string;
  /** Id of the attempt that this order begins. */
  attemptId: string;
  caller: Caller;
  /** The registered resource; null when a resource server brings its own requirements. */
  paymentSourceId: string | null;
  registryRequestId: string | null;
  resource: string | null;
  payload: PaymentPayload;
  payloadHash: string;
  /** See `toAuthorizationKey` of authorization.ts; the object's name. */
  claim: string;
  paymentIdentifier: string | null;
  requirements: PaymentRequirements;
  /**
   * Of the scheme `upto`: the amount that the payer signed at most. `requirements` then has the charge.
   * Omitted: the scheme is `exact`.
   */
  maxAmount?: string;
  /** Milliseconds the caller waits for the outcome. */
  waitMs: number;
}

/** The part of an order that attempts store. Bounded: a payload may have a megabyte. */
export type AttemptOrder = Omit<SettleOrder, "v" | "payload" | "requirements" | "waitMs"> & {
  requirements: Pick<PaymentRequirements, "network" | "asset" | "amount" | "payTo">;
};

/** How an attempt ended. */
export interface AttemptOutcome {
  success: boolean;
  /** Transaction hash; empty when there is none. */
  transaction: string;
  payer: string | null;
  errorReason: string | null;
  errorMessage: string | null;
}

/** Why a payment fails: a reason code of x402, and a message. */
export interface PaymentFailure {
  reason: string;
  message: string;
}

/** What a payment's object replies to an order. */
export type SettleReply =
  | PaymentReply
  /** The authorization belongs to another payload, another source or other terms. */
  | { kind: "conflict"; attemptId: string }
  /** No attempt began. */
  | {
      kind: "refused";
      status: 402 | 404 | 502 | 503 | 504;
      message: string;
      /** Default: the general code of the status. */
      code?: "database_full";
    };

/** The state of a payment. */
export interface PaymentReply extends Omit<AttemptOutcome, "success"> {
  kind: "settled" | "failed" | "pending";
  attemptId: string;
  replay: boolean;
  /** CAIP-2 id and amount of the settlement, not of the caller's request. */
  network: string;
  amount: string;
  /** Whether this reply is the first that reports success; see docs/x402.md. */
  first: boolean;
}

/** A settlement that another facilitator submits, as far as the chain can tell it from others. */
export interface RemoteSettlement {
  /** Base URL of the facilitator. */
  url: string;
  /** Epoch milliseconds before which nobody had the authorization. */
  since: number;
  /** Unix seconds after which the chain refuses the authorization. */
  validBefore: string;
}

/** A settlement for a facilitator wallet to submit. Plain data; amounts are decimal text. */
export interface SettlementJob {
  /** The attempt's id. */
  id: string;
  to: string;
  data: string;
  kind: "eip3009" | "permit2";
  /** Omitted: `exact`. */
  scheme?: "upto";
  asset: string;
  from: string;
  payTo: string;
  /** What is transferred: of `upto` the charge. */
  amount: string;
  /** Hex of 32 bytes for EIP-3009, decimal text for Permit2. */
  nonce: string;
  /** Of a settlement with a permit of the payer: the most that its gas may cost, in wei. Omitted: no limit. */
  maxCost?: string;
  /** The part of `maxCost` for what a rollup charges for the chain below. Omitted: none. */
  maxL1Fee?: string;
  /** Unix seconds after which the chain refuses the authorization. */
  validBefore: string;
  /** Epoch milliseconds after which the wallet does not sign the job. */
  signBefore: number;
}

/** State of a job. `isFinal`: no re-org is expected to change it. */
export interface JobStatus {
  state: "unknown" | "pending" | "settled" | "failed";
  transaction: string;
  reason: string | null;
  message: string | null;
  isFinal: boolean;
  /** Whether the wallet has written this first outcome to D1. Omitted: no. */
  isRecorded?: boolean;
  /** The database's bookmark after that write. */
  bookmark?: string | null;
}

/** The status of a job that the wallet does not know. */
export const UNKNOWN_JOB: JobStatus = {
  state: "unknown",
  transaction: "",
  reason: null,
  message: null,
  isFinal: false,
};

/** The request behind a job. */
export interface JobSubmission {
  /** The attempt, whose first outcome the wallet writes. */
  order: AttemptOrder;
  /** Milliseconds to wait for the outcome. */
  waitMs: number;
}

/** The object of an on-chain authorization. */
export function getPaymentStub(
  env: Pick<Env, "PAYMENT_PAYLOAD" | "OBJECT_LOCATION">,
  claim: string,
): PaymentObject {
  return getDurableObject(env, env.PAYMENT_PAYLOAD, claim);
}

/** The calls of an authorization's object. */
export interface PaymentObject {
  /** @returns the reply, and the database's bookmark after what was written for it; null: not known */
  settle(order: SettleOrder): Promise<{ response: SettleReply; bookmark: string | null }>;
  /** Works on an attempt now. @returns whether the object remembers the attempt */
  reconcile(attemptId: string): Promise<boolean>;
  wake(): Promise<void>;
}

/** The calls of a facilitator wallet's object. */
export interface FacilitatorWalletObject {
  /** Reads the chain for a job that probably comes next. Stores nothing. */
  prepare(walletId: string, job: SettlementJob): Promise<void>;
  submit(walletId: string, job: SettlementJob, submission: JobSubmission): Promise<JobStatus>;
  wait(jobId: string, waitMs: number): Promise<JobStatus>;
  /** What the transactions of each job with a limit have cost, in wei. Null: not known. */
  readGasCosts(jobIds: readonly string[]): Promise<(string | null)[]>;
  /** Whether the wallet has jobs that are undecided or not final. */
  hasOpenJobs(): Promise<boolean>;
  wake(): Promise<void>;
}

/** The object of a facilitator wallet on a chain. */
export function getFacilitatorWalletStub(
  env: Pick<Env, "FACILITATOR_WALLET" | "OBJECT_LOCATION">,
  caip2Id: string,
  address: string,
): FacilitatorWalletObject {
  return getDurableObject(env, env.FACILITATOR_WALLET, `${caip2Id}:${address}`);
}
