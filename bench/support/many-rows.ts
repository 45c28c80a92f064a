/** Tables with as many rows as years of use leave: copies of what the service wrote and is done with. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The tables that grow with use, each with which of its rows are over, where `due_at` does not say it. */
export const GROWING = {
  audit: "TRUE",
  dispute_proposal: "state NOT IN ('Collecting', 'SettleRequested')",
  escrow: `on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn') AND intent IS NULL
    AND pending_hash IS NULL AND error IS NULL AND deadline IS NULL`,
  escrow_action: "TRUE",
  escrow_identity: "TRUE",
  escrow_open: "TRUE",
  escrow_request: "TRUE",
  escrow_transaction: "TRUE",
  event: "TRUE",
  inbox_registration: "TRUE",
  invoice_base: "TRUE",
  invoice_document: "TRUE",
  invoiced_payment: "TRUE",
  registration: "TRUE",
  registry_entry: "TRUE",
  transfer: "TRUE",
  wallet_transaction: "TRUE",
  webhook_delivery: "TRUE",
  worker_bot_move: "TRUE",
  x402_payment_attempt: "status IN ('Settled', 'Failed') AND watched_until IS NULL",
  x402_settlement: "TRUE",
} as const;
export type Growing = keyof typeof GROWING;

/** What names a row, or the row that it belongs to: copies belong to copies. */
const NAMES = new Set(
  `id record_id event_id base_id attempt_id migration_id identifier_hash utxo hash tx_hash seed number
   agent_identifier agent_slug purchase_of payment_payload_hash payment_identifier claim
   buyer_vkey`.split(/\s+/),
);

/** Whole numbers that are unique in their table: the copies count down. */
const COUNTED: Partial<Record<Growing, string>> = { event: "seq", invoice_document: "sequence" };

/** Long texts, of which the copies have none: rows are counted, not bytes. */
const TEXTS: Record<string, string> = {
  ...{
    blockchain_identifier: "''",
    doc: "iif(doc IS NULL, NULL, '{}')",
    data: "'{}'",
  },
  ...{ before: "NULL", cbor: "NULL", attempt_log: "NULL" },
};

/** Copies rows within the file of a database, which nobody else has open. */
export class ManyRows {
  readonly #file: DatabaseSync;

  /** @param folder - a Worker's kept state, of one database with the tables and others without */
  constructor(folder: string) {
    this.#file = databaseIn(folder);
    // Nothing is lost that could not be made again, and nobody else reads meanwhile.
    this.#file.exec(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000",
    );
  }

  close(): void {
    this.#file.exec("PRAGMA journal_mode = WAL");
    this.#file.close();
  }

  /**
   * Copies a table's rows until there are so many.
   *
   * @returns how many there are then; 0: there is nothing to copy
   */
  fill(table: Growing, rows: number): number {
    const columns = this.#names("SELECT name FROM pragma_table_info(?)", table);
    const isDone = columns.includes("due_at") ? "due_at IS NULL" : "TRUE";
    this.#file.exec(
      `CREATE TABLE IF NOT EXISTS original_${table} AS
       SELECT *, 0 AS copies FROM ${table} WHERE ${isDone} AND ${GROWING[table]}`,
    );
    const originals = this.#number(`SELECT count(*) AS n FROM original_${table}`);
    if (originals === 0) return 0;

    const values = columns.map((name) => {
      if (name === COUNTED[table])
        return `${name} - n * (SELECT max(${name}) FROM original_${table})`;
      if (name in TEXTS) return TEXTS[name];
      return NAMES.has(name) ? `${name} || '-' || n` : name;
    });
    const copied = this.#number(`SELECT max(copies) AS n FROM original_${table}`);
    const copies = Math.max(Math.ceil(rows / originals) - 1, copied);
    // Indexes that are made at once, sorted, take a fraction of the time.
    const indexes = this.#names(
      "SELECT sql AS name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      table,
    );
    for (const sql of indexes)
      this.#file.exec(sql.replace(/^CREATE (UNIQUE )?INDEX (`\w+`).*$/s, "DROP INDEX $2"));
    this.#file.exec(
      `WITH RECURSIVE copy (n) AS
         (SELECT ${copied + 1} WHERE ${copied} < ${copies} UNION ALL SELECT n + 1 FROM copy WHERE n < ${copies})
       INSERT INTO ${table} (${columns}) SELECT ${values} FROM copy, original_${table};
       UPDATE original_${table} SET copies = ${copies}`,
    );
    for (const sql of indexes) this.#file.exec(sql);
    return this.#number(`SELECT count(*) AS n FROM ${table}`);
  }

  #names(sql: string, table: string): string[] {
    return this.#file
      .prepare(sql)
      .all(table)
      .map(({ name }) => String(name));
  }

  #number(sql: string): number {
    return Number(this.#file.prepare(sql).get()?.n);
  }
}

/** Opens the file of the service's database in the folder of a stopped Worker. */
export function databaseIn(folder: string): DatabaseSync {
  for (const path of globSync(join(folder, "d1/*/*.sqlite"))) {
    const file = new DatabaseSync(path);
    // Archives have escrows too.
    const isIt = file.prepare("SELECT 1 FROM sqlite_master WHERE name = 'escrow_identity'").get();
    if (isIt) return file;
    file.close();
  }
  throw new Error(`no database with payments in ${folder}`);
}
