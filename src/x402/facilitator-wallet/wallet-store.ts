import type { JobStatus, SettlementJob } from "../model/messages.ts";
import {
  type BlockInclusion,
  type SignedTransaction,
  type SqlRow,
  type StoredJob,
  toInclusionColumns,
  toSignedTransaction,
  toStoredJob,
} from "./stored-job.ts";

/**
 * `watched`: hash of the latest block when decided jobs were last compared with the chain. `offered`:
 * the same when refused transactions were last sent again. `only_legacy`: the chain has refused
 * EIP-1559 transactions.
 */
type StoredValueName = "wallet_id" | "nonce_floor" | "watched" | "offered" | "only_legacy";

/** Conditions on jobs that are not final. */
const OPEN_JOB_CONDITIONS = {
  undecided: "final = 0 AND state IN ('waiting', 'signed')",
  decided: "final = 0 AND state IN ('settled', 'failed')",
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
  readonly #sql: SqlStorage;
  readonly #parsedJobs = new Map<string, SettlementJob>();
  #changedJobs = new Set<string>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS job (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, state TEXT NOT NULL,
        sign_before INTEGER NOT NULL, tx TEXT NOT NULL DEFAULT '', block INTEGER, block_hash TEXT,
        reason TEXT, message TEXT, final INTEGER NOT NULL DEFAULT 0, changed_at INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS job_open ON job (seq) WHERE final = 0;
      CREATE INDEX IF NOT EXISTS job_final ON job (changed_at) WHERE final = 1;
      CREATE TABLE IF NOT EXISTS signed (
        hash TEXT PRIMARY KEY, nonce INTEGER NOT NULL, job_id TEXT, raw TEXT NOT NULL,
        gas TEXT NOT NULL, max_fee TEXT NOT NULL, tip TEXT NOT NULL, state TEXT NOT NULL,
        since_block INTEGER NOT NULL, since_time INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS signed_job ON signed (job_id);
      CREATE TABLE IF NOT EXISTS value (name TEXT PRIMARY KEY, value TEXT NOT NULL);`);
  }

  /** A value stored by name; null when there is none. */
  getValue(name: StoredValueName): string | null {
    const [row] = this.#sql.exec("SELECT value FROM value WHERE name = ?", name).toArray();
    return row ? String(row.value) : null;
  }

  setValue(name: StoredValueName, value: string): void {
    this.#sql.exec(
      `INSERT INTO value (name, value) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      name,
      value,
    );
  }

  /** Adds a job; a known one stays as it is. */
  addJob(job: SettlementJob, now: number): void {
    this.#sql.exec(
      `INSERT INTO job (id, body, state, sign_before, changed_at) VALUES (?, ?, 'waiting', ?, ?)
       ON CONFLICT (id) DO NOTHING`,
      job.id,
      JSON.stringify(job),
      job.signBefore,
      now,
    );
  }

  findJob(id: string): StoredJob | null {
    const [row] = this.#sql.exec("SELECT * FROM job WHERE id = ?", id).toArray();
    return row ? toStoredJob(row, this.#parseJob(row)) : null;
  }

  getJobStatus(id: string): JobStatus {
    const found = this.findJob(id);
    if (!found)
      return { state: "unknown", transaction: "", reason: null, message: null, isFinal: false };
    const { state, transaction, reason, message, isFinal } = found;
    if (state === "settled" || state === "failed")
      return { state, transaction, reason, message, isFinal };
    // Of several replacements with rising fees for one nonce, the newest is the likeliest.
    const signed = this.listJobTransactions(id);
    const newest = signed.findLast((one) => one.state !== "lost") ?? signed.at(-1);
    return { state: "pending", transaction: newest?.hash ?? "", reason, message, isFinal };
  }

  /** Jobs that are not final, oldest first: those that wait for an outcome, or have a recent one. */
  listOpenJobs(which: keyof typeof OPEN_JOB_CONDITIONS): StoredJob[] {
    return this.#listJobs(`${OPEN_JOB_CONDITIONS[which]} ORDER BY seq`);
  }

  /** Whether such jobs exist. */
  hasOpenJobs(which: keyof typeof OPEN_JOB_CONDITIONS): boolean {
    return (
      this.#sql.exec(`SELECT 1 FROM job WHERE ${OPEN_JOB_CONDITIONS[which]} LIMIT 1`).toArray()
        .length > 0
    );
  }

  /** Jobs to be signed, oldest first. */
  listWaitingJobs(limit: number): StoredJob[] {
    return this.#listJobs("final = 0 AND state = 'waiting' ORDER BY seq LIMIT ?", limit);
  }

  /** Jobs that were not signed in time. */
  listOverdueJobs(now: number): StoredJob[] {
    return this.#listJobs("final = 0 AND state = 'waiting' AND sign_before <= ?", now);
  }

  #listJobs(where: string, ...params: number[]): StoredJob[] {
    return this.#sql
      .exec(`SELECT * FROM job WHERE ${where}`, ...params)
      .toArray()
      .map((row) => toStoredJob(row, this.#parseJob(row)));
  }

  /** A text that differs whenever a job's or a transaction's state does. */
  takeSnapshot(): string {
    const [row] = this.#sql
      .exec(
        `SELECT (SELECT group_concat(id || state) FROM job WHERE final = 0) AS jobs,
           (SELECT group_concat(hash || state) FROM signed) AS signed`,
      )
      .toArray();
    return `${row?.jobs} ${row?.signed}`;
  }

  /** Nonces of stored transactions that have not lost them. */
  listUsedNonces(): Set<number> {
    const rows = this.#sql.exec("SELECT nonce FROM signed WHERE state <> 'lost'").toArray();
    return new Set(rows.map(({ nonce }) => Number(nonce)));
  }

  /** Transactions that hold a nonce until mined, by nonce, and oldest first within one nonce. */
  listPendingTransactions(): SignedTransaction[] {
    return this.#listTransactions("state IN ('signed', 'sent', 'refused')");
  }

  /** Transactions that are not known to be mined. */
  listUnminedTransactions(): SignedTransaction[] {
    return this.#listTransactions("state <> 'mined'");
  }

  listJobTransactions(jobId: string): SignedTransaction[] {
    return this.#listTransactions("job_id = ?", jobId);
  }

  /** Whether a transaction of the job was sent to a node: then only the chain can end it. */
  wasJobSent(jobId: string): boolean {
    return this.listJobTransactions(jobId).some(({ state }) => state !== "signed");
  }

  #listTransactions(where: string, ...params: string[]): SignedTransaction[] {
    return this.#sql
      .exec(`SELECT * FROM signed WHERE ${where} ORDER BY nonce, rowid`, ...params)
      .toArray()
      .map(toSignedTransaction);
  }

  /** Stores a transaction before it is sent anywhere. */
  storeTransaction(signed: SignedTransaction, now: number): void {
    this.#sql.exec(
      `INSERT INTO signed
         (hash, nonce, job_id, raw, gas, max_fee, tip, state, since_block, since_time)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
    );
    if (signed.jobId !== null) this.#updateJob(signed.jobId, { state: "signed" }, now);
  }

  setTransactionState(hash: string, state: SignedTransaction["state"]): void {
    this.#sql.exec("UPDATE signed SET state = ? WHERE hash = ?", state, hash);
  }

  /** Deletes a transaction that was never sent, or that settles nothing. */
  deleteTransaction(hash: string): void {
    this.#sql.exec("DELETE FROM signed WHERE hash = ?", hash);
  }

  /** Records that this transaction used the nonce, so others with the nonce are lost. */
  recordMinedTransaction(hash: string, nonce: number): void {
    this.setTransactionState(hash, "mined");
    this.#markLost("nonce = ? AND hash <> ?", nonce, hash);
    const floor = Math.max(Number(this.getValue("nonce_floor") ?? 0), nonce + 1);
    this.setValue("nonce_floor", String(floor));
  }

  /** Marks a nonce as used by a foreign transaction, or as beyond the gap limit. */
  markNonceLost(nonce: number): void {
    this.#markLost("nonce = ? AND state <> 'mined'", nonce);
  }

  #markLost(where: string, ...params: (string | number)[]): void {
    const isVoid = "(job_id IS NULL OR state = 'signed')";
    this.#sql.exec(`DELETE FROM signed WHERE ${where} AND ${isVoid}`, ...params);
    this.#sql.exec(`UPDATE signed SET state = 'lost' WHERE ${where}`, ...params);
  }

  recordSettledJob(id: string, place: BlockInclusion, now: number): void {
    this.#updateJob(
      id,
      { state: "settled", ...toInclusionColumns(place), reason: null, message: null },
      now,
    );
  }

  /** @param place - what decided it on the chain, which may change; null when nothing was sent */
  recordFailedJob(
    id: string,
    reason: string,
    message: string,
    place: BlockInclusion | null,
    now: number,
  ): void {
    const final = place === null ? 1 : 0;
    this.#updateJob(
      id,
      { state: "failed", ...toInclusionColumns(place), reason, message, final },
      now,
    );
  }

  /** Queues a job for another signature while its authorization is valid. */
  requeueJob(id: string, now: number): void {
    const found = this.findJob(id);
    if (!found) return;
    const expires = Number(found.job.validBefore) * 1000;
    this.#updateJob(
      id,
      { state: "waiting", ...toInclusionColumns(null), sign_before: expires },
      now,
    );
  }

  /** The transaction's block was orphaned: it is pending again. */
  reopenJob(id: string, now: number): void {
    const undecided = { ...toInclusionColumns(null), reason: null, message: null };
    this.#updateJob(id, { state: "signed", ...undecided }, now);
  }

  /** Deletes the transactions of a final job. */
  finalizeJob(id: string, now: number): void {
    this.#updateJob(id, { final: 1 }, now);
    this.#parsedJobs.delete(id);
    this.#sql.exec("DELETE FROM signed WHERE job_id = ?", id);
    this.#sql.exec("DELETE FROM job WHERE final = 1 AND changed_at < ?", now - RETENTION_MS);
  }

  /** Ids of the jobs that changed since the last call. */
  drainChangedJobs(): Set<string> {
    const changed = this.#changedJobs;
    this.#changedJobs = new Set();
    return changed;
  }

  #updateJob(id: string, changes: Record<string, string | number | null>, now: number): void {
    const names = [...Object.keys(changes), "changed_at"];
    this.#sql.exec(
      `UPDATE job SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = ?`,
      ...Object.values(changes),
      now,
      id,
    );
    this.#changedJobs.add(id);
  }

  /** Caches parsed jobs, which never change and are read in each round. */
  #parseJob({ id, body }: SqlRow): SettlementJob {
    const known = this.#parsedJobs.get(String(id));
    if (known) return known;
    const job = JSON.parse(String(body)) as SettlementJob;
    this.#parsedJobs.set(job.id, job);
    return job;
  }
}
