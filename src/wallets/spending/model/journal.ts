/**
 * The transactions that a network's wallets gave to nodes, stored apart from the database. A restored
 * database has forgotten some of them. A wallet that spends without them could pay twice.
 */

/** Runs one statement of SQLite and returns its rows. */
export type ExecuteSql = <Row>(sql: string, ...params: (string | number | null)[]) => Row[];

/** A transaction as the journal keeps it. */
export interface JournalEntry {
  /** Hex. */
  hash: string;
  /** JSON; see `toJournalEntry`. */
  content: string;
}

/** How many transactions the wallets of a network have stored, ever. */
export interface StoredCounts {
  /** All together. */
  total: number;
  /** Each, by payment key hash: JSON of an object. */
  each: string;
}

/** What was handed over: of all wallets together, or JSON of an object with what was more, by name. */
export type HighestCounts = number | string;

/** What a wallet is told before it builds anything. */
export type EnterResult =
  /** The database was set back: no wallet of the network spends before then, epoch milliseconds. */
  | { haltedUntil: number }
  /** Of this wallet's transactions those that the database may have forgotten, the oldest; none: it has all. */
  | { haltedUntil: null; forgotten: JournalEntry[] };

/**
 * Others have handed over more than the database was read to have stored. If it was read before they did, that
 * proves nothing: it is judged by what is read once this was told. Only what is more is told.
 */
export interface StaleReadResult {
  highest: HighestCounts;
}

/** The name under which all wallets together are counted: no payment key hash. */
const TOTAL_NAME = "";

/**
 * How long wallets halt after a restore of the database. Until then, every earlier transaction has expired,
 * and a lagging provider has shown those in blocks.
 */
const HALT_DURATION_MS = 8 * 60_000;
/** Forgotten transactions that are told, and stored again, at once. */
const MAX_FORGOTTEN_ENTRIES = 100;
/** How far back a database can be set (D1 Time Travel: 30 days), and a day. */
const ENTRY_RETENTION_MS = 31 * 24 * 60 * 60_000;

const TABLES_SQL = `
CREATE TABLE IF NOT EXISTS handed (
  hash TEXT PRIMARY KEY, vkey TEXT NOT NULL, stored INTEGER NOT NULL, handed_at INTEGER NOT NULL,
  written TEXT NOT NULL, is_forgotten INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS handed_at ON handed (handed_at);
CREATE INDEX IF NOT EXISTS handed_forgotten ON handed (vkey) WHERE is_forgotten = 1;
CREATE TABLE IF NOT EXISTS journal (
  id INTEGER PRIMARY KEY CHECK (id = 1), highest INTEGER NOT NULL, halted_until INTEGER
);
CREATE TABLE IF NOT EXISTS highest (vkey TEXT PRIMARY KEY, stored INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO journal VALUES (1, 0, NULL);`;

/**
 * The journal of one network. `stored` is always how many transactions the database has seen stored by all
 * wallets of the network, and `each` how many by each. Every count only grows, so a database that says less
 * than what was stored when a transaction was handed over has been set back. The sum alone does not tell: what
 * one wallet has lost, others that were in the middle of a run may have stored since. `after` is the `highest`
 * that was told before they were read; null: none was; left out: they are judged as they are. The version
 * before leaves out `each`.
 */
export class Journal {
  readonly #execute: ExecuteSql;

  constructor(execute: ExecuteSql) {
    this.#execute = execute;
    for (const statement of TABLES_SQL.split(";")) if (statement.trim() !== "") execute(statement);
  }

