import type { Network } from "../../chain/network.ts";
import { type Database, violates } from "../../db/client.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { StaleWallet } from "../../wallets/spending/stored/wallet.ts";
import { ChangeSet } from "../fold/changes.ts";
import { loadRecords } from "../fold/load-records.ts";
import { writeChanges } from "../fold/write-changes.ts";
import type { EscrowRecord, WalletName } from "../record.ts";
import type { Wanted } from "../wanted.ts";

/** What becomes of a record that a wallet acts for. */
export interface TaskChange {
  /** Left out: the same as before, as with the next two. */
  wanted?: Wanted;
  wallet?: WalletName | null;
  isWalletRemoved?: boolean;
}

/**
 * Changes what is wanted of records, or who is there to do it, as they are now.
 *
 * @param decide - null: nothing changes
 * @param now - epoch milliseconds
 * @returns the records, and whether there are events to be sent
 * @throws StaleWallet when one was changed meanwhile: nothing was written
 */
export async function changeRecords(
  ledger: Pick<Database, "all" | "batch">,
  network: Network,
  ids: readonly string[],
  now: number,
  decide: (record: EscrowRecord) => TaskChange | null,
): Promise<{ records: EscrowRecord[]; hasEvents: boolean }> {
  const records = await recordsById(ledger, ids);
  const tipHeight = (await readTip(ledger, network)) ?? 0;
  let hasEvents = false;
  for (const [sourceId, found] of Map.groupBy(records, (record) => record.sourceId)) {
    const changes = new ChangeSet(found, now, tipHeight);
    for (const record of found) {
      const change = decide(record);
      if (change === null) continue;
      if (change.wallet !== undefined) record.wallet = change.wallet;
      if (change.wanted !== undefined) changes.want(record, change.wanted);
      if (change.isWalletRemoved !== undefined)
        changes.setWalletRemoved(record, change.isWalletRemoved);
    }
    const statements = writeChanges(changes, { sourceId, network });
    if (statements.length === 0) continue;
    await ledger.batch(statements).catch(throwStale);
    for (const { record } of changes.records.values()) record.rev++;
    hasEvents ||= changes.events.length > 0;
  }
  return { records, hasEvents };
}

export async function recordsById(
  ledger: Pick<Database, "all">,
  ids: readonly string[],
): Promise<EscrowRecord[]> {
  if (ids.length === 0) return [];
  const chosen = "SELECT value FROM json_each(?2)";
  return (await loadRecords(ledger, [], chosen, JSON.stringify(ids))).records;
}

function throwStale(error: unknown): never {
  if (violates(error, "escrow.rev")) throw new StaleWallet("a record was changed meanwhile");
  throw error;
}
