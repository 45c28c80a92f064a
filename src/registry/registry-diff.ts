import type * as z from "zod";
import { chargeOperation, throwIfOutOfCredits } from "../api-keys/credits.ts";
import { type Database, openDb, type Statement, statement } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { openReadSession } from "../http/session.ts";
import { pageSql } from "./entries/read-entries.ts";
import type { EntryPageRow } from "./entries/render-entry.ts";
import type { entryDiffBody } from "./entries/schemas.ts";

type RegistryDiffQuery = z.output<typeof entryDiffBody>;

/**
 * Reads a page of the diff, which is a metered call. For a key with a limit, query and charge are one
 * batch on the primary. For any other key a replica answers.
 *
 * @returns the rows, and the session they came from
 * @throws ApiError 402 when the key has no credits left: nothing was read
 */
export async function readRegistryDiff(
  c: AppContext,
  query: RegistryDiffQuery,
): Promise<{ rows: EntryPageRow[]; session: Database }> {
  const { caller, deadline } = c.var;
  const page = buildRegistryDiffQuery(query);
  if (!caller.isUsageLimited) {
    const session = openReadSession(c, query.network);
    return { rows: await session.all(page.sql, ...page.params), session };
  }
  const session = openDb(c.env, query.network, { deadline });
  const results = await session
    .batch([...chargeOperation(caller, "registry-diff"), page])
    .catch(throwIfOutOfCredits);
  return { rows: (results.at(-1)?.results ?? []) as EntryPageRow[], session };
}

/**
 * The entries changed since a point, by the five rules of the interface:
 *
 * 1. A client that sends the last item's stamp and id sees every change at least once.
 * 2. The cursor item is returned again, with all after it; one that changed stands at its new stamp.
 * 3. An unknown cursor is compared by its text with the ids at exactly `statusUpdatedAfter`.
 * 4. Without a cursor the items at `statusUpdatedAfter` are all in it.
 * 5. A cursor item whose stamp is before `statusUpdatedAfter` does not count.
 */
export function buildRegistryDiffQuery(query: RegistryDiffQuery): Statement {
  const { network, statusUpdatedAfter, cursorId } = query;
  // The cursor item is returned again: with limit 1 a client would not advance.
  const limit = cursorId === undefined ? query.limit : Math.max(query.limit, 2);
  return statement(
    pageSql(
      `e.network = ?1 AND (e.status_updated_at, e.id) >= (?2,
         iif((SELECT c.status_updated_at FROM registry_entry AS c
              WHERE c.id = ?3 AND c.network = ?1) < ?2, '', ?3))`,
      `ORDER BY e.status_updated_at, e.id LIMIT ${limit}`,
    ),
    network,
    statusUpdatedAfter,
    cursorId ?? "",
  );
}
