import type { Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";

const BOOKMARK = /^[0-9a-f]{1,16}(-[0-9a-f]{1,64}){1,5}$/i;

/**
 * The ledger for a read that may be answered by a replica near the client: any, or one at least as
 * new as the bookmark of `x-d1-bookmark`.
 *
 * @throws ApiError 400 when the bookmark is not one of ours
 */
export function readSession(c: AppContext, network: Network): Database {
  const bookmark = c.req.header("x-d1-bookmark");
  if (bookmark !== undefined && !BOOKMARK.test(bookmark))
    throw new ApiError(400, "x-d1-bookmark: must be the value of an earlier answer");
  return db(c.env, network, {
    deadline: c.var.deadline,
    reads: bookmark === undefined ? "replica" : { bookmark },
  });
}

/** A JSON answer whose text is put together already, with the bookmark of the session it came from. */
export function textAnswer(c: AppContext, body: string, session: Database): Response {
  const bookmark = session.bookmark();
  return c.body(body, 200, {
    "content-type": "application/json",
    ...(bookmark !== null && { "x-d1-bookmark": bookmark }),
  });
}
