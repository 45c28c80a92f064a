import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { abandonRecords, resumeRecords } from "../escrow/unfinished.ts";
import { changeTold, untoldChanges, type WalletsChanged } from "../wallets/managed/changed.ts";

/** Before its deadline, for the last batch and what comes after it. */
const LAST_BATCH_MS = 5_000;

/**
 * Tells the records of a payment source which of its wallets are gone, so that nothing is done for them any
 * more, and which are back. What is not told in time is told by the cron: the change stays written down
 * until all of it is.
 *
 * @param deadline - epoch milliseconds
 */
export async function tellRecords(
  env: Pick<Env, "DB">,
  sourceId: string,
  deadline: number,
): Promise<void> {
  const core = db(env, undefined, { deadline });
  for (const change of await untoldChanges(core, sourceId)) await tell(env, change, deadline);
}

/** The same for all sources: for the cron. */
export async function tellAllRecords(env: Pick<Env, "DB">, deadline: number): Promise<void> {
  const core = db(env, undefined, { deadline });
  for (const change of await untoldChanges(core)) await tell(env, change, deadline);
}

/** The wallets are read after the change was: with a newer one they are told again. */
async function tell(env: Pick<Env, "DB">, change: WalletsChanged, deadline: number): Promise<void> {
  const until = deadline - LAST_BATCH_MS;
  const core = db(env, undefined, { writes: "idempotent", deadline });
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
  const ledger = db(env, network, { writes: "idempotent", deadline });
  const of = { sourceId, network };
  const now = Date.now();
  const areTold = source.isRemoved
    ? await abandonRecords(ledger, { ...of, vkeys: null }, now, until)
    : (await abandonRecords(ledger, { ...of, vkeys: gone ?? [] }, now, until)) &&
      (await resumeRecords(ledger, { ...of, vkeys: there ?? [] }, now, until));
  if (areTold) await core.batch([changeTold(change)]);
}
