import { type Database, DatabaseUnavailableError, statement } from "./client.ts";

interface PendingRead {
  sql: string;
  params: unknown[];
  resolve(rows: never[]): void;
  reject(error: unknown): void;
}

/**
 * Creates a database that sends reads which begin together as one batch. They take the time of one call, and
 * see one state of the database. If D1 refuses the batch, each read is sent alone and fails alone.
 */
export function batchReads(database: Database): Database {
  let pending: PendingRead[] = [];

  async function send(): Promise<void> {
    const reads = pending;
    pending = [];
    if (reads.length > 1) {
      try {
        const results = await database.batch(
          reads.map(({ sql, params }) => statement(sql, ...params)),
        );
        for (const [i, { resolve }] of reads.entries())
          resolve((results[i]?.results ?? []) as never[]);
        return;
      } catch (error) {
        if (error instanceof DatabaseUnavailableError) {
          for (const { reject } of reads) reject(error);
          return;
        }
      }
    }
    for (const { sql, params, resolve, reject } of reads)
      database.all<never>(sql, ...params).then(resolve, reject);
  }

  return {
    ...database,
    all: (sql, ...params) =>
      new Promise((resolve, reject) => {
        // A timer, since what begins together may first wait for promises that are settled already.
        if (pending.length === 0) setTimeout(send, 0);
        pending.push({ sql, params, resolve, reject });
      }),
  };
}
