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

/** Copies rows within a database. */
export class ManyRows {
  readonly #d1: D1Database;
  /** By table, what was there at first and is over, and how often it was copied. */
  readonly #copied = new Map<Growing, { originals: number; copies: number }>();

  constructor(d1: D1Database) {
    this.#d1 = d1;
  }

  /**
   * Copies a table's rows until there are so many.
   *
   * @returns how many there are then; 0: there is nothing to copy
   */
  async fill(table: Growing, rows: number): Promise<number> {
    const columns = await this.#columnsOf(table);
    const known = this.#copied.get(table) ?? {
      originals: await this.#keepOriginals(table, columns),
      copies: 0,
    };
    this.#copied.set(table, known);
    const { originals } = known;
    if (originals === 0) return 0;

    const values = columns.map((name) => {
      if (name === COUNTED[table])
        return `${name} - n * (SELECT max(${name}) FROM original_${table})`;
      if (name in TEXTS) return TEXTS[name];
      return NAMES.has(name) ? `${name} || '-' || n` : name;
    });
    const wanted = Math.ceil(rows / originals) - 1;
    const perStatement = Math.max(Math.floor(ROWS_AT_ONCE / originals), 1);
    await this.#withoutIndexes(table, async () => {
      while (known.copies < wanted) {
        const last = Math.min(known.copies + perStatement, wanted);
        await this.#d1
          .prepare(
            `WITH RECURSIVE copy (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM copy WHERE n < ?2)
             INSERT INTO ${table} (${columns}) SELECT ${values} FROM copy, original_${table}`,
          )
          .bind(known.copies + 1, last)
          .run();
        known.copies = last;
      }
    });
    return this.#count(table);
  }

  /** Makes a table's indexes anew after it was filled: sorted at once, they take a fraction of the time. */
  async #withoutIndexes(table: Growing, fill: () => Promise<void>): Promise<void> {
    const { results } = await this.#d1
      .prepare(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      )
      .bind(table)
      .all<{ name: string; sql: string }>();
    for (const { name } of results) await this.#d1.prepare(`DROP INDEX ${name}`).run();
    await fill();
    for (const { sql } of results) await this.#d1.prepare(sql).run();
  }

  async #columnsOf(table: Growing): Promise<string[]> {
    const { results } = await this.#d1
      .prepare("SELECT name FROM pragma_table_info(?)")
      .bind(table)
      .all<{ name: string }>();
    return results.map(({ name }) => name);
  }

  async #keepOriginals(table: Growing, columns: readonly string[]): Promise<number> {
    const isDone = columns.includes("due_at") ? "due_at IS NULL" : "TRUE";
    await this.#d1
      .prepare(
        `CREATE TABLE original_${table} AS SELECT * FROM ${table} WHERE ${isDone} AND ${GROWING[table]}`,
      )
      .run();
    return this.#count(`original_${table}`);
  }

  async #count(table: string): Promise<number> {
    return (await this.#d1.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n")) ?? 0;
  }
}
