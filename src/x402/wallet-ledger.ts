import type { Job, JobStatus } from "./settlement.ts";

/** A transaction of the wallet that was signed. Amounts are wei. */
export interface Signed {
  hash: string;
  nonce: number;
  /** The job it settles; null for one that only uses its nonce up. */
  jobId: string | null;
  raw: string;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  /** `signed`: stored and not yet sent. `sent`: it may be anywhere. `mined`: it has a receipt. */
  state: "signed" | "sent" | "mined";
  /** Block height and Unix seconds when it was signed. */
  sinceBlock: number;
  sinceTime: number;
}

/** A job with what has become of it. */
export interface StoredJob {
  job: Job;
  state: "waiting" | "signed" | "settled" | "failed";
  /** Epoch milliseconds: not signed by then, it never is. */
  signBefore: number;
  transaction: string;
  /** Height and hash of the block that decided it; null when no block did. */
  block: number | null;
  blockHash: string | null;
  reason: string | null;
  message: string | null;
  isFinal: boolean;
  /** Epoch milliseconds of the last change. */
  changedAt: number;
}

/** What decided a job: the transaction's hash, and height and hash of its block. */
export interface MinedIn {
  transaction: string;
  block: number;
  blockHash: string;
}

/** `watched`: hash of the latest block when decided jobs were last compared with the chain. */
type ValueName = "wallet_id" | "nonce_floor" | "watched";

const KEPT_MS = 7 * 24 * 60 * 60_000;

/**
 * The books of one facilitator wallet: the jobs it was given and the transactions it signed for
 * them. All calls are synchronous, so what is written before an external call is durable before
 * that call leaves the object.
 *
 * Invariants: a nonce is held by live transactions (`signed`, `sent`) of one job only; a transaction
 * that was dropped is never sent again; a job is signed anew only after its transactions are gone.
 */
export class WalletLedger {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS job (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, state TEXT NOT NULL,
        sign_before INTEGER NOT NULL, tx TEXT NOT NULL DEFAULT '', block INTEGER, block_hash TEXT,
        reason TEXT, message TEXT, final INTEGER NOT NULL DEFAULT 0, changed_at INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS job_open ON job (seq) WHERE final = 0;
      CREATE TABLE IF NOT EXISTS signed (
        hash TEXT PRIMARY KEY, nonce INTEGER NOT NULL, job_id TEXT, raw TEXT NOT NULL,
        gas TEXT NOT NULL, max_fee TEXT NOT NULL, tip TEXT NOT NULL, state TEXT NOT NULL,
        since_block INTEGER NOT NULL, since_time INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS signed_job ON signed (job_id);
      CREATE TABLE IF NOT EXISTS value (name TEXT PRIMARY KEY, value TEXT NOT NULL);`);
  }

  /** A value that is kept by name; null when there is none. */
  get(name: ValueName): string | null {
    const [row] = this.#sql.exec("SELECT value FROM value WHERE name = ?", name).toArray();
    return row ? String(row.value) : null;
  }

  set(name: ValueName, value: string): void {
    this.#sql.exec(
      `INSERT INTO value (name, value) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      name,
      value,
    );
  }

