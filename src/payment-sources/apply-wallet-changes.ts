import type { Network } from "../chain/network.ts";
import { openDb } from "../db/client.ts";
import type { Env } from "../env.ts";
import { abandonRecords, resumeRecords } from "../escrow/tasks/unfinished-records.ts";
import {
  deleteWalletChange,
  listUnappliedChanges,
  type WalletChange,
} from "../wallets/managed/wallet-changes.ts";

/** Before its deadline, for the last batch and what comes after it. */
const LAST_BATCH_MARGIN_MS = 5_000;

/**
 * Updates the records of a payment source whose wallets were removed or added again. The change
 * stays stored until the last record is updated, and the cron does the rest.
 *
 * @param deadline - epoch milliseconds
 */
export async function applyWalletChanges(
  env: Pick<Env, "DB">,
  sourceId: string,
  deadline: number,
): Promise<void> {
  const core = openDb(env, undefined, { deadline });
  for (const change of await listUnappliedChanges(core, sourceId))
    await applyWalletChange(env, change, deadline);
}

/** The same for all sources: for the cron. */
export async function applyAllWalletChanges(env: Pick<Env, "DB">, deadline: number): Promise<void> {
  const core = openDb(env, undefined, { deadline });
  for (const change of await listUnappliedChanges(core))
    await applyWalletChange(env, change, deadline);
}

/** The wallets are read after the change was: with a newer one they are told again. */
async function applyWalletChange(
  env: Pick<Env, "DB">,
  change: WalletChange,
  deadline: number,
): Promise<void> {
  const until = deadline - LAST_BATCH_MARGIN_MS;
  const core = openDb(env, undefined, { writes: "idempotent", deadline });
  const { sourceId } = change;
  const [source] = await core.all<{ network: Network; isRemoved: number }>(
    "SELECT network, deleted_at IS NOT NULL AS isRemoved FROM payment_source WHERE id = ?",
    sourceId,
  );
  if (source === undefined) return;
  const { network } = source;
  const wallets = await core.all<{ vkey: string; isRemoved: number }>(
    "SELECT vkey, min(deleted_at IS NOT NULL) AS isRemoved FROM managed_wallet WHERE source_id = ? GROUP BY vkey",
    sourceId,
  );
  const [gone, there] = [1, 0].map((isRemoved) =>
    wallets.filter((one) => one.isRemoved === isRemoved).map(({ vkey }) => vkey),
  );
  const database = openDb(env, network, { writes: "idempotent", deadline });
  const of = { sourceId, network };
  const now = Date.now();
  const areTold = source.isRemoved
    ? await abandonRecords(database, { ...of, vkeys: null }, now, until)
    : (await abandonRecords(database, { ...of, vkeys: gone ?? [] }, now, until)) &&
      (await resumeRecords(database, { ...of, vkeys: there ?? [] }, now, until));
  if (areTold) await core.batch([deleteWalletChange(change)]);
}
