import { ProviderBehindError } from "./checkpoints.ts";
import type { Position } from "./position.ts";
import { logAnomaly } from "./report-failure.ts";

/** Rows per page of the provider's listings. */
export const LISTING_PAGE_SIZE = 100;

/** A page of what the provider lists, in chain order. */
export interface ListingPage<Listed> {
  rows: Listed[];
  isLast: boolean;
}

/**
 * Lists the transactions after the cursor. The listing begins at the first of `recent` and is compared
 * with them. It thus finds a transaction that the provider listed late, and everything after this
 * transaction is applied again, which changes nothing where nothing was missed. The listing has at
 * least the next hundred transactions, if there are so many.
 *
 * @param recent - see `Cursor`
 * @param pages - from the first of `recent` on; read no further than needed
 * @param isAt - whether a transaction is listed where it was done
 * @returns what was listed, and the part of it that is to be applied, in chain order
 * @throws ProviderBehindError when a transaction that was done is missing
 */
export async function listPendingTransactions<
  P extends Position,
  Listed extends { txHash: string },
>(
  sourceId: string,
  recent: P[],
  pages: AsyncIterable<ListingPage<Listed>>,
  isAt: (row: Listed, position: P) => boolean = () => true,
): Promise<{ listed: Listed[]; pending: Listed[] }> {
  const done = new Map(recent.map((one) => [one[2], one]));
  const isDone = (row: Listed) => {
    const position = done.get(row.txHash);
    return position !== undefined && isAt(row, position);
  };
  const listed: Listed[] = [];
  let isCut = false;
  for await (const { rows, isLast } of pages) {
    listed.push(...rows);
    isCut = !isLast && listed.filter((row) => !isDone(row)).length >= LISTING_PAGE_SIZE;
    if (isCut) break;
  }
  requireAllListed(recent, new Set(listed.filter(isDone).map(({ txHash }) => txHash)), isCut);

  const begin = listed.findIndex((row) => !isDone(row));
  const pending = begin < 0 ? [] : listed.slice(begin);
  const [late] = pending;
  if (late && pending.some(isDone))
    logAnomaly("late", {
      source: sourceId,
      tx: late.txHash,
      reason: "the provider shows it after later ones: they are applied again",
    });
  return { listed, pending };
}

/** Everything done must still be listed. A listing that was cut may lack the last of it. */
function requireAllListed(recent: Position[], shown: Set<string>, isCut: boolean): void {
  const missing = recent.filter(([, , txHash]) => !shown.has(txHash));
  const [first] = missing;
  if (first === undefined) return;
  const isBeyond = isCut && shown.size > 0 && recent.indexOf(first) === shown.size;
  if (!isBeyond)
    throw new ProviderBehindError(`provider: does not list transaction ${first[2]} any more`);
}
