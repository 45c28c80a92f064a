import type * as z from "zod";
import { openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { createJsonResponse, openReadSession } from "../../http/session.ts";
import { hashIdentifier, type Side } from "../model/escrow-record.ts";
import { PREFERRED_FIRST_SQL } from "../store/predicates.ts";
import { buildPageColumnsSql, readRecords } from "./diff-page.ts";
import type { identifierLookupBody } from "./query-schemas.ts";
import { buildScopeCondition } from "./scope-condition.ts";

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
  const read = (session: typeof replica) => {
    const { filterSmartContractAddress: contract, includeHistory } = body;
    const params = [side, network, JSON.stringify(hashes)];
    const parameter = (value: string) => `?${params.push(value)}`;
    const conditions = [
      contract === null ? null : `contract_address = ${parameter(contract)}`,
      buildScopeCondition(c.var.caller.scope, parameter),
    ].map((condition) => (condition === null ? "" : `AND ${condition}`));
    return readRecords(
      session,
      side,
      { includeHistory, viewer: c.var.caller, env: c.env },
      `SELECT ${buildPageColumnsSql(body)} FROM (SELECT asked.key AS place, escrow_identity.id AS identified_id
         FROM json_each(?3) AS asked CROSS JOIN escrow_identity
           ON identifier_hash = unhex(asked.value) AND side = ?1)
       CROSS JOIN escrow ON escrow.id = identified_id
       WHERE network = ?2 ${conditions.join(" ")}
       ORDER BY place, ${PREFERRED_FIRST_SQL}`,
      params,
    );
  };
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
