/** What a wrapped D1 is asked to do. */
export interface D1Call {
  kind: "batch" | "all" | "run" | "raw" | "first";
  sql: string[];
}

/** Whether a call is a batch that writes. Others send several reads together. */
export function isWritingBatch({ kind, sql }: D1Call): boolean {
  return kind === "batch" && !sql.every((one) => /^\s*select\b/i.test(one));
}

/** Runs around every call that reaches D1. It may fail before it, after it, or never answer. */
export type Around = <T>(call: D1Call, run: () => Promise<T>) => Promise<T>;

/**
 * The real D1 with a hook around each call: faults are injected where the platform would make
 * them, under `db/client.ts`.
 */
export function wrapD1(inner: D1Database, around: Around): D1Database {
  const wrapStatement = (statement: D1PreparedStatement, sql: string): D1PreparedStatement =>
    ({
      sql,
      inner: statement,
      bind: (...params: unknown[]) => wrapStatement(statement.bind(...params), sql),
      all: () => around({ kind: "all", sql: [sql] }, () => statement.all()),
      run: () => around({ kind: "run", sql: [sql] }, () => statement.run()),
      raw: () => around({ kind: "raw", sql: [sql] }, () => statement.raw()),
      first: () => around({ kind: "first", sql: [sql] }, () => statement.first()),
    }) as unknown as D1PreparedStatement;
  type Wrapped = { sql: string; inner: D1PreparedStatement };
  const wrapSession = (session: Pick<D1Database, "prepare" | "batch">) => ({
    prepare: (sql: string) => wrapStatement(session.prepare(sql), sql),
    batch: (statements: D1PreparedStatement[]) => {
      const wrapped = statements as unknown as Wrapped[];
      return around({ kind: "batch", sql: wrapped.map(({ sql }) => sql) }, () =>
        session.batch(wrapped.map((one) => one.inner)),
      );
    },
  });
  return {
    ...wrapSession(inner),
    withSession(where?: string) {
      const session = inner.withSession(where);
      return { ...wrapSession(session), getBookmark: () => session.getBookmark() };
    },
  } as unknown as D1Database;
}

/** After these nobody knows whether a statement was applied, and a repeat may help. */
export const RETRYABLE_ERRORS = [
  "D1_ERROR: D1 DB reset because its code was updated.",
  "D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.",
  "D1_ERROR: Internal error in D1 DB storage caused object to be reset.",
  "D1_ERROR: Network connection lost.",
  "D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.",
  "D1_ERROR: Can't read from request stream because client disconnected.",
  "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.",
];
/** After these a repeat makes it worse. */
export const OVERLOAD_ERRORS = [
  "D1_ERROR: D1 DB is overloaded. Requests queued for too long.",
  "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
  "D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset.",
  "D1_ERROR: D1 DB exceeded its CPU time limit and was reset.",
];

/** A D1 some of whose calls, counted from 1, fail before or after they were applied. */
export function failingD1(
  inner: D1Database,
  text: string,
  when: "before" | "after",
  fails: (n: number) => boolean,
): { d1: D1Database; calls: () => number } {
  let calls = 0;
  const d1 = wrapD1(inner, async (_, run) => {
    const isFailing = fails(++calls);
    if (isFailing && when === "before") throw new Error(text);
    const result = await run();
    if (isFailing) throw new Error(text);
    return result;
  });
  return { d1, calls: () => calls };
}

/** How long a call takes at least, so that calls which begin together overlap. */
const SHORT_CALL_MS = 10;

/**
 * A D1 that counts its calls in series: calls that overlap count once.
 *
 * @param isCounted - of a call's statements; default: all calls count
 */
export function serialD1(
  inner: D1Database,
  isCounted: (sql: readonly string[]) => boolean = () => true,
): { d1: D1Database; callsInSeries: () => number } {
  let ended = 0;
  const d1 = wrapD1(inner, async ({ sql }, run) => {
    if (!isCounted(sql)) return run();
    const turn = ended + 1;
    await new Promise((done) => setTimeout(done, SHORT_CALL_MS));
    const result = await run();
    ended = Math.max(ended, turn);
    return result;
  });
  return { d1, callsInSeries: () => ended };
}

/** A D1 that adds up the rows it read. */
export function countingD1(inner: D1Database): { d1: D1Database; rowsRead: () => number } {
  let rows = 0;
  const add = (result: unknown) => {
    for (const one of Array.isArray(result) ? result : [result])
      rows += (one as D1Result).meta?.rows_read ?? 0;
  };
  const d1 = wrapD1(inner, async (_, run) => {
    const result = await run();
    add(result);
    return result;
  });
  return { d1, rowsRead: () => rows };
}

/** A D1 that adds up the rows written by statements on some tables, as D1 counts them. */
export function countingWrites(inner: D1Database): {
  d1: D1Database;
  rowsWritten: (tables: RegExp) => number;
} {
  const written: { sql: string; rows: number }[] = [];
  const d1 = wrapD1(inner, async ({ sql }, run) => {
    const result = await run();
    for (const [i, one] of [result].flat().entries())
      written.push({ sql: sql[i] ?? "", rows: (one as D1Result).meta?.rows_written ?? 0 });
    return result;
  });
  const rowsWritten = (tables: RegExp) =>
    written.filter(({ sql }) => tables.test(sql)).reduce((sum, { rows }) => sum + rows, 0);
  return { d1, rowsWritten };
}

/** A D1 whose first so many batches that begin with some SQL come second to another writer. */
export function racedD1(
  inner: D1Database,
  begin: string,
  times: number,
  other: string,
): { d1: D1Database; lost: () => number } {
  let lost = 0;
  const d1 = wrapD1(inner, async ({ kind, sql }, run) => {
    if (kind === "batch" && sql[0]?.startsWith(begin) && lost < times) {
      lost++;
      await inner.prepare(other).run();
    }
    return run();
  });
  return { d1, lost: () => lost };
}
