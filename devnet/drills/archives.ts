/** The archive of a drill: when escrows move there, and how many. */
import type { D1Database } from "@cloudflare/workers-types";
import { until } from "../client/wait.ts";
import type { Chain } from "../ledger/chain.ts";

/** Minutes: no drill takes as long, so that escrows move once the drill has made them older. */
export const ARCHIVE_AFTER_MINUTES = 30 * 24 * 60;
const AGE_MS = (ARCHIVE_AFTER_MINUTES + 60) * 60_000;
/** More than a rollback replaces. */
const FINAL_BLOCKS = 2_200;
const LIMIT_MS = 5 * 60_000;

/** Adds so many empty blocks that no rollback reaches what is on the chain. */
export function makeChainFinal(chain: Chain): void {
  for (let i = 0; i < FINAL_BLOCKS; i++) chain.mine();
}

/** Makes escrows older that no rollback reaches: the cron then moves those that are final. */
export async function makeFinalOlder(d1: D1Database): Promise<void> {
  await d1
    .prepare(
      `UPDATE escrow SET changed_at = changed_at - ${AGE_MS}, revision = revision + 1
       WHERE utxo IS NULL AND NOT EXISTS (SELECT 1 FROM escrow_open AS open WHERE open.id = escrow.id)
         AND NOT EXISTS (SELECT 1 FROM escrow_undo WHERE record_id = escrow.id)`,
    )
    .run();
}

/** How many escrows are in archives. */
export async function countArchived(d1: D1Database): Promise<number> {
  return (await d1.prepare("SELECT total(count) AS n FROM archive_range").first<number>("n")) ?? 0;
}

/** Waits until the cron has moved some, and moves no more. @returns how many are in archives */
export async function waitForMove(d1: D1Database): Promise<number> {
  let before = 0;
  const look = async () => {
    const now = await countArchived(d1);
    const isOver = now > 0 && now === before;
    before = now;
    return isOver;
  };
  await until(look, { what: "escrows in the archive", everyMs: 4_000, limitMs: LIMIT_MS });
  return before;
}
