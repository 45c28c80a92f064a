import type { Network, OnChainState, PaymentSourceType } from "../../chain/network.ts";
import { type Statement, statement } from "../../db/client.ts";
import { timeOfId } from "../../db/id.ts";
import type { Side } from "../model/escrow-record.ts";

export const DAY_MS = 24 * 60 * 60_000;

/** What archived escrows are counted by. */
export interface CountedEscrow {
  id: string;
  side: Side;
  network: Network;
  sourceType: PaymentSourceType;
  contractAddress: string;
  onChainState: OnChainState | null;
  /** Those that a key must be bound to, to see it. */
  walletIds: readonly string[];
}

/**
 * The statements for the batch that brings escrows back from an archive: what the archive has no longer. A read
 * that goes on meanwhile then begins again.
 *
 * @param escrows - of one network, as the archive has them
 */
export function countReturned(archive: number, escrows: readonly CountedEscrow[]): Statement[] {
  const [first] = escrows;
  if (!first) return [];
  return [
    statement(
      `UPDATE archive_range SET returned = returned + 1, count = count - ?
       WHERE kind = 'escrow' AND network = ? AND archive = ?`,
      escrows.length,
      first.network,
      archive,
    ),
    addToCounts(escrows, -1),
  ];
}

/** @param count - 1: an archive has the escrows from now on; -1: no longer */
export function addToCounts(escrows: readonly CountedEscrow[], count: 1 | -1): Statement {
  const rows = escrows.map(({ id, walletIds, ...escrow }) => ({
    ...escrow,
    day: Math.floor(timeOfId(id) / DAY_MS),
    walletIds: JSON.stringify(walletIds),
  }));
  return statement(
    `INSERT INTO archived_escrow_count (network, side, day, source_type, contract_address, wallet_ids,
       on_chain_state, count)
     SELECT value->>'network', value->>'side', value->>'day', value->>'sourceType',
       value->>'contractAddress', value->>'walletIds', ifnull(value->>'onChainState', ''), sum(?1)
     FROM json_each(?2) WHERE true GROUP BY 1, 2, 3, 4, 5, 6, 7
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    count,
    JSON.stringify(rows),
  );
}
