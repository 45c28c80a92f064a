import type { PaymentSourceType } from "../../chain/network.ts";
import type { EscrowRecord } from "./escrow-record.ts";

/**
 * Characters of a stored output, two for each byte. Above this size the next step has no room for
 * the script, because the step makes nearly the same output again. The network accepts 16,384
 * bytes, and the rest of a step takes about 1,500. The limit depends on the size of the default
 * deployment's script.
 */
export const MAX_OUTPUT_LENGTH_WITH_SCRIPT: Record<PaymentSourceType, number> = {
  Web3ChainV1: 17_000,
  Web3ChainV2: 9_800,
};

/** Whether a record's escrow is larger; false as long as its output is not known. */
export function isTooLargeWithScript({
  output,
  sourceType,
}: Pick<EscrowRecord, "output" | "sourceType">): boolean {
  return (
    output !== null && JSON.stringify(output).length > MAX_OUTPUT_LENGTH_WITH_SCRIPT[sourceType]
  );
}
