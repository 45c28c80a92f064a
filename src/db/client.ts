import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import type { Network } from "../chain/network.ts";
import { log } from "../log.ts";
import { withTimeout } from "../timeout.ts";
import { findMonitor, type MonitoredDatabase } from "./database-monitor.ts";
import { addPrimaryBookmark } from "./primary-bookmark.ts";

/** D1 did not answer, or its answer does not say whether our statement applied. Becomes a 503. */
export class DatabaseUnavailableError extends Error {
  override name = "DatabaseUnavailableError";
  /** Seconds a caller should wait before it retries. */
  readonly retryAfter: number = 2;
}

/** D1 has no room for a write, and applied nothing of its batch. Reads and deletions go on. */
export class DatabaseFullError extends DatabaseUnavailableError {
  override name = "DatabaseFullError";
  /** The cron looks for room each minute. */
  override readonly retryAfter = 60;
}

/** An archive has less than the database moved there: it was set back, or it is not bound. */
export class ArchiveBehindError extends DatabaseUnavailableError {
  override name = "ArchiveBehindError";
  /** A person has to put it forward. */
  override readonly retryAfter = 60;
}

/** An archive that has records is not bound. */
export class ArchiveUnboundError extends ArchiveBehindError {
  override name = "ArchiveUnboundError";
  /** Of the archive. */
  readonly binding: string;

  constructor(binding: string) {
    super(`${binding} is not bound`);
    this.binding = binding;
  }
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
  env: MonitoredDatabase,
  _network?: Network,
  options: DatabaseOptions = {},
): Database {
  const reads = options.reads ?? "primary";
  const session =
    reads === "primary"
      ? null
      : env.DB.withSession(reads === "replica" ? "first-unconstrained" : reads.bookmark);
  const guard = new RetryPolicy(
    options.writes === "idempotent",
    options.deadline ?? Date.now() + DEFAULT_DEADLINE_MS,
    () => reportFull(env),
  );
  const d1 = new RetryingD1((call) => (session ? call(session) : askPrimary(env.DB, call)), guard);
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
    bookmark: () => session?.getBookmark() ?? null,
  };
}

/** Only the first call of a session goes to the primary, so each call has another session. */
async function askPrimary<T>(
  d1: D1Database,
  call: (session: D1DatabaseSession) => Promise<T>,
): Promise<T> {
  const session = d1.withSession("first-primary");
  try {
    return await call(session);
  } finally {
    addPrimaryBookmark(session.getBookmark());
  }
}

/**
 * What a D1 error says about its statement. `refused`: a constraint or a mistake, nothing was
 * applied. `full`: there is no room, nothing was applied. `unknown`: it may or may not have been
 * applied, a retry may help. `overloaded`: a retry makes it worse.
 */
export function classifyError(error: unknown): "refused" | "full" | "unknown" | "overloaded" {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof AttemptTimeoutError) return "unknown";
  if (FULL_MESSAGES.some((part) => text.includes(part))) return "full";
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

/** Returns the `catch` of a batch, which replaces the violation of a constraint with another error. */
export function onViolation(
  column: Parameters<typeof violates>[1],
  toError: () => Error,
): (error: unknown) => never {
  return (error) => {
    throw violates(error, column) ? toError() : error;
  };
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

/** What D1 says at its own limit and at the account's, and SQLite at its limit of pages. */
const FULL_MESSAGES = [
  "Exceeded maximum DB size",
  "maximum account storage limit",
  "database or disk is full",
];

/** A report that follows another of the same isolate sooner is left out. */
const REPORT_INTERVAL_MS = 10_000;
const REPORT_TIMEOUT_MS = 2_000;
const reportedAt = new WeakMap<MonitoredDatabase, number>();

/** Tells the monitor that the database is full: the database itself cannot store it. */
async function reportFull(env: MonitoredDatabase): Promise<void> {
  const now = Date.now();
  const { DATABASE_MONITOR } = env;
  if (!DATABASE_MONITOR || now - (reportedAt.get(env) ?? 0) < REPORT_INTERVAL_MS) return;
  reportedAt.set(env, now);
  try {
    const report = findMonitor({ ...env, DATABASE_MONITOR }).reportFull(now);
    await withTimeout(REPORT_TIMEOUT_MS, report, () => {
      throw new Error(`no answer in ${REPORT_TIMEOUT_MS} ms`);
    });
  } catch (error) {
    log("error", "database.full_unreported", { error: String(error) });
  }
}

class AttemptTimeoutError extends Error {
  override name = "AttemptTimeoutError";
}

/** Retries one call until an attempt answers, the error is final, or the deadline passes. */
class RetryPolicy {
  readonly #mayRepeatWrites: boolean;
  readonly #deadline: number;
  readonly #onFull: () => Promise<void>;

  constructor(repeatWrites: boolean, deadline: number, onFull: () => Promise<void>) {
    this.#mayRepeatWrites = repeatWrites;
    this.#deadline = deadline;
    this.#onFull = onFull;
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
        if (kind === "full") {
          await this.#onFull();
          throw new DatabaseFullError("database full", { cause: error });
        }
        if (kind === "overloaded" || !mayRepeat || attempt === MAX_ATTEMPTS)
          throw new DatabaseUnavailableError("database unavailable", { cause: error });
        await new Promise((done) => setTimeout(done, Math.random() * 50 * 2 ** attempt));
      }
    }
  }
}

/** Runs a call in the session that it belongs to. */
type RunInSession = <T>(call: (session: D1DatabaseSession) => Promise<T>) => Promise<T>;

/** The part of `D1Database` that drizzle and we use, with every call guarded. */
class RetryingD1 {
  readonly #runInSession: RunInSession;
  readonly #retryPolicy: RetryPolicy;

  constructor(runInSession: RunInSession, guard: RetryPolicy) {
    this.#runInSession = runInSession;
    this.#retryPolicy = guard;
  }

  prepare(sql: string): RetryingStatement {
    return new RetryingStatement(this, sql, []);
  }

  batch(statements: RetryingStatement[]): Promise<D1Result[]> {
    return this.run(
      statements.every((one) => one.isReadOnly),
      (session) => session.batch(statements.map((one) => one.prepareIn(session))),
    );
  }

  run<T>(readsOnly: boolean, call: (session: D1DatabaseSession) => Promise<T>): Promise<T> {
    return this.#retryPolicy.run(readsOnly, () => this.#runInSession(call));
  }
}

class RetryingStatement {
  readonly isReadOnly: boolean;
  readonly #d1: RetryingD1;
  readonly #sql: string;
  readonly #params: unknown[];

  constructor(d1: RetryingD1, sql: string, params: unknown[]) {
    this.#d1 = d1;
    this.#sql = sql;
    this.#params = params;
    this.isReadOnly = /^\s*(select|with)\b/i.test(sql) && !/\b(insert|update|delete)\b/i.test(sql);
  }

  bind(...params: unknown[]): RetryingStatement {
    return new RetryingStatement(this.#d1, this.#sql, params);
  }

  prepareIn(session: D1DatabaseSession): D1PreparedStatement {
    return session.prepare(this.#sql).bind(...this.#params);
  }

  all(): Promise<D1Result<unknown>> {
    return this.#d1.run(this.isReadOnly, (session) => this.prepareIn(session).all());
  }

  run(): Promise<D1Result<unknown>> {
    return this.#d1.run(this.isReadOnly, (session) => this.prepareIn(session).run());
  }

  raw(): Promise<unknown[][]> {
    return this.#d1.run(this.isReadOnly, (session) => this.prepareIn(session).raw());
  }
}
