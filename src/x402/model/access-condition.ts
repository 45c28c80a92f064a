import { and, eq, inArray, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Caller } from "../../http/context.ts";

/** True for rows that a caller may see: its own or, for an Admin, all, on the chains of the key. */
export function toAccessCondition(
  { id, permission, networkLimit }: Caller,
  owner: SQLiteColumn,
  caip2Id: SQLiteColumn,
): SQL | undefined {
  return and(
    permission === "Admin" ? undefined : eq(owner, id),
    networkLimit === null ? undefined : inArray(caip2Id, networkLimit),
  );
}
