import { tooManyTokens } from "../actions/fee-units.ts";
import type { EscrowRecord } from "../record.ts";
import type { Wanted } from "../wanted.ts";
import type { Taken } from "./before.ts";
import { storedFunds } from "./escrow-outputs.ts";
import type { EscrowOutput, EscrowSource } from "./source.ts";

/**
 * What is wanted after a transaction, with a note to the seller where the escrow holds more tokens than can be
 * withdrawn: it is told before it does the job. What the transaction left to say comes first.
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
  if (record.side !== "payment" || output === null || wanted.error !== null) return after;
  const note = tooManyTokens(output.output.funds.map(storedFunds), source);
  if (note === null) return after;
  return {
    wanted: { ...wanted, error: { isManual: false, type: "Unknown", note, txHash } },
    taken: { ...taken, isErrorCleared: false },
  };
}
