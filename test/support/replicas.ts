import { env } from "cloudflare:workers";
import { wrapD1 } from "./d1.ts";

/** What the diffs of escrows read. */
const TABLES = [
  ...["escrow", "escrow_identity", "escrow_open", "escrow_transaction", "escrow_action"],
  "chain_tip",
];

/** The rows of a table by its name. */
type Snapshot = Record<string, Record<string, unknown>[]>;

const toBookmark = (commit: number) => `${commit.toString(16).padStart(8, "0")}-00000000`;

/**
 * A D1 with read replicas, as Cloudflare describes them. Each replica shows the database after one of its
 * commits. The calls of a session see that of its bookmark or a later one, and never an earlier one than the
 * call before. The search database stands in for the replicas.
 */
export class ReplicatedD1 {
  readonly #commits: Snapshot[] = [];
  /** Commits that the replicas are behind. */
  lag = 0;

  static async create(): Promise<ReplicatedD1> {
    const { results } = await env.SEARCH_DB.prepare(
      "SELECT 1 FROM sqlite_master WHERE name = 'escrow'",
    ).all();
    if (results.length === 0)
      for (const { queries } of env.TEST_MIGRATIONS)
        await env.SEARCH_DB.prepare(queries.join(";\n")).run();
    const replicated = new ReplicatedD1();
    await replicated.commit();
    return replicated;
  }

  /** Ends a commit of the primary. */
  async commit(): Promise<void> {
    const read = await env.DB.batch<Record<string, unknown>>(
      TABLES.map((table) => env.DB.prepare(`SELECT * FROM ${table}`)),
    );
    this.#commits.push(
      Object.fromEntries(TABLES.map((table, i) => [table, read[i]?.results ?? []])),
    );
  }

  get d1(): D1Database {
    const primary = wrapD1(env.DB, (_, run) => run());
    const newest = () => toBookmark(this.#commits.length - 1);
    return Object.assign(primary, {
      withSession: (where: string) =>
        where === "first-primary"
          ? Object.assign(
              wrapD1(env.DB, (_, run) => run()),
              { getBookmark: newest },
            )
          : this.#openReplica(where),
    });
  }

  #openReplica(where: string): D1Database {
    let at = where === "first-unconstrained" ? 0 : Number.parseInt(where, 16);
    const replica = wrapD1(env.SEARCH_DB, async (_, run) => {
      at = Math.max(at, this.#commits.length - 1 - this.lag);
      await this.#show(at);
      return run();
    });
    return Object.assign(replica, { getBookmark: () => toBookmark(at) });
  }

  async #show(commit: number): Promise<void> {
    const statements = Object.entries(this.#commits[commit] ?? {}).flatMap(([table, rows]) => [
      env.SEARCH_DB.prepare(`DELETE FROM ${table}`),
      ...rows.map((row) =>
        env.SEARCH_DB.prepare(
          `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => "?")})`,
        ).bind(...Object.values(row)),
      ),
    ]);
    await env.SEARCH_DB.batch(statements);
  }
}
