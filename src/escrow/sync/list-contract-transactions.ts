import type { AddressTransaction, Provider } from "../../chain/provider/provider.ts";
import { type Checkpoint, ProviderBehindError } from "../../indexer/checkpoints.ts";
import type { PositionedTransaction } from "../../indexer/find-fork.ts";
import {
  LISTING_PAGE_SIZE,
  type ListingPage,
  listPendingTransactions,
} from "../../indexer/list-pending.ts";
import { comparePositions, type Position } from "../../indexer/position.ts";

/** The transactions of a contract after those that are done; see `listPendingTransactions`. */
export async function listContractTransactions(
  provider: Provider,
  address: string,
  sourceId: string,
  recent: Position[],
): Promise<AddressTransaction[]> {
  const { pending } = await listPendingTransactions(
    sourceId,
    recent,
    listPages(provider, address, recent[0] ?? null),
    (row, position) => comparePositions(toPosition(row), position) === 0,
  );
  return pending;
}

/** The contract's transactions above a checkpoint, as the provider lists them now. */
export async function* listAbove(
  provider: Provider,
  address: string,
  checkpoint: Checkpoint | null,
): AsyncGenerator<PositionedTransaction> {
  const begin: Position | null = checkpoint && toCheckpointPosition(checkpoint);
  let isReached = begin === null;
  for await (const { rows } of listPages(provider, address, begin))
    for (const row of rows) {
      isReached ||= row.txHash === begin?.[2];
      if (row.blockHeight > (begin?.[0] ?? -1))
        yield { position: toPosition(row), blockTime: row.blockTime };
    }
  if (!isReached)
    throw new ProviderBehindError(`provider: does not list transaction ${begin?.[2]} any more`);
}

export function toCheckpointPosition({ height, tx_index, tx_hash }: Checkpoint): Position {
  return [height, tx_index, tx_hash];
}

export function toPosition({ blockHeight, txIndex, txHash }: AddressTransaction): Position {
  return [blockHeight, txIndex, txHash];
}

async function* listPages(
  provider: Provider,
  address: string,
  first: Position | null,
): AsyncGenerator<ListingPage<AddressTransaction>> {
  const from = first === null ? {} : { from: first[0] };
  for (let page = 1, isLast = false; !isLast; page++) {
    const rows = await provider.addressTransactions(address, {
      ...from,
      page,
      count: LISTING_PAGE_SIZE,
    });
    if (rows === null && first !== null)
      throw new ProviderBehindError("provider: does not know the contract any more");
    isLast = rows?.length !== LISTING_PAGE_SIZE;
    // A provider may ignore `from`: rows before `first` are dropped.
    const ours = rows?.filter((row) => first === null || isAtOrAfter(row, first));
    yield { rows: ours ?? [], isLast };
  }
}

function isAtOrAfter(row: AddressTransaction, first: Position): boolean {
  return comparePositions(toPosition(row), first) >= 0;
}
