import type * as z from "zod";
import { openArchives } from "../../archive/open-archives.ts";
import { openArchive } from "../../archive/read-archive.ts";
import { type Database, openDb, statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { createJsonResponse, openReadSession } from "../../http/session.ts";
import { hashIdentifier, type Side } from "../model/escrow-record.ts";
import { PLACE_SQL } from "../store/archived-escrows.ts";
import { SOURCE_REMOVED_CONDITION } from "../store/predicates.ts";
import { EscrowConditions } from "./conditions.ts";
import {
  ARCHIVED_TEXT_COLUMNS,
  buildPageColumnsSql,
  buildRowsSql,
  renderRows,
} from "./page-rows.ts";
import type { identifierLookupBody } from "./query-schemas.ts";

/**
 * Returns the record of one identifier, or a list of the records of many identifiers. Of several
 * records with one identifier it returns the preferred record. If a replica lacks a record, the
 * primary is asked. After the 409 of a purchase, clients take a 404 as final.
 *
 * @param list - what the list is called
 * @throws ApiError 404 when a single record does not exist
 */
export async function resolveIdentifiers(
  c: AppContext,
  side: Side,
  list: string,
  body: z.output<typeof identifierLookupBody>,
): Promise<Response> {
  const { network, blockchainIdentifier, blockchainIdentifiers } = body;
  const identifiers = new Set(blockchainIdentifiers ?? [blockchainIdentifier ?? ""]);
  const hashes = [...identifiers].map(hashIdentifier);
  const replica = openReadSession(c, network);
  const read = (session: typeof replica) => readIdentified(c, session, side, hashes, body);
  let session = replica;
  let records = await read(session);
  if (records.length < hashes.length) {
    session = openDb(c.env, network, { deadline: c.var.deadline });
    records = await read(session);
  }
  if (blockchainIdentifiers !== undefined) {
    const text = `{"status":"success","data":{"${list}":[${records.join(",")}]}}`;
    return createJsonResponse(c, text, session);
  }
  const [record] = records;
  if (record === undefined)
    throw new ApiError(404, `blockchainIdentifier: there is no such ${side}`);
  return createJsonResponse(c, `{"status":"success","data":${record}}`, session);
}

/** Columns that order the records of an identifier, the preferred one first. */
interface OrderRow {
  id: string;
  /** Index of the identifier. */
  ordinal: number;
  isRemoved: number;
  isUnrequested: number;
}

/** Where an archive has a record of an identifier. */
interface ArchivedPlace extends Omit<OrderRow, "isUnrequested"> {
  archive: number;
  operation: number;
  bookmark: string | null;
  tip: number | null;
}

/** @returns JSON text of the records of identifiers, in the order of the identifiers */
async function readIdentified(
  c: AppContext,
  db: Database,
  side: Side,
  hashes: readonly string[],
  body: z.output<typeof identifierLookupBody>,
): Promise<string[]> {
  const { network, includeHistory } = body;
  const options = { includeHistory, viewer: c.var.caller, env: c.env };
  const archives = openArchives(c.env);
  const subject = { kind: "escrow", network } as const;
  const listed = JSON.stringify(hashes);
  const hot = buildRowsSql(
    buildIdentifiedSql(c, side, body, {
      rows: `(SELECT asked.key AS ordinal, escrow_identity.id AS identified_id
          FROM json_each(?2) AS asked CROSS JOIN escrow_identity
            ON identifier_hash = unhex(asked.value) AND side = '${side}')
        CROSS JOIN escrow ON escrow.id = identified_id`,
      columns: `ordinal, ${SOURCE_REMOVED_CONDITION} AS isRemoved`,
      listed,
    }),
    options,
    ORDER_COLUMNS,
    null,
  );
  type Row = Parameters<typeof renderRows>[0][number] & OrderRow;
  // Where records are is told together with those that are here: a copy in an archive stays what it was.
  const [places, own] = (await db.batch([
    statement(
      `SELECT key AS ordinal, place.id, place.archive, operation, bookmark,
         ${SOURCE_REMOVED_CONDITION} AS isRemoved,
         (SELECT height FROM chain_tip WHERE network = ?1) AS tip
       FROM json_each(?2) CROSS JOIN escrow_identity AS place
         ON place.identifier_hash = unhex(value) AND place.side = '${side}'
       JOIN archive_range ON kind = 'escrow' AND network = ?1 AND archive_range.archive = place.archive`,
      network,
      listed,
    ),
    statement(hot.sql, ...hot.params),
  ])) as [D1Result<ArchivedPlace>, D1Result<Row>];
  const byArchive = Map.groupBy(places.results, ({ archive }) => archive);
  const archived = await Promise.all(
    [...byArchive.values()].map(async (some) => {
      const [
        { archive: number, ...range } = { archive: 0, operation: 0, bookmark: null, tip: null },
      ] = some;
      const read = buildRowsSql(
        buildIdentifiedSql(c, side, body, {
          rows: `(SELECT value->>'id' AS told, value->>'ordinal' AS ordinal, value->>'isRemoved' AS isRemoved
              FROM json_each(?2)) CROSS JOIN escrow ON escrow.id = told`,
          columns: `ordinal, isRemoved, ${PLACE_SQL}${ARCHIVED_TEXT_COLUMNS}`,
          listed: JSON.stringify(some),
        }),
        options,
        ORDER_COLUMNS,
        range,
      );
      return openArchive(archives, { ...range, archive: number }, subject)<Row>(read);
    }),
  );
  const rows = [...own.results, ...archived.flat()].sort(
    (a, b) =>
      a.ordinal - b.ordinal ||
      a.isRemoved - b.isRemoved ||
      a.isUnrequested - b.isUnrequested ||
      (a.id < b.id ? 1 : -1),
  );
  return renderRows(rows, side, c.env);
}

const ORDER_COLUMNS = "page.ordinal, page.isRemoved, page.isUnrequested, ";

/** SQL of the records of identifiers that a caller may see. ?1 is the network and ?2 what is listed. */
function buildIdentifiedSql(
  c: AppContext,
  side: Side,
  body: z.output<typeof identifierLookupBody>,
  { rows, columns, listed }: { rows: string; columns: string; listed: string },
): SqlExpression {
  const found = new EscrowConditions(side, body.network);
  found.addParameter(listed);
  found.add("contract_address = ?", body.filterSmartContractAddress ?? undefined);
  found.restrictToViewer(c.var.caller);
  return {
    sql: `SELECT ${buildPageColumnsSql(body)}, ${columns}, is_requested IS NULL AS isUnrequested
      FROM ${rows} WHERE ${found.toSql()}
      ORDER BY ordinal, isRemoved, isUnrequested, id DESC`,
    params: found.params,
  };
}
