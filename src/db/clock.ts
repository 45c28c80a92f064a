import { type SQL, sql } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import { type Statement, statement } from "./client.ts";

/** A stream of changes that clients page through; each network has its own clock per feed. */
export type ChangeFeed = "escrow" | "registry" | "inbox" | "registration";

/** SQL and parameters, to be spliced into a larger statement of the same batch. */
export interface SqlExpression {
  sql: string;
  params: unknown[];
}

/** Callers whose clock runs ahead of the database's by more than this are refused. */
const MAX_CLOCK_LEAD_MS = 60_000;

/**
 * Reserves `count` change stamps of a feed: unique and strictly increasing in commit order, so a
 * client that pages by stamp misses nothing. Must precede the statements of the batch that use
 * `stampSql`. A `now` more than a minute ahead of the database aborts the batch, since it would move
 * every later stamp ahead too.
 *
 * @param now - epoch milliseconds
 */
export function reserveStamps(
  feed: ChangeFeed,
  network: Network,
  count: number,
  now: number,
): Statement {
  return statement(
    `INSERT INTO clock (feed, t)
     VALUES (?1, iif(?2 > unixepoch('subsec') * 1000 + ${MAX_CLOCK_LEAD_MS}, NULL, ?2) + ?3 - 1)
     ON CONFLICT (feed) DO UPDATE SET t = max(clock.t + 1, ?2) + ?3 - 1`,
    `${feed}:${network}`,
    now,
    count,
  );
}

/**
 * The stamp of item `index` (0-based, an SQL expression such as `key` of `json_each`) among the
 * `count` just reserved in the same batch. Epoch milliseconds.
 */
export function stampSql(
  feed: ChangeFeed,
  network: Network,
  count: number,
  index: string,
): SqlExpression {
  return {
    sql: `((SELECT t FROM clock WHERE feed = ?) - ? + 1 + ${index})`,
    params: [`${feed}:${network}`, count],
  };
}

/** The stamp reserved alone just before in the same batch, for a query of drizzle. Epoch milliseconds. */
export function singleStampSql(feed: ChangeFeed, network: Network): SQL {
  return sql`(SELECT t FROM clock WHERE feed = ${`${feed}:${network}`})`;
}

/** SQL that prints epoch milliseconds as `YYYY-MM-DDTHH:mm:ss.sssZ`, as `Date.toISOString` does. */
export function isoTimeSql(milliseconds: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${milliseconds} / 1000.0, 'unixepoch')`;
}
