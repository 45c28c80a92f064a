import type { SellerSignature, SignedTerms } from "../../chain/contracts/blockchain-identifier.ts";
import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";

/** Who locks, as far as the datum's size depends on it. */
export interface PossibleBuyer {
  address: string;
  /** Payment key hash, hex. */
  vkey: string;
  returnAddress: string | null;
}

/** The datum of a quote's lock, without the collateral. */
export function buildQuoteDatum(
  terms: SignedTerms,
  { signature, key, sellerVkey }: SellerSignature,
  buyer: PossibleBuyer,
): EscrowDatum {
  return {
    ...terms,
    referenceSignature: signature,
    referenceKey: key,
    buyer: buyer.address,
    buyerVkey: buyer.vkey,
    sellerVkey,
    buyerReturnAddress: buyer.returnAddress,
    collateralReturn: 0n,
    resultHash: "",
    sellerCooldownTime: 0n,
    buyerCooldownTime: 0n,
    state: "FundsLocked",
  };
}
