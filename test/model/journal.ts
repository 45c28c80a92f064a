import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type ExecuteSql, Journal } from "../../src/wallets/spending/model/journal.ts";

/** A journal in a separate database, which a restore keeps. @param file - an older journal's */
export function newJournal(file = new DatabaseSync(":memory:")): Journal {
  const prepared = new Map<string, StatementSync>();
  const execute: ExecuteSql = (sql, ...params) => {
    const known = prepared.get(sql) ?? file.prepare(sql);
    prepared.set(sql, known);
    return known.all(...(params as SQLInputValue[])) as never[];
  };
  return new Journal(execute);
}
