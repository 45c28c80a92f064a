/** The archive of a drill: when records move there, and how many. */
import type { D1Database } from "@cloudflare/workers-types";
import { firstIdAt } from "../../src/db/id.ts";
import { until } from "../client/wait.ts";
import type { Chain } from "../ledger/chain.ts";

/** Minutes: no drill takes as long, so that records move once the drill has made them older. */
export const ARCHIVE_AFTER_MINUTES = 30 * 24 * 60;
/** Characters of an id that are its time. */
const TIME_LENGTH = 10;
const AGE_MS = (ARCHIVE_AFTER_MINUTES + 60) * 60_000;
/** More than a rollback replaces. */
const FINAL_BLOCKS = 2_200;
const LIMIT_MS = 5 * 60_000;

/** Adds so many empty blocks that no rollback reaches what is on the chain. */
export function makeChainFinal(chain: Chain): void {
  for (let i = 0; i < FINAL_BLOCKS; i++) chain.mine();
}

/**
 * Makes records older: the cron then moves those that are final. Escrows are those that no rollback reaches. The
 * others are x402 payments with an outcome, and the audit log.
 */
export async function makeFinalOlder(d1: D1Database): Promise<void> {
  const escrows = `UPDATE escrow SET changed_at = changed_at - ${AGE_MS}, revision = revision + 1
    WHERE utxo IS NULL AND NOT EXISTS (SELECT 1 FROM escrow_open AS open WHERE open.id = escrow.id)
      AND NOT EXISTS (SELECT 1 FROM escrow_undo WHERE record_id = escrow.id)`;
  await d1.batch([d1.prepare(escrows), ...makePaymentsAndAuditOlder(d1)]);
}

/** The statements that make x402 payments and the audit log older. Their ids begin with their time. */
export function makePaymentsAndAuditOlder(d1: D1Database) {
  const at = Date.now() - AGE_MS;
  const older = (column: string) =>
    `${column} = '${firstIdAt(at).slice(0, TIME_LENGTH)}' || substr(${column}, ${TIME_LENGTH + 1})`;
  const ended = `SELECT id FROM x402_payment_attempt WHERE updated_at > ${at} AND watched_until IS NULL
    AND NOT (direction = 'InboundSettle' AND status = 'Verified')`;
  return [
    `UPDATE x402_sponsored_gas SET ${older("attempt_id")} WHERE attempt_id IN (${ended})`,
    `UPDATE x402_settlement SET ${older("id")}, ${older("attempt_id")}, created_at = ${at}
     WHERE attempt_id IN (${ended})`,
    `UPDATE x402_payment_attempt SET ${older("replay_of")} WHERE replay_of IN (${ended})`,
    `UPDATE x402_payment_attempt SET ${older("id")}, created_at = ${at}, updated_at = ${at},
       valid_before = valid_before - ${AGE_MS / 1000}, revision = revision + 1
     WHERE id IN (${ended})`,
    `UPDATE audit SET ${older("id")}, at = ${at} WHERE at > ${at}`,
  ].map((sql) => d1.prepare(sql));
}

/** How many records of each kind are in archives. */
export async function countArchived(d1: D1Database): Promise<ReadonlyMap<string, number>> {
  const { results } = await d1
    .prepare("SELECT kind, total(count) AS n FROM archive_range GROUP BY kind HAVING n > 0")
    .all<{ kind: string; n: number }>();
  return new Map(results.map(({ kind, n }) => [kind, n]));
}

/** Counts as a person reads them. */
export const describeCounts = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([kind, n]) => `${n} × ${kind}`).join(", ") || "nothing";

/**
 * Waits until the cron has moved some records of each kind, and moves no more.
 *
 * @param kinds - how many kinds there are
 * @returns how many are in archives
 */
export async function waitForMove(
  d1: D1Database,
  kinds: number,
): Promise<ReadonlyMap<string, number>> {
  let before: ReadonlyMap<string, number> = new Map();
  const look = async () => {
    const now = await countArchived(d1);
    const isOver = now.size >= kinds && describeCounts(now) === describeCounts(before);
    before = now;
    return isOver;
  };
  await until(look, { what: "records in the archive", everyMs: 4_000, limitMs: LIMIT_MS });
  return before;
}
