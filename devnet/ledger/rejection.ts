/** The reason for which the ledger refuses a transaction, in the words of a node of the Conway era. */
import { type AssetQuantity, type OutputReference, POLICY_ID_LENGTH } from "./transaction.ts";

/** Where a node shows a rule: the rules contain one another, and each names the one within. */
const WRAPPERS = {
  utxow: (rule: string) => `ConwayUtxowFailure (${rule})`,
  utxo: (rule: string) => `ConwayUtxowFailure (UtxoFailure (${rule}))`,
  utxos: (rule: string) => `ConwayUtxowFailure (UtxoFailure (UtxosFailure (${rule})))`,
} as const;

type Layer = keyof typeof WRAPPERS;

/**
 * The ledger refused a transaction. `token` is the name a node gives the rule, and `message` starts
 * with it.
 */
export class LedgerRejection extends Error {
  override name = "LedgerRejection";
  readonly token: string;
  /** What a node shows: each rule that is broken, with its arguments. */
  readonly failures: readonly string[];

  /**
   * @param detail - the message for people
   * @param shown - the rule's arguments as a node shows them; the detail, quoted, when omitted
   * @param also - rules that are broken as well
   */
  constructor(
    token: string,
    detail: string,
    shown = JSON.stringify(detail),
    also: readonly LedgerRejection[] = [],
  ) {
    super(`${token}: ${detail}`);
    this.token = token;
    this.failures = [failureText(token, shown), ...also.flatMap(({ failures }) => failures)];
  }
}

/** A node's mempool says this before it looks at anything else, whatever has become of the inputs. */
export function allInputsSpent(): LedgerRejection {
  return new LedgerRejection(
    "ConwayMempoolFailure",
    "All inputs are spent. Transaction has probably already been included",
  );
}

/** Inputs that the ledger does not have; what they would bring in is then missing on balance. */
export function missingInputs(
  references: readonly OutputReference[],
  balance: { consumed: readonly AssetQuantity[]; produced: readonly AssetQuantity[] },
): LedgerRejection {
  const [consumed, produced] = [valueText(balance.consumed), valueText(balance.produced)];
  return new LedgerRejection(
    "BadInputsUTxO",
    `missing inputs ${references.map(({ txHash, index }) => `${txHash}#${index}`).join(", ")}`,
    setOf(references.map(({ txHash, index }) => inputText(txHash, index))),
    [new LedgerRejection("ValueNotConservedUTxO", "", mismatch(consumed, produced))],
  );
}

function failureText(token: string, shown: string): string {
  if (token === "ConwayMempoolFailure") return `${token} ${shown}`;
  if (token === "PlutusFailure")
    return WRAPPERS.utxos(
      `ValidationTagMismatch (IsValid True) (FailedUnexpectedly (PlutusFailure ${shown} "" :| []))`,
    );
  const layer = RULES.find((rule) => rule.token === token)?.layer ?? "utxo";
  return WRAPPERS[layer](`${token} ${shown}`.trimEnd());
}

export function mismatch(supplied: string, expected: string): string {
  return `(Mismatch {mismatchSupplied = ${supplied}, mismatchExpected = ${expected}})`;
}

interface Rule {
  /** Text of the emulator (scalus). */
  pattern: RegExp;
  token: string;
  layer: Layer;
  /** The arguments as a node shows them, from the emulator's text; that text itself when omitted. */
  shown?: (detail: string) => string | undefined;
}

