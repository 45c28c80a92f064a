/** Jobs and transactions of a wallet. */
import type { SettlementJob } from "../model/messages.ts";

/** A signed transaction of the wallet. Amounts are wei. */
export interface SignedTransaction {
  hash: string;
  nonce: number;
  /** The job that the transaction settles. Null: a self-transfer that uses up the nonce. */
  jobId: string | null;
  /** Of a self-transfer: the job with a limit whose nonce is freed, and which the gas is counted for. Null: none. */
  freedJobId: string | null;
  rawTransaction: string;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  /**
   * `signed`: stored and not yet sent. `sent`: it may be anywhere. `refused`: the only node it was
   * sent to refused it, but may still have kept it. `mined`: it has a receipt. `lost`: another
   * holds its nonce, according to the node, or it has freed its nonce for a job; only its receipt is
   * still looked for.
   */
  state: "signed" | "sent" | "refused" | "mined" | "lost";
  /** Block height and Unix seconds when it was signed. */
  signedAtBlock: number;
  signedAtSeconds: number;
}

/** A job that is not final, with its state. */
export interface StoredJob {
  job: SettlementJob;
  state: "waiting" | "signed" | "settled" | "failed";
  /** Epoch milliseconds after which the wallet does not sign the job. */
  signBefore: number;
  transaction: string;
  /** Height and hash of the deciding block; null when there is none. */
  block: number | null;
  blockHash: string | null;
  reason: string | null;
  message: string | null;
  /** Epoch milliseconds of the last change. */
  changedAt: number;
}

/** Hash of the deciding transaction, and height and hash of its block. */
export interface BlockInclusion {
  transaction: string;
  block: number;
  blockHash: string;
}

/** Whether the job is decided, which a re-org may undo while it is not final. */
export function isDecided({ state }: StoredJob): boolean {
  return state === "settled" || state === "failed";
}