  /** Takes a job on; one that is known stays as it is. */
  add(job: Job, now: number): void {
    this.#sql.exec(
      `INSERT INTO job (id, body, state, sign_before, changed_at) VALUES (?, ?, 'waiting', ?, ?)
       ON CONFLICT (id) DO NOTHING`,
      job.id,
      JSON.stringify(job),
      job.signBefore,
      now,
    );
  }

  find(id: string): StoredJob | null {
    const [row] = this.#sql.exec("SELECT * FROM job WHERE id = ?", id).toArray();
    return row ? storedJob(row) : null;
  }

  status(id: string): JobStatus {
    const found = this.find(id);
    if (!found)
      return { state: "unknown", transaction: "", reason: null, message: null, isFinal: false };
    const { state, transaction, reason, message, isFinal } = found;
    if (state === "settled" || state === "failed")
      return { state, transaction, reason, message, isFinal };
    // Of several that pay more and more for the same nonce, the newest is the likeliest.
    const sent = this.signedFor(id).at(-1)?.hash ?? "";
    return { state: "pending", transaction: sent, reason, message, isFinal };
  }

  /** Jobs that are not final, oldest first: undecided ones, and what a block decided lately. */
  open(): StoredJob[] {
    return this.#sql
      .exec("SELECT * FROM job WHERE final = 0 ORDER BY seq")
      .toArray()
      .map(storedJob);
  }

  /** Every transaction on the books, by nonce, and oldest first among those of one nonce. */
  transactions(): Signed[] {
    return this.#signed("TRUE");
  }

  /** Those that may yet be mined. */
  live(): Signed[] {
    return this.#signed("state <> 'mined'");
  }

  signedFor(jobId: string): Signed[] {
    return this.#signed("job_id = ?", jobId);
  }

  #signed(where: string, ...params: string[]): Signed[] {
    return this.#sql
      .exec(`SELECT * FROM signed WHERE ${where} ORDER BY nonce, rowid`, ...params)
      .toArray()
      .map(signedRow);
  }

  /** Writes a transaction down before it is sent anywhere. */
  sign(signed: Signed, now: number): void {
    this.#sql.exec(
      `INSERT INTO signed
         (hash, nonce, job_id, raw, gas, max_fee, tip, state, since_block, since_time)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      signed.hash,
      signed.nonce,
      signed.jobId,
      signed.raw,
      String(signed.gas),
      String(signed.maxFee),
      String(signed.tip),
      signed.state,
      signed.sinceBlock,
      signed.sinceTime,
    );
    if (signed.jobId !== null) this.#move(signed.jobId, { state: "signed" }, now);
  }

  mark(hash: string, state: Signed["state"]): void {
    this.#sql.exec("UPDATE signed SET state = ? WHERE hash = ?", state, hash);
  }

  /** Strikes a transaction off: it is never sent again. */
  drop(hash: string): void {
    this.#sql.exec("DELETE FROM signed WHERE hash = ?", hash);
  }

  /** The nonce was used by this transaction, so the others that wanted it are void. */
  mined(hash: string, nonce: number): void {
    this.mark(hash, "mined");
    this.#sql.exec("DELETE FROM signed WHERE nonce = ? AND hash <> ?", nonce, hash);
    const floor = Math.max(Number(this.get("nonce_floor") ?? 0), nonce + 1);
    this.set("nonce_floor", String(floor));
  }

  /** Strikes off what lost its nonce to a transaction that is not on the books. */
  dropNonce(nonce: number): void {
    this.#sql.exec("DELETE FROM signed WHERE nonce = ?", nonce);
  }

  settle(id: string, place: MinedIn, now: number): void {
    this.#move(id, { state: "settled", ...columns(place), reason: null, message: null }, now);
  }

  /** @param place - where its transaction reverted, which a reorganisation may undo */
  fail(id: string, reason: string, message: string, place: MinedIn | null, now: number): void {
    const final = place === null ? 1 : 0;
    this.#move(id, { state: "failed", ...columns(place), reason, message, final }, now);
  }

  /** Has a job signed anew, as long as its authorization lives. */
  requeue(id: string, now: number): void {
    const found = this.find(id);
    if (!found) return;
    const expires = Number(found.job.validBefore) * 1000;
    this.#move(id, { state: "waiting", ...columns(null), sign_before: expires }, now);
  }

  /** A block that held the transaction is gone: it is on its way again. */
  reopen(id: string, now: number): void {
    const undecided = { ...columns(null), reason: null, message: null };
    this.#move(id, { state: "signed", ...undecided }, now);
  }

  /** What a decided job leaves behind is not needed once no reorganisation can touch it. */
  finish(id: string, now: number): void {
    this.#move(id, { final: 1 }, now);
    this.#sql.exec("DELETE FROM signed WHERE job_id = ?", id);
    this.#sql.exec("DELETE FROM job WHERE final = 1 AND changed_at < ?", now - KEPT_MS);
  }

  #move(id: string, changes: Record<string, string | number | null>, now: number): void {
    const names = [...Object.keys(changes), "changed_at"];
    this.#sql.exec(
      `UPDATE job SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = ?`,
      ...Object.values(changes),
      now,
      id,
    );
  }
}

/** Whether the job came to an end, which a reorganisation may undo while it is not final. */
export function isDecided({ state }: StoredJob): boolean {
  return state === "settled" || state === "failed";
}

function columns(place: MinedIn | null) {
  const { transaction: tx = "", block = null, blockHash: block_hash = null } = place ?? {};
  return { tx, block, block_hash };
}

type Row = Record<string, SqlStorageValue>;

function storedJob(row: Row): StoredJob {
  return {
    job: JSON.parse(String(row.body)) as Job,
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

function signedRow(row: Row): Signed {
  return {
    hash: String(row.hash),
    nonce: Number(row.nonce),
    jobId: row.job_id === null ? null : String(row.job_id),
    raw: String(row.raw),
    gas: BigInt(String(row.gas)),
    maxFee: BigInt(String(row.max_fee)),
    tip: BigInt(String(row.tip)),
    state: row.state as Signed["state"],
    sinceBlock: Number(row.since_block),
    sinceTime: Number(row.since_time),
  };
}
