import type * as z from "zod";
import { db } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { readSession, textAnswer } from "../../http/session.ts";
import { pageColumns, readRecords } from "../diff.ts";
import { hashOf } from "../fold/escrow-outputs.ts";
import type { Side } from "../record.ts";
import { MEANT_FIRST } from "./meant.ts";
import type { resolveBody } from "./queries.ts";
import { withinScope } from "./scope.ts";

/**
 * Answers with the record of an escrow's identifier, or with a list of those of many, each with the one
 * first that steps are taken for. A replica that
 * does not have them all yet is no proof: then the primary is asked, since clients take a 404 after
 * the 409 of a purchase as final.
 *
 * @param list - what the list is called
 * @throws ApiError 404 when one is asked for, and not there
 */
export async function resolve(
  c: AppContext,
  side: Side,
  list: string,
  body: z.output<typeof resolveBody>,
): Promise<Response> {
  const { network, blockchainIdentifier, blockchainIdentifiers } = body;
  const asked = new Set(blockchainIdentifiers ?? [blockchainIdentifier ?? ""]);
  const hashes = [...asked].map(hashOf);
  const replica = readSession(c, network);
  const read = (session: typeof replica) => {
    const { filterSmartContractAddress: contract, includeHistory } = body;
    const params = [side, network, JSON.stringify(hashes)];
    const parameter = (value: string) => `?${params.push(value)}`;
    const conditions = [
      contract === null ? null : `contract_address = ${parameter(contract)}`,
      withinScope(c.var.caller.scope, parameter),
    ].map((condition) => (condition === null ? "" : `AND ${condition}`));
    return readRecords(
      session,
      side,
      { includeHistory, viewer: c.var.caller, env: c.env },
      `SELECT ${pageColumns(body)} FROM (SELECT key AS place, value AS hash FROM json_each(?3))
       CROSS JOIN escrow INDEXED BY escrow_identifier
       WHERE identifier_hash = hash AND side = ?1 AND network = ?2 ${conditions.join(" ")}
       ORDER BY place, ${MEANT_FIRST}`,
      params,
    );
  };
  let session = replica;
  let records = await read(session);
  if (records.length < hashes.length) {
    session = db(c.env, network, { deadline: c.var.deadline });
    records = await read(session);
  }
  if (blockchainIdentifiers !== undefined) {
    const text = `{"status":"success","data":{"${list}":[${records.join(",")}]}}`;
    return textAnswer(c, text, session);
  }
  const [record] = records;
  if (record === undefined)
    throw new ApiError(404, `blockchainIdentifier: there is no such ${side}`);
  return textAnswer(c, `{"status":"success","data":${record}}`, session);
}
