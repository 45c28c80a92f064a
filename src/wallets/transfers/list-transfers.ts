import { and, desc, isNotNull, lt } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { equalsIfGiven } from "../../db/conditions.ts";
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
  { limit, cursorId, isTopUp, ...filters }: TransferFilters,
): Promise<TransferRow[]> {
  return selectTransfers(db)
    .where(
      and(
        cursorId === undefined ? undefined : lt(transfer.id, cursorId),
        equalsIfGiven(transfer.network, filters.network),
        equalsIfGiven(transfer.id, filters.id),
        equalsIfGiven(transfer.walletId, filters.walletId),
        equalsIfGiven(transfer.walletAddress, filters.walletAddress?.toLowerCase()),
        equalsIfGiven(transfer.sourceId, filters.sourceId),
        equalsIfGiven(transfer.state, filters.state),
        isTopUp ? isNotNull(transfer.topUpRuleId) : undefined,
      ),
    )
    .orderBy(desc(transfer.id))
    .limit(limit);
}
