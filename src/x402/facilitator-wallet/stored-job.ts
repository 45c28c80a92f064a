/** Jobs and transactions of a wallet, as stored and as read. */
import type { SettlementJob } from "../model/messages.ts";

/** A signed transaction of the wallet. Amounts are wei. */
export interface SignedTransaction {
  hash: string;
  nonce: number;
  /** The job that the transaction settles. Null: a self-transfer that uses up the nonce. */
  jobId: string | null;
  rawTransaction: string;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  /**
   * `signed`: stored and not yet sent. `sent`: it may be anywhere. `refused`: the only node it was
   * sent to refused it, but may still have kept it. `mined`: it has a receipt. `lost`: another
   * holds its nonce, according to the node; only its receipt is still looked for.
   */
  state: "signed" | "sent" | "refused" | "mined" | "lost";
  /** Block height and Unix seconds when it was signed. */
  signedAtBlock: number;
  signedAtSeconds: number;
}

/** A job with its state. */
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
  isFinal: boolean;
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

/** Columns of the deciding transaction. */
export function toInclusionColumns(place: BlockInclusion | null) {
  const { transaction: tx = "", block = null, blockHash: block_hash = null } = place ?? {};
  return { tx, block, block_hash };
}

/** A row of the object's own database. */
export type SqlRow = Record<string, SqlStorageValue>;

export function toSignedTransaction(row: SqlRow): SignedTransaction {
  return {
    hash: String(row.hash),
    nonce: Number(row.nonce),
    jobId: row.job_id === null ? null : String(row.job_id),
    rawTransaction: String(row.raw),
    gas: BigInt(String(row.gas)),
    maxFee: BigInt(String(row.max_fee)),
    tip: BigInt(String(row.tip)),
    state: row.state as SignedTransaction["state"],
    signedAtBlock: Number(row.since_block),
    signedAtSeconds: Number(row.since_time),
  };
}

/** @param job - the row's body */
export function toStoredJob(row: SqlRow, job: SettlementJob): StoredJob {
  return {
    job,
    state: row.state as StoredJob["state"],
    signBefore: Number(row.sign_before),
    transaction: String(row.tx),
    block: row.block === null ? null : Number(row.block),
    blockHash: row.block_hash === null ? null : String(row.block_hash),
    reason: row.reason === null ? null : String(row.reason),
    message: row.message === null ? null : String(row.message),
    isFinal: row.final === 1,
    changedAt: Number(row.changed_at),
  };
}
