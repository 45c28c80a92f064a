/** The transactions of an escrow's record. */
import { toEpochMs } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import type { EscrowRow } from "./sides.ts";

export interface EscrowTransaction {
  state: string;
  status: string;
  txHash: string;
  time: number | null;
  isBad: boolean;
}

/** The transactions of a record, the current one among them. */
export function transactionsOf(row: EscrowRow): EscrowTransaction[] {
  const current = valueAt(row, "CurrentTransaction");
  const earlier = (valueAt(row, "TransactionHistory") as unknown[] | undefined) ?? [];
  return [...(current ? [current] : []), ...earlier].map((one) => ({
    state: textAt(one, "newOnChainState"),
    status: textAt(one, "status"),
    txHash: textAt(one, "txHash"),
    time: Number(textAt(one, "blockTime")) * 1_000 || toEpochMs(textAt(one, "createdAt")),
    isBad: /Failed|RolledBack/.test(textAt(one, "status")),
  }));
}

/** Whole seconds, as blocks have them. */
export const toSeconds = (epochMs: number): number => Math.floor(epochMs / 1_000);
