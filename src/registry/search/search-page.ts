import type * as z from "zod";
import type { Database } from "../../db/client.ts";
import { buildRegistryListQuery, selectStatuses } from "../entries/registry-list.ts";
import type { EntryPageRow } from "../entries/render-entry.ts";
import type { entrySearchBody } from "../entries/schemas.ts";
import { normalizeText } from "./index-changes.ts";

/** Entries first read from the index, to be filtered by the ledger: a full page. */
const INITIAL_CANDIDATES = 50;
/** When few of them pass the filters, twice as many are read each time, up to this many. */
const MAX_CANDIDATES = 5_000;

/**
 * One page of the entries whose text contains the query, newest first by id, after `cursorId`. The
 * index finds them; status and filters are the ledger's, which may be newer.
 */
export async function searchPage(
  index: Database,
  database: Database,
  body: z.output<typeof entrySearchBody>,
): Promise<EntryPageRow[]> {
  const page: EntryPageRow[] = [];
  let { cursorId } = body;
  for (
    let candidates = INITIAL_CANDIDATES;
    ;
    candidates = Math.min(candidates * 2, MAX_CANDIDATES)
  ) {
    const ids = await searchIds(index, { ...body, cursorId }, candidates);
    const { sql, params } = buildRegistryListQuery(
      { ...body, limit: body.limit - page.length },
      ids,
    );
    page.push(...(await database.all<EntryPageRow>(sql, ...params)));
    cursorId = ids.at(-1);
    if (ids.length < candidates || page.length >= body.limit) return page;
  }
}

/** The index has no shorter parts of a text. */
const TRIGRAM_LENGTH = 3;

/**
 * Ids of the entries whose text contains the query, newest first, after `cursorId`.
 *
 * @param limit - how many
 */
async function searchIds(
  index: Database,
  body: Pick<z.output<typeof entrySearchBody>, "network" | "query" | "cursorId" | "filter">,
  limit: number,
): Promise<string[]> {
  const query = normalizeText(body.query);
  const isShort = [...query].length < TRIGRAM_LENGTH;
  const rows = await index.all<{ id: string }>(
    `SELECT e.id FROM search_text AS t JOIN search_entry AS e ON e.number = t.rowid
     WHERE ${isShort ? "t.text LIKE ?1 ESCAPE '\\'" : "search_text MATCH ?1"}
       AND e.network = ?2 AND e.status IN (SELECT value FROM json_each(?3)) AND e.id < ?4
     ORDER BY e.id DESC LIMIT ${limit}`,
    isShort ? `%${query.replace(/[\\%_]/g, "\\$&")}%` : `"${query.replaceAll('"', '""')}"`,
    body.network,
    JSON.stringify(selectStatuses(body.filter ?? {})),
    // Above every id.
    body.cursorId ?? "~",
  );
  return rows.map(({ id }) => id);
}
