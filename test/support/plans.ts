import { env } from "cloudflare:workers";

/** Tables that grow with use, without a bound. */
const GROWING = [
  "audit",
  "dispute_proposal",
  "escrow",
  "escrow_action",
  "escrow_identity",
  "escrow_open",
  "escrow_request",
  "escrow_transaction",
  "escrow_undo",
  "event",
  "inbox_registration",
  "invoice_base",
  "invoice_document",
  "invoiced_payment",
  "registration",
  "registry_entry",
  "transfer",
  "wallet_transaction",
  "wallet_transaction_content",
  "webhook_delivery",
  "worker_bot_move",
  "x402_payment_attempt",
  "x402_settlement",
];
const SCAN = new RegExp(`^SCAN (?:${GROWING.join("|")})\\b(?: USING (?:COVERING )?INDEX (\\w+))?`);

/** Reads as many rows as it returns, though along the whole table: nothing but the newest or oldest. */
const NEWEST = /FROM "?(\w+)"?(?: WHERE TRUE)?(?: inner join .*)? ORDER BY \S+(?: DESC)? LIMIT/i;

/** What is looked for by its own name, of which there are few rows. */
const NAMED = /\b(identifier_hash|agent_identifier)"? (?:=|IN|in) /;
const AMONG_ALL =
  /^SEARCH (?:escrow|registry_entry|inbox_registration)\b.* \((?:(?:side|network|source_id|source_type|status|kind)=\?(?: AND )?)+\)$/;

/** Whether a named row is looked for among all of its network or source: D1 keeps no statistics that say better. */
const isLookedForAmongAll = (sql: string, detail: string) =>
  NAMED.test(sql) && AMONG_ALL.test(detail);

/**
 * Finds the statements that read more rows as tables grow. SQLite plans to read a table, or an
 * index with all of its rows, from end to end.
 */
export async function growingReads(statements: Iterable<string>): Promise<string[]> {
  const { results: indexes } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'",
  ).all<{ name: string }>();
  const partial = new Set(indexes.map(({ name }) => name));
  const found: string[] = [];
  for (const sql of statements) {
    if (NEWEST.test(sql.replace(/\s+/g, " "))) continue;
    const numbered = [...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number));
    const count = Math.max(0, ...numbered) || (sql.match(/\?/g) ?? []).length;
    const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...Array(count).fill(null))
      .all<{ detail: string }>();
    for (const { detail } of results) {
      const scan = SCAN.exec(detail);
      if (scan !== null && !partial.has(scan[1] ?? "")) found.push(`${detail}: ${sql}`);
      if (isLookedForAmongAll(sql, detail)) found.push(`${detail}: ${sql}`);
    }
  }
  return found;
}
