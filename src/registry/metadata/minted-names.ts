import type { PaymentSourceType } from "../../chain/network.ts";

/**
 * Names in the metadata of tokens. Other services read these names, whichever names the API of this
 * deployment has.
 */

/** The ledger, in `supported_payment_sources` of metadata version 2. */
export const LEDGER = "Cardano";

/** The generations of the escrow contract. */
export const MINTED_SOURCE_TYPES: Readonly<Record<PaymentSourceType, string>> = {
  Web3ChainV1: "Web3CardanoV1",
  Web3ChainV2: "Web3CardanoV2",
};

/** The generation that a token names; null: none. Earlier versions of this service minted its own names. */
export function sourceTypeOf(minted: string | null | undefined): PaymentSourceType | null {
  const types = Object.entries(MINTED_SOURCE_TYPES) as [PaymentSourceType, string][];
  return types.find((names) => names.some((name) => name === minted))?.[0] ?? null;
}
