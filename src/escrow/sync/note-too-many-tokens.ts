import { type EscrowRecord, toStoredFunds } from "../model/escrow-record.ts";
import type { Progress } from "../model/intent.ts";
import { explainTooManyTokens } from "../model/payout-memory.ts";
import type { ProgressUndo } from "../model/undo-data.ts";
import type { EscrowOutput, EscrowSource } from "./escrow-source.ts";

/**
 * What is wanted after a transaction, with a note where the record's side can never be paid so many tokens.
 * The seller reads the note before it does the job. An error of the transaction comes first.
 *
 * @param output - that holds the funds; null: the escrow has ended
 */
export function noteTooManyTokens(
  record: Pick<EscrowRecord, "side">,
  source: EscrowSource,
  output: EscrowOutput | null,
  txHash: string,
  after: { progress: Progress; undo: ProgressUndo },
): { progress: Progress; undo: ProgressUndo } {
  const { progress, undo } = after;
  if (output === null || progress.error !== null) return after;
  const { sellerReturnAddress, buyerReturnAddress } = output.datum;
  const terms = { ...source, sellerReturnAddress, buyerReturnAddress };
  const note = explainTooManyTokens(record.side, output.output.funds.map(toStoredFunds), terms);
  if (note === null) return after;
  return {
    progress: { ...progress, error: { isManual: false, type: "Unknown", note, txHash } },
    undo: { ...undo, isErrorCleared: false },
  };
}
