import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type Execute, Journal } from "../../src/wallets/spending/journal.ts";

/** A journal in a database of its own, which is not set back with the models'. @param file - of an older one */
export function newJournal(file = new DatabaseSync(":memory:")): Journal {
  const prepared = new Map<string, StatementSync>();
  const execute: Execute = (sql, ...params) => {
    const known = prepared.get(sql) ?? file.prepare(sql);
    prepared.set(sql, known);
    return known.all(...(params as SQLInputValue[])) as never[];
  };
  return new Journal(execute);
}
