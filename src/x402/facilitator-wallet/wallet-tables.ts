import {
  type SignedTransaction,
  type StoredJob,
  toSignedTransaction,
  toStoredJob,
} from "./stored-job.ts";

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
  const values = sql.exec("SELECT name, value FROM value").toArray();
  const jobs = sql.exec("SELECT * FROM open_job ORDER BY seq").toArray();
  const signed = sql
    .exec(
      `SELECT signed.rowid AS seq, signed.*, freed_nonce.job_id AS freed_job_id
       FROM signed LEFT JOIN freed_nonce ON freed_nonce.hash = signed.hash ORDER BY signed.rowid`,
    )
    .toArray();
  return {
    values: new Map(values.map(({ name, value }) => [String(name), String(value)])),
    openJobs: new Map(
      jobs.map((row) => {
        const stored = toStoredJob(row);
        return [stored.job.id, { seq: Number(row.seq), stored }];
      }),
    ),
    signed: new Map(
      signed.map((row) => [
        String(row.hash),
        { seq: Number(row.seq), signed: toSignedTransaction(row) },
      ]),
    ),
  };
}
