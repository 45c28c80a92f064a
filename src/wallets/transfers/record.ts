import { isoTime } from "../../http/envelope.ts";
import { isGivenUp } from "./due.ts";
import type { TransferRecord } from "./schemas.ts";
import type { TransferRow } from "./tables.ts";

/** A transfer as the API shows it. */
export function shownTransfer(row: TransferRow): TransferRecord {
  const { tx } = row;
  return {
    id: row.id,
    status: row.state,
    txHash: tx?.hash ?? null,
    blockHeight: tx?.blockHeight ?? null,
    blockTime: tx?.blockTime ?? null,
    network: row.network,
    paymentSourceId: row.sourceId,
    hotWalletId: row.walletId,
    fromWalletAddress: row.walletAddress,
    toAddress: row.toAddress,
    minorUnitAmount: row.coin,
    sentMinorUnitAmount: tx?.coin ?? null,
    assets: row.assets.length > 0 ? row.assets : null,
    topUpRuleId: row.topUpRuleId,
    errorNote: noteOf(row),
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
    lastCheckedAt: row.lastCheckedAt === null ? null : isoTime(row.lastCheckedAt),
  };
}

function noteOf(row: TransferRow): string | null {
  if (!isGivenUp(row)) return row.error;
  return `not tried again, and failed as soon as what was sent before can no longer land: ${row.error}`;
}
