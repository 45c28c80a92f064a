import type { Statement } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { writeEvent } from "../../events/outbox.ts";
import { progressOf } from "../model/phases.ts";
import { MAX_ATTEMPTS } from "../queue/backoff.ts";
import type { ChangedSubject } from "../queue/subject-feature.ts";
import type { Distribution } from "./schemas.ts";
import type { TransferChange, TransferDetail, TransferRow } from "./tables.ts";

type ChangedTransfer = ChangedSubject<TransferRow, TransferChange>;

/** A transfer with its transaction as events describe it, and why that ended. */
interface ReportedTransfer extends ChangedTransfer {
  batch: { id: string; txHash: string | null };
  failure: string | null;
}

type TopUpEventKind =
  | "FUND_DISTRIBUTION_SENT"
  | "FUND_DISTRIBUTION_CONFIRMED"
  | "FUND_DISTRIBUTION_FAILED";

/**
 * Builds the events of top-ups, one per transaction, for the batch of their changes.
 *
 * @param now - epoch milliseconds.
 * @returns the changes with their event counts, and the events.
 */
export function addTopUpEvents(
  transfers: readonly ChangedTransfer[],
  now: number,
): { changes: ChangedTransfer[]; events: Statement[] } {
  const unsent = { id: newId(now), txHash: null };
  const changed = transfers.map(
    (one): ReportedTransfer => ({ ...one, ...describeBatch(one, unsent) }),
  );
  const kinds = new Map(changed.map((one) => [one, selectEventKind(one)]));
  const reported = changed.filter((one) => kinds.get(one) !== null);
  const sequences = new Map<string, number>();
  const events: Statement[] = [];
  for (const [id, ones] of Map.groupBy(reported, ({ batch }) => batch.id)) {
    const [first] = ones;
    const kind = first && kinds.get(first);
    if (!first || !kind) continue;
    const sequence = 1 + Math.max(...ones.map(({ row }) => row.eventCounts[id] ?? 0));
    sequences.set(id, sequence);
    const { network, sourceId } = first.row;
    const about = { recordId: id, walletIds: walletIdsOf(ones), ownerId: null };
    const data = toEventData(first, ones);
    events.push(writeEvent({ kind, network, sourceId, ...about, sequence, data }, now));
  }
  const changes = changed.map((one): ReportedTransfer => {
    const sequence = sequences.get(one.batch.id);
    if (sequence === undefined || !reported.includes(one)) return one;
    return {
      ...one,
      change: { ...one.change, eventCounts: { ...one.row.eventCounts, [one.batch.id]: sequence } },
    };
  });
  return { changes, events };
}

/** The transaction of an update as events tell it; without one, that of a batch that was not built. */
function describeBatch(
  { update, givenUp }: ChangedTransfer,
  unsent: ReportedTransfer["batch"],
): Pick<ReportedTransfer, "batch" | "failure"> {
  if (update === null) return { batch: unsent, failure: givenUp };
  const { batchId: id } = update.task.detail as TransferDetail;
  const { hash: txHash, phase, error } = update.transaction;
  const hasEnded = progressOf(phase) === "Ended";
  return {
    batch: { id, txHash },
    failure: hasEnded ? (error ?? "an input of the transaction is gone") : null,
  };
}

/** Null: it is no top-up, or nothing that receivers do not know already. */
function selectEventKind({ row, change, batch, failure }: ReportedTransfer): TopUpEventKind | null {
  if (row.topUpWalletId === null) return null;
  if (failure !== null) return "FUND_DISTRIBUTION_FAILED";
  if (change.state === "Confirmed") return "FUND_DISTRIBUTION_CONFIRMED";
  return change.state === "Sent" && row.eventCounts[batch.id] === undefined
    ? "FUND_DISTRIBUTION_SENT"
    : null;
}

/** The wallets that pay and are topped up. */
function walletIdsOf(ones: readonly ReportedTransfer[]): string[] {
  return [...new Set(ones.flatMap(({ row }) => [row.walletId, row.topUpWalletId ?? row.walletId]))];
}

function toEventData(
  { row, task, batch, failure }: ReportedTransfer,
  ones: readonly ReportedTransfer[],
): Distribution {
  return {
    batchId: batch.id,
    fundWalletId: row.walletId,
    fundWalletAddress: row.walletAddress,
    network: row.network,
    paymentSourceId: row.sourceId,
    txHash: batch.txHash,
    distributions: ones.map(toDistribution),
    error: failure,
    willRetry: failure !== null && task !== null && task.attempts < MAX_ATTEMPTS,
  };
}

function toDistribution({ row, change }: ReportedTransfer): Distribution["distributions"][number] {
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
