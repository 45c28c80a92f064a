/** What becomes of a transfer by what happens to its transactions: pure. */
import { ProviderError } from "../../chain/provider/provider.ts";
import { TransactionTooLarge } from "../../chain/transaction/build.ts";
import { MAX_TRIES, pauseAfter, providerAgainAt, WAIT_MS } from "../pauses.ts";
import type { Move } from "../spending/history.ts";
import { isInChain, meaningOf } from "../spending/life.ts";
import { NotYet } from "../spending/making/window.ts";
import { FormerMayLand, messageOf, WalletGone } from "../work.ts";
import type { TransferRow, TransferTransaction } from "./tables.ts";

/** What a transfer keeps of its transaction, beside the transaction itself. */
export type TransferDetail = {
  /** Native minor units that it pays, decimal text. */
  coin: string;
  /** Names the transaction in events. */
  batchId: string;
};

/** Columns that change during a transfer's life. */
export type TransferChange = Partial<
  Pick<TransferRow, "state" | "error" | "tx" | "failures" | "dueAt" | "lastCheckedAt" | "told">
>;

/**
 * What became of a transfer by what became of its transaction; null: nothing new.
 *
 * @param now - epoch milliseconds
 */
export function changeBy(
  row: TransferRow,
  { task, transaction }: Move,
  now: number,
): TransferChange | null {
  const { coin } = task.detail as TransferDetail;
  const { hash, phase, blockHeight, blockTime, error } = transaction;
  const tx: TransferTransaction = { hash, coin, blockHeight: null, blockTime: null };
  switch (meaningOf(phase)) {
    case "UnderWay":
      // One that was given up may land all the same.
      return {
        state: "Sent",
        error: null,
        tx,
        dueAt: null,
        ...(isInChain(phase) && { failures: 0 }),
      };
    case "Landed":
      return {
        state: "Confirmed",
        error: null,
        tx: { ...tx, blockHeight, blockTime },
        failures: 0,
        dueAt: null,
        lastCheckedAt: now,
      };
    case "Ended": {
      // One that landed and is gone again may have ended in the same look at the chain.
      const wasCurrent =
        row.tx?.hash === hash && (row.state === "Sent" || row.state === "Confirmed");
      if (!wasCurrent) return null;
      const again: TransferChange = { state: "Pending", error: null, tx, dueAt: now };
      // The transaction before it in the wallet's line ended, which is no failure of this one.
      if (phase === "Orphaned") return again;
      const reason = error ?? "the network did not take the transaction";
      return { ...again, ...tryAgain({ ...row, tx }, reason, now) };
    }
  }
}

/** What becomes of a transfer for which no transaction could be built. */
export function afterFailure(row: TransferRow, error: unknown, now: number): TransferChange {
  if (error instanceof WalletGone) return giveUp(row, error.message, now);
  if (error instanceof TransactionTooLarge)
    return giveUp(row, "the wallet's outputs are too small or too many: transfer less", now);
  // A provider failure does not fail the transfer: it waits until that passes.
  if (error instanceof ProviderError && !error.permanent)
    return {
      error: `waits for the chain provider: ${error.message}`,
      dueAt: providerAgainAt(error.retryAt, now),
    };
  if (error instanceof NotYet) return { error: error.message, dueAt: error.until };
  if (error instanceof FormerMayLand)
    return { error: `waits for the chain: ${error.message}`, dueAt: now + WAIT_MS };
  return tryAgain(row, messageOf(error), now);
}

function tryAgain(row: TransferRow, reason: string, now: number): TransferChange {
  const failures = row.failures + 1;
  if (failures >= MAX_TRIES) return giveUp(row, reason, now);
  return { error: reason, failures, dueAt: now + pauseAfter(failures) };
}

/** Not to be tried again. Whatever was signed for it may still land, until its wallet says otherwise. */
function giveUp({ tx }: TransferRow, reason: string, now: number): TransferChange {
  const given = { error: reason, failures: MAX_TRIES };
  return tx === null
    ? { ...given, state: "Failed", dueAt: null }
    : { ...given, state: "Pending", dueAt: now };
}
