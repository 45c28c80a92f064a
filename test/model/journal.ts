import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { type Execute, Journal } from "../../src/wallets/spending/journal.ts";

/** A journal in a database of its own, which is not set back with the models'. */
export function newJournal(): Journal {
  const file = new DatabaseSync(":memory:");
  const execute: Execute = (sql, ...params) =>
    file.prepare(sql).all(...(params as SQLInputValue[])) as never[];
  return new Journal(execute);
}
