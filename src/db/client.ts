import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import type { Network } from "../chain/network.ts";
import { withTimeout } from "../timeout.ts";

/** D1 did not answer, or its answer does not say whether our statement applied. Becomes a 503. */
export class DatabaseUnavailableError extends Error {
  override name = "DatabaseUnavailableError";
  /** Seconds a caller should wait before it retries. */
  readonly retryAfter = 2;
}

export interface DatabaseOptions {
  /**
   * `once` (default): a write whose outcome is unknown is not sent again. `idempotent`: the caller
   * made every write safe to repeat (by an operation key, a client-made id or a monotonic
   * condition), so it is retried.
   */
  writes?: "once" | "idempotent";
  /** Epoch milliseconds after which nothing is tried again. Default: 10 s from now. */
  deadline?: number;
  /**
   * Where reads may go: the primary (default), any replica, or a replica at least as new as a
   * bookmark. Writes always go to the primary.
   */
  reads?: "primary" | "replica" | { bookmark: string };
}

/** D1 with timeouts, retries and a deadline. */
export interface Database {
  /** Typed queries over the feature's tables. */
  orm: DrizzleD1Database;
  /** Rows of one statement. Parameters are bound, never spliced. */
  all<Row>(sql: string, ...params: unknown[]): Promise<Row[]>;
  /** One SQL transaction: all statements apply, or none. */
  batch(statements: Statement[]): Promise<D1Result[]>;
  /** The session's bookmark, for `x-d1-bookmark`; null before its first query. */
  bookmark(): string | null;
}

/** A statement of a batch: SQL text and its parameters. */
export interface Statement {
  sql: string;
  params: unknown[];
}

/** A statement for `batch`, from SQL text and parameters. */
export function statement(sql: string, ...params: unknown[]): Statement {
  return { sql, params };
}

const MAX_ATTEMPTS = 3;
const DEFAULT_DEADLINE_MS = 10_000;

/**
 * The only way to D1. `db(env, network)` is the database of a network (records, cursors, events), and
 * `db(env)` the core database (keys, source settings, endpoints). Both are one D1 today. No statement
 * joins tables of the two, except the few that docs/scaling.md names.
 */
export function openDb(
  env: { DB: D1Database },
  _network?: Network,
  options: DatabaseOptions = {},
): Database {
  const reads = options.reads ?? "primary";
  const session =
    reads === "primary"
      ? env.DB
      : env.DB.withSession(reads === "replica" ? "first-unconstrained" : reads.bookmark);
  const guard = new RetryPolicy(
    options.writes === "idempotent",
    options.deadline ?? Date.now() + DEFAULT_DEADLINE_MS,
  );
  const d1 = new RetryingD1(session, guard);
  return {
    orm: drizzle(d1 as unknown as D1Database),
    all: async (sql, ...params) =>
      (
        await d1
          .prepare(sql)
          .bind(...params)
          .all()
      ).results as never[],
    batch: (statements) =>
      d1.batch(statements.map(({ sql, params }) => d1.prepare(sql).bind(...params))),
    bookmark: () => ("getBookmark" in session ? session.getBookmark() : null),
  };
}

/**
 * What a D1 error says about its statement. `refused`: a constraint or a mistake, nothing was
 * applied. `unknown`: it may or may not have been applied, a retry may help. `overloaded`: a retry
 * makes it worse.
 */
export function classifyError(error: unknown): "refused" | "unknown" | "overloaded" {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof AttemptTimeoutError) return "unknown";
  if (OVERLOADED_MESSAGES.some((part) => text.includes(part))) return "overloaded";
  if (UNKNOWN_OUTCOME_MESSAGES.some((part) => text.includes(part))) return "unknown";
  return "refused";
}

/**
 * Whether an error says that the database fails, or cannot be used as it is, rather than that it refuses the
 * values of a statement.
 */
export function isDatabaseFault(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError) return true;
  const text = error instanceof Error ? error.message : "";
  return text.includes("D1_ERROR") && !VALUE_ERROR_PATTERN.test(text);
}

/** What SQLite says of values, and no other statement has to fear. */
const VALUE_ERROR_PATTERN =
  /constraint failed|too big|malformed JSON|datatype mismatch|integer overflow/;

/** Whether an error is the violation of a constraint on `table.column`, which aborted the batch. */
export function violates(error: unknown, column: `${string}.${string}` | "CHECK"): boolean {
  const text = error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : "";
  return column === "CHECK"
    ? text.includes("CHECK constraint failed")
    : new RegExp(
        `(NOT NULL|UNIQUE) constraint failed: [^:]*\\b${column.replace(".", "\\.")}\\b`,
      ).test(text);
}

