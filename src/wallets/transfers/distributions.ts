import type { Statement } from "../../db/client.ts";
import { writeEvent } from "../../events/outbox.ts";
import { MAX_TRIES } from "../pauses.ts";
import type { TransferChange } from "./outcome.ts";
import type { Distribution } from "./schemas.ts";
import type { TransferRow } from "./tables.ts";

/** A transfer with what changes about it, and why. */
export interface ChangedTransfer {
  row: TransferRow;
  change: TransferChange;
  /** The transaction that changed; its id is told as `batchId`. */
  batch: { id: string; txHash: string | null };
  /** Why the transaction has ended, or none was built; null: it has not. */
  failure: string | null;
}

type Kind = "FUND_DISTRIBUTION_SENT" | "FUND_DISTRIBUTION_CONFIRMED" | "FUND_DISTRIBUTION_FAILED";

/**
 * The events about the top-ups among some transfers, one for each transaction, for the batch of their
 * changes.
 *
 * @param now - epoch milliseconds
 * @returns the changes with what was told, and the events
 */
export function tellOfTopUps(
  changed: readonly ChangedTransfer[],
  now: number,
): { changes: ChangedTransfer[]; events: Statement[] } {
  const kinds = new Map(changed.map((one) => [one, kindOf(one)]));
  const told = changed.filter((one) => kinds.get(one) !== null);
  const sequences = new Map<string, number>();
  const events: Statement[] = [];
  for (const [id, ones] of Map.groupBy(told, ({ batch }) => batch.id)) {
    const [first] = ones;
    const kind = first && kinds.get(first);
    if (!first || !kind) continue;
    const sequence = 1 + Math.max(...ones.map(({ row }) => row.told[id] ?? 0));
    sequences.set(id, sequence);
    const { network, sourceId } = first.row;
    const about = { recordId: id, walletIds: walletIdsOf(ones), ownerId: null };
    const data = dataOf(first, ones);
    events.push(writeEvent({ kind, network, sourceId, ...about, sequence, data }, now));
  }
  const changes = changed.map((one): ChangedTransfer => {
    const sequence = sequences.get(one.batch.id);
    if (sequence === undefined || !told.includes(one)) return one;
    return {
      ...one,
      change: { ...one.change, told: { ...one.row.told, [one.batch.id]: sequence } },
    };
  });
  return { changes, events };
}

/** Null: it is no top-up, or nothing that receivers do not know already. */
function kindOf({ row, change, batch, failure }: ChangedTransfer): Kind | null {
  if (row.topUpWalletId === null) return null;
  if (failure !== null) return "FUND_DISTRIBUTION_FAILED";
  if (change.state === "Confirmed") return "FUND_DISTRIBUTION_CONFIRMED";
  return change.state === "Sent" && row.told[batch.id] === undefined
    ? "FUND_DISTRIBUTION_SENT"
    : null;
}

/** The wallets that pay and are topped up. */
function walletIdsOf(ones: readonly ChangedTransfer[]): string[] {
  return [...new Set(ones.flatMap(({ row }) => [row.walletId, row.topUpWalletId ?? row.walletId]))];
}

function dataOf(
  { row, change, batch, failure }: ChangedTransfer,
  ones: readonly ChangedTransfer[],
): Distribution {
  return {
    batchId: batch.id,
    fundWalletId: row.walletId,
    fundWalletAddress: row.walletAddress,
    network: row.network,
    paymentSourceId: row.sourceId,
    txHash: batch.txHash,
    distributions: ones.map(distributionOf),
    error: failure,
    willRetry: failure !== null && (change.failures ?? row.failures) < MAX_TRIES,
  };
}

function distributionOf({ row, change }: ChangedTransfer): Distribution["distributions"][number] {
  const [token] = row.assets;
  const coin = (change.tx ?? row.tx)?.coin ?? row.coin;
  return {
    requestId: row.id,
    targetWalletId: row.topUpWalletId ?? "",
    targetWalletAddress: row.toAddress,
    assetUnit: token?.unit ?? "",
    amount: token?.quantity ?? coin,
  };
}
