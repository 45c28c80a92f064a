import { type Database, type DatabaseOptions, openDb } from "./client.ts";

/**
 * Opens every database that holds records, the one that takes new records first. What has to reach all
 * records, such as an erasure, goes through this list. Today it is one.
 */
export function openRecordDatabases(
  env: Parameters<typeof openDb>[0],
  options: DatabaseOptions,
): [Database, ...Database[]] {
  return [openDb(env, undefined, options)];
}
