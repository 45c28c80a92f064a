import { firstIdAt } from "../../db/id.ts";
import { type JobStatus, type SettlementJob, UNKNOWN_JOB } from "../model/messages.ts";
import {
  type BlockInclusion,
  isDecided,
  type SignedTransaction,
  type StoredJob,
} from "./stored-job.ts";
import { loadWallet, type StoredWallet } from "./wallet-tables.ts";

/** `only_legacy`: the chain has refused EIP-1559 transactions. */
type StoredValueName = "wallet_id" | "nonce_floor" | "only_legacy";

/** Whether a job that is not final has an outcome. */
const OPEN_JOB_CONDITIONS = {
  undecided: (stored: StoredJob) => !isDecided(stored),
  decided: isDecided,
};

const RETENTION_MS = 7 * 24 * 60 * 60_000;

/**
 * The stored state of one facilitator wallet: its jobs and the transactions signed for them. All calls
 * are synchronous, so a write before an external call is durable before that call leaves the object.
 *
 * Invariants:
 *
 * - Live transactions (`signed`, `sent`, `refused`) with the same nonce belong to one job.
 * - A job's transaction stays stored from when it was sent to a node until the job is final.
 * - A job is signed again only after its transactions have lost their nonces.
 */
export class WalletStore {
  /**
   * Hash of the latest block when decided jobs were last compared with the chain. In memory, since doing it
   * again does no harm.
   */
  watchedAtBlock: string | null = null;
  /** Hashes by height of blocks that decided jobs, which were on the chain together then. */
  watchedBlocks: ReadonlyMap<number, string> = new Map();
  /** The same when refused transactions were last sent again. */
  offeredAtBlock: string | null = null;
  readonly #sql: SqlStorage;
  #isPostponing = false;
  #postponed: { statement: string; params: SqlStorageValue[] }[] = [];
  readonly #values: StoredWallet["values"];
  readonly #openJobs: StoredWallet["openJobs"];
  readonly #signed: StoredWallet["signed"];
  #changedJobs = new Set<string>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const stored = loadWallet(sql);
    this.#values = stored.values;
    this.#openJobs = stored.openJobs;
    this.#signed = stored.signed;
  }

  /**
   * Changes what the chain will say again if this object stops. The changes count at once, but their
   * statements are executed with the next write, or by `executePostponed`. No call leaves an object while one
   * of its writes is not durable, so an outcome is sent to D1 first.
   */
  postponeWrites(change: () => void): void {
    this.#isPostponing = true;
    try {
      change();
    } finally {
      this.#isPostponing = false;
    }
  }

  executePostponed(): void {
    const postponed = this.#postponed;
    this.#postponed = [];
    for (const { statement, params } of postponed) this.#sql.exec(statement, ...params);
  }

  #execute(statement: string, ...params: SqlStorageValue[]): void {
    this.#postponed.push({ statement, params });
    if (!this.#isPostponing) this.executePostponed();
  }

  /** A value stored by name; null when there is none. */
  getValue(name: StoredValueName): string | null {
    return this.#values.get(name) ?? null;
  }

  setValue(name: StoredValueName, value: string): void {
    if (this.#values.get(name) === value) return;
    this.#values.set(name, value);
    this.#execute(
      `INSERT INTO value (name, value) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      name,
      value,
    );
  }

  /** Adds a job; a known one stays as it is. */
  addJob(job: SettlementJob, now: number): void {
    if (this.#openJobs.has(job.id) || this.#findFinalJob(job.id)) return;
    this.executePostponed();
    const { seq } = this.#sql
      .exec(
        `INSERT INTO open_job (body, state, sign_before, changed_at) VALUES (?, 'waiting', ?, ?)
         RETURNING seq`,
        JSON.stringify(job),
        job.signBefore,
        now,
      )
      .one();
    const stored = { job, ...NEW_JOB, signBefore: job.signBefore, changedAt: now };
    this.#openJobs.set(job.id, { seq: Number(seq), stored });
  }

  /** A job that is not final. */
  findJob(id: string): StoredJob | null {
    return this.#openJobs.get(id)?.stored ?? null;
  }

  getJobStatus(id: string): JobStatus {
    const found = this.findJob(id);
    if (!found) return this.#findFinalJob(id) ?? UNKNOWN_JOB;
    const { state, transaction, reason, message } = found;
    if (state === "settled" || state === "failed")
      return { state, transaction, reason, message, isFinal: false };
    // Of several replacements with rising fees for one nonce, the newest is the likeliest.
    const signed = this.listJobTransactions(id);
    const newest = signed.findLast((one) => one.state !== "lost") ?? signed.at(-1);
    return { state: "pending", transaction: newest?.hash ?? "", reason, message, isFinal: false };
  }

  #findFinalJob(id: string): JobStatus | null {
    const [row] = this.#sql
      .exec<Pick<JobStatus, "state" | "transaction" | "reason" | "message">>(
        `SELECT state, tx AS "transaction", reason, message FROM final_job WHERE id = ?`,
        id,
      )
      .toArray();
    return row ? { ...row, isFinal: true } : null;
  }

  /** Jobs that are not final, oldest first: those that wait for an outcome, or have a recent one. */
  listOpenJobs(which: keyof typeof OPEN_JOB_CONDITIONS): StoredJob[] {
    return this.#listJobs(OPEN_JOB_CONDITIONS[which]);
  }

  /** Whether such jobs exist. */
  hasOpenJobs(which: keyof typeof OPEN_JOB_CONDITIONS): boolean {
    return this.listOpenJobs(which).length > 0;
  }

  /** Jobs to be signed, oldest first. */
  listWaitingJobs(limit: number): StoredJob[] {
    return this.#listJobs(({ state }) => state === "waiting").slice(0, limit);
  }

  /** Jobs that were not signed in time. */
  listOverdueJobs(now: number): StoredJob[] {
    return this.#listJobs(({ state, signBefore }) => state === "waiting" && signBefore <= now);
  }

  #listJobs(isListed: (stored: StoredJob) => boolean): StoredJob[] {
    return [...this.#openJobs.values()].map(({ stored }) => stored).filter(isListed);
  }

  /** A text that differs whenever a job's or a transaction's state does. */
  takeSnapshot(): string {
    const jobs = this.#listJobs(() => true).map(({ job, state }) => job.id + state);
    const signed = this.#listTransactions(() => true).map(({ hash, state }) => hash + state);
    return `${jobs.join()} ${signed.join()}`;
  }

  /** Nonces of stored transactions that have not lost them. */
  listUsedNonces(): Set<number> {
    return new Set(
      this.#listTransactions(({ state }) => state !== "lost").map(({ nonce }) => nonce),
    );
  }

  /** Transactions that hold a nonce until mined, by nonce, and oldest first within one nonce. */
  listPendingTransactions(): SignedTransaction[] {
    return this.#listTransactions(({ state }) => state !== "mined" && state !== "lost");
  }

  /** Transactions that are not known to be mined. */
  listUnminedTransactions(): SignedTransaction[] {
    return this.#listTransactions(({ state }) => state !== "mined");
  }

  listJobTransactions(jobId: string): SignedTransaction[] {
    return this.#listTransactions((signed) => signed.jobId === jobId);
  }

  /** The transactions whose gas is counted for a job with a limit: its own, and those that freed its nonces. */
  listPaidTransactions(jobId: string): SignedTransaction[] {
    return this.#listTransactions(
      (signed) => signed.jobId === jobId || signed.freedJobId === jobId,
    );
  }

  /** The job with a limit that has a transaction with a nonce. Null: no such job does. */
  findLimitedJobAt(nonce: number): string | null {
    const ids = this.#listTransactions((signed) => signed.nonce === nonce).map(
      ({ jobId, freedJobId }) => jobId ?? freedJobId,
    );
    const hasLimit = (id: string | null) =>
      id !== null && this.findJob(id)?.job.maxCost !== undefined;
    return ids.findLast(hasLimit) ?? null;
  }

  /** Whether a transaction of the job was sent to a node: then only the chain can end it. */
  wasJobSent(jobId: string): boolean {
    return this.listJobTransactions(jobId).some(({ state }) => state !== "signed");
  }

  /** By nonce, and oldest first within one nonce. */
  #listTransactions(isListed: (signed: SignedTransaction) => boolean): SignedTransaction[] {
    return [...this.#signed.values()]
      .map(({ signed }) => signed)
      .filter(isListed)
      .sort((a, b) => a.nonce - b.nonce);
  }

  /** Stores a transaction before it is sent anywhere. */
  storeTransaction(signed: SignedTransaction, now: number): void {
    if (this.#signed.has(signed.hash)) throw new Error(`${signed.hash} is stored already`);
    this.executePostponed();
    const { seq } = this.#sql
      .exec(
        `INSERT INTO signed
         (hash, nonce, job_id, raw, gas, max_fee, tip, state, since_block, since_time)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING rowid AS seq`,
        signed.hash,
        signed.nonce,
        signed.jobId,
        signed.rawTransaction,
        String(signed.gas),
        String(signed.maxFee),
        String(signed.tip),
        signed.state,
        signed.signedAtBlock,
        signed.signedAtSeconds,
      )
      .one();
    if (signed.freedJobId !== null)
      this.#execute("INSERT INTO freed_nonce VALUES (?, ?)", signed.hash, signed.freedJobId);
    this.#signed.set(signed.hash, { seq: Number(seq), signed });
    if (signed.jobId !== null) this.#updateJob(signed.jobId, { state: "signed" }, now);
  }

  setTransactionState(hash: string, state: SignedTransaction["state"]): void {
    const stored = this.#signed.get(hash);
    if (!stored || stored.signed.state === state) return;
    this.#signed.set(hash, { ...stored, signed: { ...stored.signed, state } });
    this.#execute("UPDATE signed SET state = ? WHERE rowid = ?", state, stored.seq);
  }

  /** Deletes a transaction that was never sent, or that settles nothing. */
  deleteTransaction(hash: string): void {
    const stored = this.#signed.get(hash);
    if (!stored) return;
    this.#signed.delete(hash);
    this.#execute("DELETE FROM signed WHERE rowid = ?", stored.seq);
    if (stored.signed.freedJobId !== null)
      this.#execute("DELETE FROM freed_nonce WHERE hash = ?", hash);
  }

  /** Records that this transaction used the nonce, so others with the nonce are lost. */
  recordMinedTransaction(hash: string, nonce: number): void {
    this.setTransactionState(hash, "mined");
    this.#markLost((signed) => signed.nonce === nonce && signed.hash !== hash);
    const floor = Math.max(Number(this.getValue("nonce_floor") ?? 0), nonce + 1);
    this.setValue("nonce_floor", String(floor));
  }

  /** Marks a nonce as used by a foreign transaction, or as beyond the gap limit. */
  markNonceLost(nonce: number): void {
    this.#markLost((signed) => signed.nonce === nonce && signed.state !== "mined");
  }

  #markLost(isLost: (signed: SignedTransaction) => boolean): void {
    for (const { hash, jobId, freedJobId, state } of this.#listTransactions(isLost))
      if ((jobId ?? freedJobId) === null || state === "signed") this.deleteTransaction(hash);
      else this.setTransactionState(hash, "lost");
  }

  /**
   * Records that a self-transfer was mined. One whose gas is counted for a job is stored until the job is
   * final, and its nonce is free again after a re-org.
   */
  recordMinedSelfTransfer({ hash, nonce, freedJobId }: SignedTransaction): void {
    this.recordMinedTransaction(hash, nonce);
    if (freedJobId === null || !this.findJob(freedJobId)) this.deleteTransaction(hash);
    else this.setTransactionState(hash, "lost");
  }

  recordSettledJob(id: string, place: BlockInclusion, now: number): void {
    this.#updateJob(id, { state: "settled", ...place, reason: null, message: null }, now);
  }

  /** @param place - what decided it on the chain, which may change; null when nothing was sent */
  recordFailedJob(
    id: string,
    reason: string,
    message: string,
    place: BlockInclusion | null,
    now: number,
  ): void {
    this.#updateJob(id, { state: "failed", ...(place ?? NO_INCLUSION), reason, message }, now);
    if (place === null) this.finalizeJob(id, now);
  }

  /** Queues a job for another signature while its authorization is valid. */
  requeueJob(id: string, now: number): void {
    const found = this.findJob(id);
    if (!found) return;
    const signBefore = Number(found.job.validBefore) * 1000;
    this.#updateJob(id, { state: "waiting", ...NO_INCLUSION, signBefore }, now);
  }

  /** The transaction's block was orphaned: it is pending again. */
  reopenJob(id: string, now: number): void {
    this.#updateJob(id, { state: "signed", ...NO_INCLUSION, reason: null, message: null }, now);
  }

  /**
   * Deletes the transactions of a decided job, and keeps its outcome for a while.
   *
   * @param cost - of the transactions of a job with a limit, in wei
   */
  finalizeJob(id: string, now: number, cost = 0n): void {
    const open = this.#openJobs.get(id);
    if (!open) return;
    const { job, state, transaction, reason, message } = open.stored;
    if (job.maxCost !== undefined)
      this.#execute("INSERT INTO gas_cost VALUES (?, ?, ?)", id, String(cost), now);
    this.#openJobs.delete(id);
    this.#execute("DELETE FROM open_job WHERE seq = ?", open.seq);
    this.#execute(
      `INSERT INTO final_job (id, state, tx, reason, message, changed_at) VALUES (?, ?, ?, ?, ?, ?)`,
      id,
      state,
      transaction,
      reason,
      message,
      now,
    );
    this.#changedJobs.add(id);
    for (const { hash } of this.listPaidTransactions(id)) this.deleteTransaction(hash);
    // Ids sort by the time of their request.
    const old = [firstIdAt(now - RETENTION_MS), now - RETENTION_MS];
    for (const table of ["final_job", "gas_cost"])
      this.#execute(`DELETE FROM ${table} WHERE id < ? AND changed_at < ?`, ...old);
  }

  /** What the transactions of a final job with a limit have cost, in wei. Null: not known. */
  findGasCost(jobId: string): string | null {
    const [row] = this.#sql.exec("SELECT wei FROM gas_cost WHERE id = ?", jobId).toArray();
    return row ? String(row.wei) : null;
  }

  /** Ids of the jobs that changed since the last call. */
  drainChangedJobs(): Set<string> {
    const changed = this.#changedJobs;
    this.#changedJobs = new Set();
    return changed;
  }

  #updateJob(id: string, changes: Partial<StoredJob>, now: number): void {
    const open = this.#openJobs.get(id);
    if (!open) return;
    const stored = { ...open.stored, ...changes, changedAt: now };
    this.#openJobs.set(id, { ...open, stored });
    this.#execute(
      `UPDATE open_job SET state = ?, sign_before = ?, tx = ?, block = ?, block_hash = ?,
         reason = ?, message = ?, changed_at = ? WHERE seq = ?`,
      stored.state,
      stored.signBefore,
      stored.transaction,
      stored.block,
      stored.blockHash,
      stored.reason,
      stored.message,
      now,
      open.seq,
    );
    this.#changedJobs.add(id);
  }
}

const NO_INCLUSION = { transaction: "", block: null, blockHash: null };

const NEW_JOB = { ...NO_INCLUSION, state: "waiting", reason: null, message: null } as const;
