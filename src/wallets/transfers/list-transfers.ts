import { and, desc, eq, isNotNull, lt } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { selectTransfers } from "./store.ts";
import { type TransferRow, type TransferState, transfer } from "./tables.ts";

export interface TransferFilters {
  limit: number;
  cursorId?: string | undefined;
  network?: Network | undefined;
  id?: string | undefined;
  walletId?: string | undefined;
  walletAddress?: string | undefined;
  sourceId?: string | undefined;
  state?: TransferState | undefined;
  /** Whether to list top-ups only. */
  isTopUp?: boolean | undefined;
}

/** One page, newest first by id, after `cursorId`. */
export function listTransfers(
  db: Database,
  {
    limit,
    cursorId,
    network,
    id,
    walletId,
    walletAddress,
    sourceId,
    state,
    isTopUp,
  }: TransferFilters,
): Promise<TransferRow[]> {
  return selectTransfers(db)
    .where(
      and(
        cursorId === undefined ? undefined : lt(transfer.id, cursorId),
        network && eq(transfer.network, network),
        id === undefined ? undefined : eq(transfer.id, id),
        walletId === undefined ? undefined : eq(transfer.walletId, walletId),
        walletAddress === undefined
          ? undefined
          : eq(transfer.walletAddress, walletAddress.toLowerCase()),
        sourceId === undefined ? undefined : eq(transfer.sourceId, sourceId),
        state && eq(transfer.state, state),
        isTopUp ? isNotNull(transfer.topUpRuleId) : undefined,
      ),
    )
    .orderBy(desc(transfer.id))
    .limit(limit);
}
