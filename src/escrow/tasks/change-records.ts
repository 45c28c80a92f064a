import type { Network } from "../../chain/network.ts";
import { type Database, violates } from "../../db/client.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { StaleWalletError } from "../../wallets/queue/errors.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";
import type { Progress } from "../model/intent.ts";
import { ChangeSet } from "../store/change-set.ts";
import { readRecords } from "../store/load-records.ts";
import { writeChanges } from "../store/write-changes.ts";

/** What becomes of a record that a wallet acts for. */
export interface TaskChange {
  /** Left out: the same as before, as with the next two. */
  progress?: Progress;
  wallet?: WalletReference | null;
  isWalletRemoved?: boolean;
}

interface LoadedRecordsOfNetwork {
  network: Network;
  records: EscrowRecord[];
  /** Of the chain, as far as it was followed. */
  tipHeight: number;
}

/**
 * Reads records and changes their intents or wallets.
 *
 * @param decide - null: nothing changes
 * @param now - epoch milliseconds
 * @returns the records, and whether there are events to send
 * @throws StaleWalletError if a record has changed meanwhile
 */
export async function changeRecords(
  database: Pick<Database, "all" | "batch">,
  network: Network,
  ids: readonly string[],
  now: number,
  decide: (record: EscrowRecord) => TaskChange | null,
): Promise<{ records: EscrowRecord[]; hasEvents: boolean }> {
  if (ids.length === 0) return { records: [], hasEvents: false };
  const [records, tip] = await Promise.all([
    loadRecordsById(database, ids),
    readTip(database, network),
  ]);
  return changeLoadedRecords(database, { network, records, tipHeight: tip ?? 0 }, now, decide);
}

/**
 * Changes records as `changeRecords` does, without reading them again. A record whose action changes must be
 * read again, since only the database knows its new stamps.
 */
export async function changeLoadedRecords(
  database: Pick<Database, "batch">,
  { network, records, tipHeight }: LoadedRecordsOfNetwork,
  now: number,
  decide: (record: EscrowRecord) => TaskChange | null,
): Promise<{ records: EscrowRecord[]; hasEvents: boolean }> {
  let hasEvents = false;
  for (const [sourceId, found] of Map.groupBy(records, (record) => record.sourceId)) {
    const changes = new ChangeSet(found, now, tipHeight);
    for (const record of found) {
      const change = decide(record);
      if (change === null) continue;
      if (change.wallet !== undefined) record.wallet = change.wallet;
      if (change.progress !== undefined) changes.setProgress(record, change.progress);
      if (change.isWalletRemoved !== undefined)
        changes.setWalletRemoved(record, change.isWalletRemoved);
    }
    const statements = writeChanges(changes, { sourceId, network });
    if (statements.length === 0) continue;
    await database.batch(statements).catch(throwIfStale);
    for (const { record } of changes.records.values()) record.revision++;
    hasEvents ||= changes.events.length > 0;
  }
  return { records, hasEvents };
}

export async function loadRecordsById(
  database: Pick<Database, "all">,
  ids: readonly string[],
): Promise<EscrowRecord[]> {
  if (ids.length === 0) return [];
  return readRecords(database, "WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
}

function throwIfStale(error: unknown): never {
  if (violates(error, "escrow.revision"))
    throw new StaleWalletError("a record was changed meanwhile");
  throw error;
}
