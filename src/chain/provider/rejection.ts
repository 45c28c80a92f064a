import type { AdditionalOutput } from "./provider.ts";

/**
 * What a node says when what it knows of the chain does not fit: it may be late, or have the
 * transaction already. Nodes tell of the value as well then, since it sums up what they know.
 */
const TEMPORARY_REJECTION_PATTERN =
  /BadInputsUTxO|All inputs are spent|unknown (?:transaction )?input|OutsideValidityInterval|mempool/i;

/** The ledger's words for an input that is not among its unspent outputs. */
export const UNKNOWN_INPUT_PATTERN = /unknown transaction input|missing from UTxO set/i;

/** What a node says of the bytes themselves, whatever the chain looks like. */
const PERMANENT_REJECTION_PATTERN =
  /FeeTooSmall|OutputTooSmall|BabbageOutputTooSmall|OutputTooBig|MaxTxSize|ValueNotConserved|Witness|ScriptDataHash|PPViewHashes|ExUnitsTooBig|InsufficientCollateral|PlutusFailure|ScriptWitnessNotValidating|ValidationTagMismatch|DeserialiseFailure|DecoderFailure|malformed/i;

/** Whether a refusal ends the bytes: the same will be said of them again. */
export function isPermanentRejection(refusal: string): boolean {
  return !TEMPORARY_REJECTION_PATTERN.test(refusal) && PERMANENT_REJECTION_PATTERN.test(refusal);
}

/**
 * Whether a text of a node names an output: `<hash>#<index>`, or the index as the next number behind the
 * hash, as in `TxIn (TxId {unTxId = SafeHash "<hash>"}) (TxIx {unTxIx = 0})`.
 */
export function mentionsOutput(
  text: string,
  { txHash, index }: Pick<AdditionalOutput, "txHash" | "index">,
): boolean {
  return text
    .split(txHash)
    .slice(1)
    .some((behind) => Number(/^\D{0,40}(\d+)/.exec(behind)?.[1] ?? -1) === index);
}

/** Those of some outputs, by their names, that a text of a node names. */
export function findMentionedOutputs(text: string, names: readonly string[]): string[] {
  return names.filter((name) => {
    const [txHash = "", index] = name.split("#");
    return mentionsOutput(text, { txHash, index: Number(index) });
  });
}
