/**
 * The ledger refused a transaction. `token` is the name a node gives the rule in its answer, and
 * `message` starts with it, so that callers can classify rejections of both in the same way.
 */
export class LedgerRejection extends Error {
  override name = "LedgerRejection";
  readonly token: string;

  constructor(token: string, detail: string) {
    super(`${token}: ${detail}`);
    this.token = token;
  }
}

/** Texts of the emulator (scalus) and the node's name of the rule that each stands for. */
const RULES: readonly (readonly [pattern: RegExp, token: string])[] = [
  [/^Missing (inputs|collateral inputs|reference inputs)/, "BadInputsUTxO"],
  [/outside the validity interval/, "OutsideValidityIntervalUTxO"],
  [/^Value not conserved/, "ValueNotConservedUTxO"],
  [/^Transaction outputs are too small/, "BabbageOutputTooSmallUTxO"],
  [/^Transaction outputs exceed maximum value/, "OutputTooBigUTxO"],
  [/^Missing key hashes/, "MissingVKeyWitnessesUTXOW"],
  [/^Invalid verified signatures/, "InvalidWitnessesUTXOW"],
  [/^Missing or extra script hashes/, "MissingScriptWitnessesUTXOW"],
  [/^Invalid script data hash/, "PPViewHashesDontMatch"],
  [/^Exact set of redeemers/, "ExtraRedeemers"],
  [/^Plutus script validation failed/, "PlutusFailure"],
  [/invalid flag passed script validation/, "ValidationTagMismatch"],
  [/^Datums validation failed/, "MissingRequiredDatums"],
  [/^Empty transaction inputs/, "InputSetEmptyUTxO"],
  [/auxiliary data/i, "ConflictingMetadataHash"],
  [/^Too many collateral inputs/, "TooManyCollateralInputs"],
  [/^Transaction size/, "MaxTxSizeUTxO"],
  [/^Fee or collateral/, "FeeTooSmallUTxO"],
];

/** `otherwise` names a failure that none of the known rules explains. */
export function ledgerRejection(detail: string, otherwise: string): LedgerRejection {
  const rule = RULES.find(([pattern]) => pattern.test(detail));
  return new LedgerRejection(rule?.[1] ?? otherwise, detail);
}
