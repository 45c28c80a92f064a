import type { PaymentSourceType } from "../../chain/network.ts";
import type { EscrowRecord } from "../record.ts";

/**
 * Characters of a stored output (two for each byte) above which the next step, which makes nearly the same
 * output again, has no room for the script: the network takes 16,384 bytes, the rest of a step takes about
 * 1,500, and the scripts of the default deployments are as large as they are.
 */
export const MAX_OUTPUT_WITH_SCRIPT: Record<PaymentSourceType, number> = {
  Web3ChainV1: 17_000,
  Web3ChainV2: 9_800,
};

/** Whether a record's escrow is larger; false as long as its output is not known. */
export function isTooLargeWithScript({
  output,
  sourceType,
}: Pick<EscrowRecord, "output" | "sourceType">): boolean {
  return output !== null && JSON.stringify(output).length > MAX_OUTPUT_WITH_SCRIPT[sourceType];
}