  /**
   * Asks whether a wallet may build.
   *
   * @param now - epoch milliseconds
   */
  enter(
    vkey: string,
    stored: number,
    now: number,
    after?: HighestCounts | null,
    each?: string,
  ): EnterResult | StaleReadResult {
    const look = this.#checkRestore(stored, now, after, each);
    if (look !== null) return look;
    const forgotten = this.#execute<JournalEntry>(
      `SELECT hash, written AS content FROM handed WHERE vkey = ? AND is_forgotten = 1
       ORDER BY stored, hash LIMIT ${MAX_FORGOTTEN_ENTRIES}`,
      vkey,
    );
    return { haltedUntil: null, forgotten };
  }

  /**
   * Keeps a transaction, before a node gets it.
   *
   * @returns whether it may be sent; not while the network's wallets are halted
   */
  append(
    vkey: string,
    { hash, content }: JournalEntry,
    stored: number,
    now: number,
    after?: HighestCounts | null,
    each?: string,
  ): boolean | StaleReadResult {
    const look = this.#checkRestore(stored, now, after, each);
    if (look !== null) return "highest" in look ? look : false;
    this.#execute(
      `INSERT INTO handed VALUES (?, ?, ?, ?, ?, 0)
       ON CONFLICT (hash) DO UPDATE SET handed_at = excluded.handed_at`,
      ...[hash, vkey, stored, now, content],
    );
    this.#execute("UPDATE journal SET highest = max(highest, ?)", stored);
    this.#execute(
      `INSERT INTO highest SELECT ?, ? WHERE true
       ON CONFLICT (vkey) DO UPDATE SET stored = max(stored, excluded.stored)`,
      ...[vkey, parseCounts(each)[vkey] ?? 0],
    );
    this.#execute("DELETE FROM handed WHERE handed_at < ?", now - ENTRY_RETENTION_MS);
    return true;
  }

  /** Ends the halt: its time is over, and the records have followed the chain up to its tip. */
  resume(stored: number, each = "{}"): void {
    this.#execute("UPDATE journal SET highest = ?, halted_until = NULL", stored);
    this.#execute("DELETE FROM highest");
    this.#execute("INSERT INTO highest SELECT key, value FROM json_each(?)", each);
  }

  /** Forgotten transactions of a wallet are in the database again. */
  markRestored(vkey: string, hashes: readonly string[], stored: number): void {
    this.#execute(
      `UPDATE handed SET is_forgotten = 0, stored = ? WHERE vkey = ? AND is_forgotten = 1
       AND hash IN (SELECT value FROM json_each(?))`,
      ...[stored, vkey, JSON.stringify(hashes)],
    );
  }

  /** @returns until when nothing is spent; null: nothing is in the way */
  #checkRestore(
    stored: number,
    now: number,
    after?: HighestCounts | null,
    each?: string,
  ): { haltedUntil: number } | StaleReadResult | null {
    const [state] = this.#execute<{ highest: number; haltedUntil: number | null }>(
      "SELECT highest, halted_until AS haltedUntil FROM journal",
    );
    if (state === undefined) throw new Error("the journal has no row");
    const { highest, haltedUntil } = state;
    if (haltedUntil !== null) return { haltedUntil };
    const counts = parseCounts(each);
    const storedCountOf = (name: string) => (name === TOTAL_NAME ? stored : (counts[name] ?? 0));
    const known = [{ name: TOTAL_NAME, count: highest }];
    if (each !== undefined)
      known.push(
        ...this.#execute<{ name: string; count: number }>(
          "SELECT vkey AS name, stored AS count FROM highest",
        ),
      );
    const more = known.filter(({ name, count }) => storedCountOf(name) < count);
    if (more.length === 0) return null;
    const reported = Object.fromEntries(more.map(({ name, count }) => [name, count]));
    if (after === null) return { highest: each === undefined ? highest : JSON.stringify(reported) };
    // What others handed over since is as new as the reading.
    const before = after === undefined ? reported : parseHighestCounts(after);
    if (Object.entries(before).every(([name, count]) => storedCountOf(name) >= count)) return null;
    const until = now + HALT_DURATION_MS;
    this.#execute("UPDATE journal SET halted_until = ?", until);
    for (const { name, count } of more) this.#markForgotten(name, storedCountOf(name), count);
    return { haltedUntil: until };
  }

  /** Marks what a database may have forgotten that has `stored` of `highest` transactions. */
  #markForgotten(name: string, stored: number, highest: number): void {
    if (name === TOTAL_NAME) {
      this.#execute("UPDATE handed SET is_forgotten = 1 WHERE stored > ?", stored);
      return;
    }
    // A wallet hands over what it stores in that order: what it has lost is among its newest.
    this.#execute(
      `UPDATE handed SET is_forgotten = 1 WHERE vkey = ?1 AND stored >= coalesce(
         (SELECT stored FROM handed WHERE vkey = ?1 ORDER BY stored DESC LIMIT 1 OFFSET ?2), 0)`,
      ...[name, highest - stored - 1],
    );
  }
}

function parseCounts(each = "{}"): Record<string, number> {
  return JSON.parse(each);
}

function parseHighestCounts(highest: HighestCounts): Record<string, number> {
  return typeof highest === "number" ? { [TOTAL_NAME]: highest } : JSON.parse(highest);
}
