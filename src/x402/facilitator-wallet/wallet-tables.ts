import type { SettlementJob } from "../model/messages.ts";
import type { SignedTransaction, StoredJob } from "./stored-job.ts";

/** The rows of a facilitator wallet that its object holds in memory. */
export interface StoredWallet {
  /** The rows of `value` by name. */
  values: Map<string, string>;
  /** The rows of `open_job` by id, oldest first. Each index of the table would write rows for each job. */
  openJobs: Map<string, { seq: number; stored: StoredJob }>;
  /** The rows of `signed` by hash, oldest first. */
  signed: Map<string, { seq: number; signed: SignedTransaction }>;
}

/** Creates the tables of a facilitator wallet where they are missing, and loads their rows. */
export function loadWallet(sql: SqlStorage): StoredWallet {
  sql.exec(`
    CREATE TABLE IF NOT EXISTS open_job (
      seq INTEGER PRIMARY KEY, body TEXT NOT NULL, state TEXT NOT NULL,
      sign_before INTEGER NOT NULL, tx TEXT NOT NULL DEFAULT '', block INTEGER, block_hash TEXT,
      reason TEXT, message TEXT, changed_at INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS final_job (
      id TEXT PRIMARY KEY, state TEXT NOT NULL, tx TEXT NOT NULL, reason TEXT, message TEXT,
      changed_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS gas_cost (
      id TEXT PRIMARY KEY, wei TEXT NOT NULL, changed_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS signed (
      hash TEXT NOT NULL, nonce INTEGER NOT NULL, job_id TEXT, raw TEXT NOT NULL, gas TEXT NOT NULL,
      max_fee TEXT NOT NULL, tip TEXT NOT NULL, state TEXT NOT NULL, since_block INTEGER NOT NULL, since_time INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS freed_nonce (
      hash TEXT PRIMARY KEY, job_id TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS value (name TEXT PRIMARY KEY, value TEXT NOT NULL);`);
  const values = sql.exec<{ name: string; value: string }>("SELECT name, value FROM value");
  const jobs = sql.exec<{ seq: number; body: string } & Omit<StoredJob, "job">>(
    `SELECT seq, body, state, sign_before AS signBefore, tx AS "transaction", block,
       block_hash AS blockHash, reason, message, changed_at AS changedAt
     FROM open_job ORDER BY seq`,
  );
  const signed = sql.exec<SignedRow>(
    `SELECT signed.rowid AS seq, signed.hash, nonce, signed.job_id AS jobId,
       freed_nonce.job_id AS freedJobId, raw AS rawTransaction, gas, max_fee AS maxFee, tip, state,
       since_block AS signedAtBlock, since_time AS signedAtSeconds
     FROM signed LEFT JOIN freed_nonce ON freed_nonce.hash = signed.hash ORDER BY signed.rowid`,
  );
  return {
    values: new Map(values.toArray().map(({ name, value }) => [name, value])),
    openJobs: new Map(
      jobs.toArray().map(({ seq, body, ...state }) => {
        const job = JSON.parse(body) as SettlementJob;
        return [job.id, { seq, stored: { job, ...state } }];
      }),
    ),
    signed: new Map(
      signed.toArray().map(({ seq, gas, maxFee, tip, ...row }) => {
        const amounts = { gas: BigInt(gas), maxFee: BigInt(maxFee), tip: BigInt(tip) };
        return [row.hash, { seq, signed: { ...row, ...amounts } }];
      }),
    ),
  };
}

type Amount = "gas" | "maxFee" | "tip";
/** Amounts are decimal text. */
type SignedRow = { seq: number } & Omit<SignedTransaction, Amount> & Record<Amount, string>;
