/** The model's database as the binding of a Worker, for code that makes its own queries. */
import type { ModelDatabase } from "./database.ts";
import type { Step } from "./process-faults.ts";

interface Prepared {
  sql: string;
  params: unknown[];
}

export function d1Of(database: ModelDatabase, step: Step): D1Database {
  const prepare = (sql: string, params: unknown[] = []) => {
    const rows = () => step(() => database.all<Record<string, unknown>>(sql, ...params));
    return {
      sql,
      params,
      bind: (...bound: unknown[]) => prepare(sql, bound),
      all: async () => ({ results: await rows() }),
      raw: () => step(() => database.raw(sql, ...params)),
    };
  };
  const { batch } = database.seenBy(step, false);
  const session = {
    prepare: (sql: string) => prepare(sql),
    batch: (statements: Prepared[]) => batch(statements),
    getBookmark: () => null,
  };
  return { ...session, withSession: () => session } as unknown as D1Database;
}