const RULES: readonly Rule[] = [
  {
    pattern: /^Missing (inputs|collateral inputs|reference inputs)/,
    token: "BadInputsUTxO",
    layer: "utxo",
    shown: (detail) =>
      setOf(
        [...detail.matchAll(/TransactionInput\("([0-9a-f]{64})",(\d+)\)/g)].map(
          ([, hash = "", index]) => inputText(hash, Number(index)),
        ),
      ),
  },
  {
    pattern: /outside the validity interval/,
    token: "OutsideValidityIntervalUTxO",
    layer: "utxo",
    shown: (detail) => {
      const found = /ValidityInterval\((\S+),(\S+)\) for slot (\d+)/.exec(detail);
      if (!found) return undefined;
      const [, from = "", to = "", slot] = found;
      return `(ValidityInterval {invalidBefore = ${maybeSlot(from)}, invalidHereafter = ${maybeSlot(to)}}) (SlotNo ${slot})`;
    },
  },
  {
    pattern: /^Value not conserved/,
    token: "ValueNotConservedUTxO",
    layer: "utxo",
    shown: (detail) => {
      const [consumed, produced] = [...detail.matchAll(/Value\((-?[\d.]+) ADA\)/g)];
      if (!consumed?.[1] || !produced?.[1]) return undefined;
      return mismatch(valueText(coinOf(consumed[1])), valueText(coinOf(produced[1])));
    },
  },
  {
    pattern: /^Transaction outputs are too small/,
    token: "BabbageOutputTooSmallUTxO",
    layer: "utxo",
  },
  {
    pattern: /^Transaction outputs exceed maximum value/,
    token: "OutputTooBigUTxO",
    layer: "utxo",
  },
  {
    pattern: /^Missing key hashes/,
    token: "MissingVKeyWitnessesUTXOW",
    layer: "utxow",
    shown: (detail) =>
      setOf([...new Set(quoted(detail, 56))].map((hash) => `KeyHash {unKeyHash = "${hash}"}`)),
  },
  {
    pattern: /^Invalid verified signatures/,
    token: "InvalidWitnessesUTXOW",
    layer: "utxow",
    shown: (detail) => {
      const keys = [...detail.matchAll(/VKeyWitness\("([0-9a-f]{64})"/g)];
      return `[${keys.map(([, key]) => `VKey (VerKeyEd25519DSIGN "${key}")`).join(",")}]`;
    },
  },
  {
    pattern: /^Missing or extra script hashes/,
    token: "MissingScriptWitnessesUTXOW",
    layer: "utxow",
    shown: (detail) => setOf(quoted(detail, 56).map((hash) => `ScriptHash "${hash}"`)),
  },
  { pattern: /^Invalid script data hash/, token: "PPViewHashesDontMatch", layer: "utxow" },
  { pattern: /^Exact set of redeemers/, token: "ExtraRedeemers", layer: "utxow" },
  { pattern: /^Plutus script validation failed/, token: "PlutusFailure", layer: "utxos" },
  {
    pattern: /invalid flag passed script validation/,
    token: "ValidationTagMismatch",
    layer: "utxos",
    shown: () => "(IsValid False) PassedUnexpectedly",
  },
  { pattern: /^Datums validation failed/, token: "MissingRequiredDatums", layer: "utxow" },
  {
    pattern: /^Empty transaction inputs/,
    token: "InputSetEmptyUTxO",
    layer: "utxo",
    shown: () => "",
  },
  { pattern: /auxiliary data/i, token: "ConflictingMetadataHash", layer: "utxow" },
  {
    pattern: /^Too many collateral inputs/,
    token: "TooManyCollateralInputs",
    layer: "utxo",
    shown: (detail) => {
      const found = /Actual: (\d+), maximum: (\d+)/.exec(detail);
      return found?.[1] && found[2] ? mismatch(found[1], found[2]) : undefined;
    },
  },
  {
    pattern: /collateral Coin\(-?\d+\) is insufficient/,
    token: "InsufficientCollateral",
    layer: "utxo",
    shown: (detail) => {
      const found = /Coin\((-?\d+)\) is insufficient \(required (\d+)% of fee Coin\((\d+)\)/.exec(
        detail,
      );
      if (!found) return undefined;
      const [, given, percent = "", fee = ""] = found;
      const needed = (BigInt(percent) * BigInt(fee) + 99n) / 100n;
      return `(DeltaCoin ${given}) (Coin ${needed})`;
    },
  },
  {
    pattern: /no collateral inputs provided/,
    token: "NoCollateralInputs",
    layer: "utxo",
    shown: () => "",
  },
  { pattern: /collateral contains non-ADA/, token: "CollateralContainsNonADA", layer: "utxo" },
  {
    pattern: /^Fee or collateral/,
    token: "FeeTooSmallUTxO",
    layer: "utxo",
    shown: (detail) => {
      const found = /fee Coin\((\d+)\) is less than minimum required Coin\((\d+)\)/.exec(detail);
      return (found && mismatch(`Coin ${found[1]}`, `Coin ${found[2]}`)) || undefined;
    },
  },
];

/**
 * @param detail - the emulator's text
 * @param otherwise - names a failure that none of the known rules explains
 */
export function ledgerRejection(detail: string, otherwise: string): LedgerRejection {
  const rule = RULES.find(({ pattern }) => pattern.test(detail));
  return new LedgerRejection(rule?.token ?? otherwise, detail, rule?.shown?.(detail));
}

/** Hashes of so many characters in quotes; the transaction's own is longer than a script's or key's. */
function quoted(text: string, length: number): string[] {
  return [...text.matchAll(new RegExp(`"([0-9a-f]{${length}})"`, "g"))].flatMap(
    ([, hash]) => hash ?? [],
  );
}

function setOf(items: string[]): string {
  return `(fromList [${items.join(",")}])`;
}

/** `Some(5)` or `None`. */
function maybeSlot(text: string): string {
  const slot = /^Some\((\d+)\)$/.exec(text)?.[1];
  return slot === undefined ? "SNothing" : `SJust (SlotNo ${slot})`;
}

/** The emulator shows six decimals of the coin, and nothing else where there are no tokens. */
function coinOf(decimal: string): AssetQuantity[] {
  return [{ unit: "lovelace", quantity: BigInt(decimal.replace(".", "")) }];
}

function inputText(hash: string, index: number): string {
  return `TxIn (TxId {unTxId = SafeHash "${hash}"}) (TxIx {unTxIx = ${index}})`;
}

function valueText(quantities: readonly AssetQuantity[]): string {
  const sums = new Map<string, bigint>();
  for (const { unit, quantity } of quantities) sums.set(unit, (sums.get(unit) ?? 0n) + quantity);
  const coin = sums.get("lovelace") ?? 0n;
  sums.delete("lovelace");
  const policies = Map.groupBy([...sums].sort(), ([unit]) => unit.slice(0, POLICY_ID_LENGTH));
  const assets = [...policies].map(([policy, held]) => {
    const names = held.map(([unit, sum]) => `("${unit.slice(POLICY_ID_LENGTH)}",${sum})`);
    return `(PolicyID {policyID = ScriptHash "${policy}"},fromList [${names.join(",")}])`;
  });
  return `MaryValue (Coin ${coin}) (MultiAsset (fromList [${assets.join(",")}]))`;
}