// Messages of D1 (docs/d1/observability/debug-d1) and of the underlying runtime.
const UNKNOWN_OUTCOME_MESSAGES = [
  "Network connection lost",
  "storage caused object to be reset",
  "reset because its code was updated",
  "Cannot resolve D1 DB due to transient issue",
  "Can't read from request stream",
  "storage operation exceeded timeout",
  "Replica disconnected from primary",
];
const OVERLOADED_MESSAGES = [
  "D1 DB is overloaded",
  "Too many requests queued",
  "exceeded its memory limit",
  "exceeded its CPU time limit",
  "Currently processing a long-running export",
  "7429",
];

class AttemptTimeoutError extends Error {
  override name = "AttemptTimeoutError";
}

/** Retries one call until an attempt answers, the error is final, or the deadline passes. */
class RetryPolicy {
  readonly #mayRepeatWrites: boolean;
  readonly #deadline: number;

  constructor(repeatWrites: boolean, deadline: number) {
    this.#mayRepeatWrites = repeatWrites;
    this.#deadline = deadline;
  }

  async run<T>(readsOnly: boolean, call: () => Promise<T>): Promise<T> {
    const mayRepeat = readsOnly || this.#mayRepeatWrites;
    const budget = this.#deadline - Date.now();
    // A third of the remaining time each, so that a stalled attempt leaves time for two more.
    const attemptMs = mayRepeat ? Math.max(budget / MAX_ATTEMPTS, 1) : budget;
    for (let attempt = 1; ; attempt++) {
      if (Date.now() >= this.#deadline) throw new DatabaseUnavailableError("deadline passed");
      try {
        return await withTimeout(attemptMs, call(), () => {
          throw new AttemptTimeoutError(`no answer in ${Math.round(attemptMs)} ms`);
        });
      } catch (error) {
        const kind = classifyError(error);
        if (kind === "refused") throw error;
        if (kind === "overloaded" || !mayRepeat || attempt === MAX_ATTEMPTS)
          throw new DatabaseUnavailableError("database unavailable", { cause: error });
        await new Promise((done) => setTimeout(done, Math.random() * 50 * 2 ** attempt));
      }
    }
  }
}

/** The part of `D1Database` that drizzle and we use, with every call guarded. */
class RetryingD1 {
  readonly #inner: Pick<D1Database, "prepare" | "batch">;
  readonly #retryPolicy: RetryPolicy;

  constructor(inner: Pick<D1Database, "prepare" | "batch">, guard: RetryPolicy) {
    this.#inner = inner;
    this.#retryPolicy = guard;
  }

  prepare(sql: string): RetryingStatement {
    return new RetryingStatement(this.#inner.prepare(sql), sql, this.#retryPolicy);
  }

  batch(statements: RetryingStatement[]): Promise<D1Result[]> {
    const readsOnly = statements.every((one) => one.isReadOnly);
    return this.#retryPolicy.run(readsOnly, () =>
      this.#inner.batch(statements.map((one) => one.inner)),
    );
  }
}

class RetryingStatement {
  readonly inner: D1PreparedStatement;
  readonly isReadOnly: boolean;
  readonly #sql: string;
  readonly #retryPolicy: RetryPolicy;

  constructor(inner: D1PreparedStatement, sql: string, guard: RetryPolicy) {
    this.inner = inner;
    this.#sql = sql;
    this.isReadOnly = /^\s*(select|with)\b/i.test(sql) && !/\b(insert|update|delete)\b/i.test(sql);
    this.#retryPolicy = guard;
  }

  bind(...params: unknown[]): RetryingStatement {
    return new RetryingStatement(this.inner.bind(...params), this.#sql, this.#retryPolicy);
  }

  all(): Promise<D1Result<unknown>> {
    return this.#retryPolicy.run(this.isReadOnly, () => this.inner.all());
  }

  run(): Promise<D1Result<unknown>> {
    return this.#retryPolicy.run(this.isReadOnly, () => this.inner.run());
  }

  raw(): Promise<unknown[][]> {
    return this.#retryPolicy.run(this.isReadOnly, () => this.inner.raw());
  }

  first(): Promise<unknown> {
    return this.#retryPolicy.run(this.isReadOnly, () => this.inner.first());
  }
}
