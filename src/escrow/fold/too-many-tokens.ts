import { tooManyTokens } from "../actions/ending-memory.ts";
import type { EscrowRecord } from "../record.ts";
import type { Wanted } from "../wanted.ts";
import type { Taken } from "./before.ts";
import { storedFunds } from "./escrow-outputs.ts";
import type { EscrowOutput, EscrowSource } from "./source.ts";

/**
 * What is wanted after a transaction, with a note where the record's side can never be paid so many tokens.
 * The seller reads the note before it does the job. An error of the transaction comes first.
 *
 * @param output - that holds the funds; null: the escrow has ended
 */
export function notingTokens(
  record: Pick<EscrowRecord, "side">,
  source: EscrowSource,
  output: EscrowOutput | null,
  txHash: string,
  after: { wanted: Wanted; taken: Taken },
): { wanted: Wanted; taken: Taken } {
  const { wanted, taken } = after;
  if (output === null || wanted.error !== null) return after;
  const { sellerReturnAddress, buyerReturnAddress } = output.datum;
  const terms = { ...source, sellerReturnAddress, buyerReturnAddress };
  const note = tooManyTokens(record.side, output.output.funds.map(storedFunds), terms);
  if (note === null) return after;
  return {
    wanted: { ...wanted, error: { isManual: false, type: "Unknown", note, txHash } },
    taken: { ...taken, isErrorCleared: false },
  };
}
