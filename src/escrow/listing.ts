import {
  type AddressTransaction,
  type Block,
  type Provider,
  ProviderError,
} from "../chain/provider.ts";
import { ProviderBehind } from "../sources/checkpoints.ts";
import { type Cursor, isAfter, type Position } from "../sources/cursor.ts";

const PAGE = 100;
/** Blocks that a listing overlaps what was done before. */
const OVERLAP_BLOCKS = 20;

/**
 * Lists the contract's transactions after the cursor. The listing starts some blocks before it and
 * is held against what was done there: a transaction that the provider did not show in time is
 * found, and everything after it is done again (which changes nothing where nothing was missed).
 * At least the next hundred are in it, if there are so many.
 *
 * @param threshold - confirmations a transaction needs, the tip itself being one
 * @throws ProviderBehind when a transaction that was done is missing
 */
export async function listPending(
  provider: Provider,
  address: string,
  cursor: Cursor,
  tip: Block,
  threshold: number,
): Promise<AddressTransaction[]> {
  const first = cursor.recent[0] ?? null;
  const done = new Set(cursor.recent.map(nameOf));
  const newest = tip.height - threshold + 1;

  const listed: AddressTransaction[] = [];
  let unseen = 0;
  let more = true;
  for (let page = 1; more && unseen < PAGE; page++) {
    const from = first === null ? {} : { from: first[0] };
    const rows = await provider.addressTransactions(address, { ...from, page, count: PAGE });
    if (rows === null) {
      if (cursor.position !== null)
        throw new ProviderBehind("provider: does not know the contract any more");
      return [];
    }
    more = rows.length === PAGE;
    for (const row of rows) {
      // A provider that ignores `from` repeats the past; what lies before `first` is not ours.
      if (first !== null && compare(row, first) < 0) continue;
      const last = listed.at(-1);
      if (last !== undefined && compare(row, positionOf(last)) <= 0)
        throw new ProviderError("provider: the listing is not in ascending order");
      listed.push(row);
      if (!done.has(nameOf(positionOf(row)))) unseen++;
    }
  }

  requireDone(cursor.recent, listed, more);
  const begin = listed.findIndex((row) => !done.has(nameOf(positionOf(row))));
  const pending = begin < 0 ? [] : listed.slice(begin);
  return pending.filter(({ blockHeight }) => blockHeight <= newest);
}

/** Everything done before must still be listed, at the same place. */
function requireDone(recent: Position[], listed: AddressTransaction[], cut: boolean): void {
  const shown = new Set(listed.map((row) => nameOf(positionOf(row))));
  const last = listed.at(-1);
  for (const position of recent) {
    const beyond = cut && last !== undefined && compare(last, position) < 0;
    if (!beyond && !shown.has(nameOf(position)))
      throw new ProviderBehind(`provider: does not list transaction ${position[2]} any more`);
  }
}

/**
 * What the next listing is held against: all that was done in the last blocks up to the last of
 * `done`, in chain order, and the one before them. What stands after that one was done before a
 * transaction that was shown late: it is left out, so that it is done again.
 */
export function mergeRecent(recent: Position[], done: Position[]): Position[] {
  const last = done.at(-1) ?? null;
  const before = recent.filter((one) => last === null || !isAfter(one, last));
  const merged = [...new Map([...before, ...done].map((one) => [one[2], one])).values()].sort(
    (a, b) => a[0] - b[0] || a[1] - b[1],
  );
  const newest = merged.at(-1)?.[0] ?? 0;
  const firstKept = merged.findIndex(([height]) => height >= newest - OVERLAP_BLOCKS);
  return merged.slice(Math.max(firstKept - 1, 0));
}

export function positionOf({ blockHeight, txIndex, txHash }: AddressTransaction): Position {
  return [blockHeight, txIndex, txHash];
}

function nameOf(position: Position): string {
  return position.join(":");
}

function compare(row: AddressTransaction, [height, txIndex]: Position): number {
  return row.blockHeight - height || row.txIndex - txIndex;
}
