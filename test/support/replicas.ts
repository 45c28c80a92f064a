import { env } from "cloudflare:workers";
import { wrapD1 } from "./d1.ts";

/** What the pages of escrows read. */
const TABLES = [
  ...[
    "escrow",
    "escrow_identity",
    "escrow_open",
    "escrow_transaction",
    "escrow_action",
    "escrow_request",
  ],
  ...["archive_range", "archived_escrow_count", "chain_tip", "clock"],
];

/** A database whose replicas another one stands in for. */
interface ReplicatedOptions {
  primary: D1Database;
  standIn: D1Database;
  tables: readonly string[];
}

/** The rows of a table by its name. */
type Snapshot = Record<string, Record<string, unknown>[]>;

const toBookmark = (commit: number) => `${commit.toString(16).padStart(8, "0")}-00000000`;

/** One call at a time reads from what stands in for replicas. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * A D1 with read replicas, as Cloudflare describes them. Each replica shows the database after one of its
 * commits. The calls of a session see that of its bookmark or a later one, and never an earlier one than the
 * call before. Another database stands in for the replicas: by default the search database for `DB`.
 */
export class ReplicatedD1 {
  readonly #commits: Snapshot[] = [];
  readonly #options: ReplicatedOptions;
  /** Commits that the replicas are behind. */
  lag = 0;

  private constructor(options: ReplicatedOptions) {
    this.#options = options;
  }

  static async create(
    options: ReplicatedOptions = { primary: env.DB, standIn: env.SEARCH_DB, tables: TABLES },
  ): Promise<ReplicatedD1> {
    const { standIn } = options;
    const { results } = await standIn
      .prepare("SELECT 1 FROM sqlite_master WHERE name = 'escrow'")
      .all();
    if (results.length === 0)
      for (const { queries } of env.TEST_MIGRATIONS)
        await standIn.prepare(queries.join(";\n")).run();
    const replicated = new ReplicatedD1(options);
    await replicated.commit();
    return replicated;
  }

  /** Ends a commit of the primary. */
  async commit(): Promise<void> {
    const { primary, tables } = this.#options;
    const read = await primary.batch<Record<string, unknown>>(
      tables.map((table) => primary.prepare(`SELECT * FROM ${table}`)),
    );
    this.#commits.push(
      Object.fromEntries(tables.map((table, i) => [table, read[i]?.results ?? []])),
    );
  }

  /** The database to bind. Its own writes are commits. */
  get d1(): D1Database {
    const { primary } = this.#options;
    const newest = () => toBookmark(this.#commits.length - 1);
    const run: Parameters<typeof wrapD1>[1] = async ({ sql }, call) => {
      const result = await call();
      if (sql.some((one) => /^\s*(insert|update|delete|replace)\b/i.test(one))) await this.commit();
      return result;
    };
    return Object.assign(wrapD1(primary, run), {
      withSession: (where: string) =>
        where === "first-primary"
          ? Object.assign(wrapD1(primary, run), { getBookmark: newest })
          : this.#openReplica(where),
    });
  }

  #openReplica(where: string): D1Database {
    let at = where === "first-unconstrained" ? 0 : Number.parseInt(where, 16);
    const replica = wrapD1(this.#options.standIn, async (_, run) => {
      const answer = turn.then(async () => {
        at = Math.max(at, this.#commits.length - 1 - this.lag);
        await this.#show(at);
        return run();
      });
      turn = answer.catch(() => undefined);
      return answer;
    });
    return Object.assign(replica, { getBookmark: () => toBookmark(at) });
  }

  async #show(commit: number): Promise<void> {
    const { standIn } = this.#options;
    const statements = Object.entries(this.#commits[commit] ?? {}).flatMap(([table, rows]) => [
      standIn.prepare(`DELETE FROM ${table}`),
      ...rows.map((row) =>
        standIn
          .prepare(
            `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => "?")})`,
          )
          .bind(
            ...Object.values(row).map((value) =>
              Array.isArray(value) ? new Uint8Array(value) : value,
            ),
          ),
      ),
    ]);
    await standIn.batch(statements);
  }
}
