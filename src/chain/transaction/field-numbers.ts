/** The numbers by which a transaction's bytes name its fields (CDDL of the Conway era). */

export const BODY_KEYS = {
  inputs: 0,
  outputs: 1,
  fee: 2,
  validTo: 3,
  auxiliaryDataHash: 7,
  validFrom: 8,
  mint: 9,
  scriptDataHash: 11,
  collateral: 13,
  requiredSigners: 14,
  collateralReturn: 16,
  totalCollateral: 17,
  referenceInputs: 18,
} as const;
export const WITNESS_KEYS = { vkeys: 0, redeemers: 5, plutusV3Scripts: 7 } as const;
/** Keys of an output in map form; the array form has the first three by position. */
export const OUTPUT_KEYS = { address: 0, value: 1, datum: 2, script: 3 } as const;
/** Of a datum option; the other one is the hash of a datum. */
export const INLINE_DATUM = 1n;
export const REDEEMER_TAGS = { spend: 0n, mint: 1n } as const;
export const CBOR_TAGS = { cbor: 24, set: 258, auxiliaryData: 259 } as const;
