/** Tables with as many rows as years of use leave: copies of what the service wrote and is done with. */

/** The tables that grow with use, each with which of its rows are over, where `due_at` does not say it. */
export const GROWING = {
  audit: "TRUE",
  dispute_proposal: "state NOT IN ('Collecting', 'SettleRequested')",
  escrow: `on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn') AND want IS NULL
    AND under_way IS NULL AND error IS NULL AND deadline IS NULL`,
  escrow_action: "TRUE",
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
  x402_payment_attempt: "status IN ('Settled', 'Failed')",
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
  ...{ blockchain_identifier: "''", doc: "'{}'", data: "'{}'", fields: "'{}'" },
  ...{ before: "NULL", cbor: "NULL", tx_cbor: "NULL", attempt_log: "NULL" },
};

const ROWS_AT_ONCE = 50_000;

interface Original {
  columns: string[];
  /** SQL that makes the table's indexes, by their names. */
  indexes: Record<string, string>;
  /** Rows at first, and those of them that are over, and so are copied. */
  rows: number;
  over: number;
  copies: number;
}

/** Copies rows within a database. */
export class ManyRows {
  readonly #d1: D1Database;
  readonly #originals: ReadonlyMap<Growing, Original>;

  private constructor(d1: D1Database, originals: ReadonlyMap<Growing, Original>) {
    this.#d1 = d1;
    this.#originals = originals;
  }

  /** Keeps what is there and over now, to be copied. */
  static async of(d1: D1Database): Promise<ManyRows> {
    const originals = new Map<Growing, Original>();
    for (const table of Object.keys(GROWING) as Growing[])
      originals.set(table, await keepOriginals(d1, table));
    return new ManyRows(d1, originals);
  }

  /**
   * Copies a table's rows until there are so many.
   *
   * @returns how many there are then; 0: there is nothing to copy
   */
  async fill(table: Growing, rows: number): Promise<number> {
    const original = this.#originals.get(table);
    if (!original || original.over === 0) return 0;
    const { columns, indexes, over } = original;
    const values = columns.map((name) => {
      if (name === COUNTED[table])
        return `${name} - n * (SELECT max(${name}) FROM original_${table})`;
      if (name in TEXTS) return TEXTS[name];
      return NAMES.has(name) ? `${name} || '-' || n` : name;
    });
    const wanted = Math.ceil(rows / over) - 1;
    const perStatement = Math.max(Math.floor(ROWS_AT_ONCE / over), 1);
    // Indexes that are made at once, sorted, take a fraction of the time.
    for (const name of Object.keys(indexes)) await this.#run(`DROP INDEX ${name}`);
    while (original.copies < wanted) {
      const last = Math.min(original.copies + perStatement, wanted);
      await this.#run(
        `WITH RECURSIVE copy (n) AS
           (SELECT ${original.copies + 1} UNION ALL SELECT n + 1 FROM copy WHERE n < ${last})
         INSERT INTO ${table} (${columns}) SELECT ${values} FROM copy, original_${table}`,
      );
      original.copies = last;
    }
    for (const sql of Object.values(indexes)) await this.#run(sql);
    return original.rows + original.copies * over;
  }

  /**
   * Not by `prepare()`: miniflare sends that on a connection of its own, which workerd closes while a
   * statement takes seconds, and then the next one fails.
   */
  async #run(sql: string): Promise<void> {
    await this.#d1.exec(sql.replace(/\s+/g, " "));
  }
}

async function keepOriginals(d1: D1Database, table: Growing): Promise<Original> {
  const columns = await d1
    .prepare("SELECT name FROM pragma_table_info(?)")
    .bind(table)
    .all<{ name: string }>();
  const names = columns.results.map(({ name }) => name);
  const indexes = await d1
    .prepare(
      "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    )
    .bind(table)
    .all<{ name: string; sql: string }>();
  const isDone = names.includes("due_at") ? "due_at IS NULL" : "TRUE";
  await d1
    .prepare(
      `CREATE TABLE original_${table} AS SELECT * FROM ${table} WHERE ${isDone} AND ${GROWING[table]}`,
    )
    .run();
  const count = async (of: string) =>
    (await d1.prepare(`SELECT count(*) AS n FROM ${of}`).first<number>("n")) ?? 0;
  return {
    columns: names,
    indexes: Object.fromEntries(indexes.results.map(({ name, sql }) => [name, sql])),
    rows: await count(table),
    over: await count(`original_${table}`),
    copies: 0,
  };
}
