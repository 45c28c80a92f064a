import {
  chargeOperation,
  type MeteredOperation,
  throwIfOutOfCredits,
} from "../api-keys/credits.ts";
import type { Network } from "../chain/network.ts";
import { type Database, openDb, type Statement } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { openReadSession } from "../http/session.ts";

/**
 * Runs the query of a metered call. For a key with a limit, query and charge are one batch on the
 * primary. For any other key a replica answers.
 *
 * @returns the rows, and the session they came from
 * @throws ApiError 402 when the key has no credits left: nothing was read
 */
export async function runMeteredQuery<Row>(
  c: AppContext,
  network: Network,
  operation: MeteredOperation,
  query: Statement,
): Promise<{ rows: Row[]; session: Database }> {
  if (!c.var.caller.isUsageLimited) {
    const session = openReadSession(c, network);
    return { rows: await session.all<Row>(query.sql, ...query.params), session };
  }
  const session = openDb(c.env, network, { deadline: c.var.deadline });
  const results = await session
    .batch([...chargeOperation(c.var.caller, operation), query])
    .catch(throwIfOutOfCredits);
  return { rows: (results.at(-1)?.results ?? []) as Row[], session };
}
