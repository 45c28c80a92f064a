/** The time until the next automatic step, and whether all steps are done. */
import { allRecords } from "./checks.ts";
import { proposalsIn } from "./disputes.ts";
import type { Service } from "./service.ts";

/** Milliseconds between two blocks. */
export const BLOCK_MS = 20_000;
const MAX_MS = 30 * 60_000;

/** All times of the escrows and proposals that there are, epoch milliseconds, and 0. */
export function timesOf(service: Service): number[] {
  const times = allRecords(service).flatMap(({ terms, state }) => [
    ...[terms.payByTime, terms.submitResultTime, terms.unlockTime],
    ...[terms.externalDisputeUnlockTime, state.buyerCooldown, state.sellerCooldown],
  ]);
  const settled = proposalsIn(service).map(({ opensAt, expiresAt }) => expiresAt ?? opensAt);
  return [0, ...times.map(Number), ...settled];
}

/** The last of them; a purchase's other deadlines are before its external dispute unlock. */
export function lastTimeOf({ database }: Service): number {
  const [row] = database.all<{ last: number }>(
    `SELECT coalesce(max(at), 0) AS last FROM (
       SELECT max(cast(external_dispute_unlock_time AS INTEGER),
         cast(buyer_cooldown AS INTEGER), cast(seller_cooldown AS INTEGER)) AS at
       FROM escrow
       UNION ALL SELECT coalesce(expires_at, opens_at) FROM dispute_proposal)`,
  );
  return row?.last ?? 0;
}

/** Milliseconds until the next automatic step, at least one block. */
export function pauseOf(service: Service): number {
  const { database, ledger } = service;
  if (isUnderWay(service)) return BLOCK_MS;
  const [row] = database.all<{ escrows: number | null; settlements: number | null }>(
    `SELECT (SELECT min(at) FROM (SELECT due_at AS at FROM escrow WHERE due_at IS NOT NULL
       UNION ALL SELECT pay_by_time + 1000 FROM escrow
         WHERE on_chain_state IS NULL AND expired_at IS NULL)) AS escrows,
       (SELECT min(due_at) FROM wallet_task) AS settlements`,
  );
  const { escrows = null, settlements = null } = row ?? {};
  // Administrators have a day to sign a transaction.
  if (escrows === null && settlements !== null) return Math.max(settlements - ledger.now, BLOCK_MS);
  const next = Math.min(escrows ?? 0, settlements ?? Number.POSITIVE_INFINITY) - ledger.now;
  return Math.min(Math.max(next, BLOCK_MS), MAX_MS);
}

/** Whether nothing is left to be done, and nothing on its way. */
export function isOver(service: Service): boolean {
  const rows = service.database.all<{ open: number }>(
    `SELECT count(*) AS open FROM escrow WHERE due_at IS NOT NULL OR pending_hash IS NOT NULL
       OR (on_chain_state IS NULL AND expired_at IS NULL AND is_requested IS NOT NULL)
     UNION ALL SELECT count(*) FROM wallet_task WHERE due_at IS NOT NULL`,
  );
  return rows.every(({ open }) => open === 0) && !isUnderWay(service);
}

/** Whether a wallet still looks at a transaction, which may become another: a refused one too, until it is too late for it. */
export function isWatching({ database }: Service): boolean {
  return (
    database.all("SELECT 1 FROM wallet_transaction WHERE due_at IS NOT NULL LIMIT 1").length > 0
  );
}

function isUnderWay({ database, ledger }: Service): boolean {
  const [row] = database.all<{ waiting: number }>(
    `SELECT count(*) AS waiting FROM wallet_transaction
     WHERE phase IN ('Stored', 'Sent', 'RolledBack', 'InBlock')`,
  );
  return row?.waiting !== 0 || !ledger.isLongest;
}
