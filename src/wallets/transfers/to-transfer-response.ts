import { toIsoTime } from "../../http/envelope.ts";
import type { TransferRecord } from "./schemas.ts";
import { isGivenUp } from "./store.ts";
import type { TransferRow } from "./tables.ts";

/** A transfer as the API shows it. */
export function toTransferResponse(row: TransferRow): TransferRecord {
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
    errorNote: errorNoteOf(row),
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(Math.max(row.updatedAt, row.task?.updatedAt ?? 0)),
    lastCheckedAt: row.lastCheckedAt === null ? null : toIsoTime(row.lastCheckedAt),
  };
}

function errorNoteOf(row: TransferRow): string | null {
  const note = row.error ?? row.task?.reason ?? null;
  if (!isGivenUp(row)) return note;
  return `the service does not try again, and fails the transfer once its transaction can no longer land: ${note}`;
}
