/** What a wrapped D1 is asked to do. */
export interface D1Call {
  kind: "batch" | "all" | "run" | "raw" | "first";
  sql: string[];
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
