import { bytesToHex } from "../../../chain/hex.ts";
import { encodeMetadatum } from "../../../chain/metadata.ts";
import type { ExecutionUnits, ProtocolParameters } from "../../../chain/provider/provider.ts";
import {
  addMargin,
  type BuiltTransaction,
  computeMarginPercent,
  draftTransaction,
  TransactionTooLargeError,
} from "../../../chain/transaction/build-transaction.ts";
import { createCollateralReturn } from "../../../chain/transaction/encode.ts";
import {
  createInputSelector,
  InsufficientFundsError,
  isCollateralOutput,
  type PayingWallet,
} from "../../../chain/transaction/select-inputs.ts";
import {
  compareOutputReferences,
  formatOutputReference,
  type InputSelection,
  type OutputReference,
  type PlannedOutput,
  type TransactionPlan,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import type { OwnOutput, WalletTransaction } from "../../model/wallet-transaction.ts";
import type { TransactionPart } from "../../queue/feature.ts";

/** What all parts of a transaction have in common. */
export interface TransactionFrame {
  /** Slots; see `TransactionPlan`. */
  validity: TransactionPlan["validity"];
  parameters: ProtocolParameters;
  /** Payment key hash of the wallet, hex. */
  signer: string;
}

/** What a wallet pays with. */
export interface FundingSource {
  address: string;
  /** See `BuildContext`. */
  placementOutput: WalletOutput;
  /** All that it can spend. */
  outputs: readonly WalletOutput[];
  /** Name of the output that is kept for collateral; null: none yet. */
  collateral: string | null;
  /** Whether that is at stake in another transaction, and so not to be spent. */
  isCollateralNamed?: boolean;
  /** See `PayingWallet`. */
  spendLast?: ReadonlySet<string>;
  splits?: number;
}

/** A transaction that can be paid, before its scripts are measured. */
export interface ComposedTransaction {
  plan: TransactionPlan;
  wallet: PayingWallet;
  /** So many of the parts are in it, from the first. */
  partCount: number;
  /** Whether it is known of all its scripts what they use. */
  isMeasured: boolean;
}

/**
 * Puts parts together, as many as one transaction holds and the wallet can pay: all of them, else the
 * first half, and so on. The same parts and purse give the same transaction.
 *
 * @param parts - at least one
 * @throws TransactionTooLargeError, InsufficientFundsError: one part alone is too large, or cannot be paid
 */
export function composeTransaction(
  parts: readonly TransactionPart[],
  funding: FundingSource,
  frame: TransactionFrame,
): ComposedTransaction {
  for (let count = countCompatible(parts); ; count = Math.ceil(count / 2)) {
    const selected = parts.slice(0, count);
    const wallet = toPayingWallet(selected, funding);
    try {
      const { plan, isMeasured } = toPlan(selected, frame);
      draftTransaction(plan, createInputSelector(wallet, plan), 1);
      return { plan, wallet, partCount: count, isMeasured };
    } catch (error) {
      const isSize =
        error instanceof TransactionTooLargeError || error instanceof InsufficientFundsError;
      if (!isSize || count === 1) throw error;
    }
  }
}

/**
 * Counts the first parts that fit into one transaction. A transaction has one mint of a policy and
 * one text under a label, and spends an output once.
 */
function countCompatible(parts: readonly TransactionPart[]): number {
  const taken = new Set<string>();
  const labels = new Map<bigint, string>();
  for (const [i, part] of parts.entries()) {
    const names = [
      ...part.mints.map(({ script }) => script.hash),
      ...[...part.scriptInputs, ...part.spends].map(formatOutputReference),
      ...(part.exclusiveNames ?? []),
    ];
    const texts = [...part.metadata].map(([label, value]) => {
      return [label, bytesToHex(encodeMetadatum(value))] as const;
    });
    const isOther = texts.some(([label, text]) => (labels.get(label) ?? text) !== text);
    const most = Math.min(...parts.slice(0, i + 1).map((one) => one.maxParts ?? parts.length));
    if (isOther || i >= Math.max(most, 1) || names.some((name) => taken.has(name))) return i;
    for (const name of names) taken.add(name);
    for (const [label, text] of texts) labels.set(label, text);
  }
  return parts.length;
}

/** What a script may use while a node measures it: more than any that we know does. */
const DRAFT_UNITS: ExecutionUnits = { memory: 7_000_000n, steps: 3_000_000_000n };

/** That, or an equal share of what a transaction may use. */
function computeUnitShare(most: ExecutionUnits, count: number): ExecutionUnits {
  const share = (unit: keyof ExecutionUnits) => {
    const equal = most[unit] / BigInt(count);
    return equal < DRAFT_UNITS[unit] ? equal : DRAFT_UNITS[unit];
  };
  return { memory: share("memory"), steps: share("steps") };
}

/**
 * The content of a transaction of some parts.
 *
 * @throws TransactionTooLargeError when they use more than a transaction may
 */
function toPlan(
  chosen: readonly TransactionPart[],
  { validity, parameters, signer }: TransactionFrame,
): Pick<ComposedTransaction, "plan" | "isMeasured"> {
  const parts = sortParts(chosen);
  const countScriptRuns = (part: TransactionPart) => part.scriptInputs.length + part.mints.length;
  const runs = parts.flatMap((part) => {
    const used = part.getMeasuredUnits?.(parts.length) ?? null;
    return Array.from({ length: countScriptRuns(part) }, () => used);
  });
  const known = runs.filter((used) => used !== null);
  const percent = computeMarginPercent(known, parameters);
  const isMeasured = known.length === runs.length;
  const unitsOf = (part: TransactionPart): ExecutionUnits => {
    const used = isMeasured && part.getMeasuredUnits?.(parts.length);
    return used ? addMargin(used, percent) : computeUnitShare(parameters.maxUnits, runs.length);
  };
  const scriptInputs = parts.flatMap((part) =>
    part.scriptInputs.map((run) => ({ ...run, units: unitsOf(part) })),
  );
  const mints = parts.flatMap((part) =>
    part.mints.map((run) => ({ ...run, units: unitsOf(part) })),
  );
  const plan: TransactionPlan = {
    scriptInputs,
    mints,
    outputs: parts.flatMap(({ outputs }) => outputs),
    // What scripts see of who signs.
    requiredSigners: scriptInputs.length + mints.length > 0 ? [signer] : [],
    spentScriptBytes: parts.reduce((sum, one) => sum + (one.spentScriptBytes ?? 0), 0),
    metadata: new Map(parts.flatMap(({ metadata }) => [...metadata])),
    validity,
    parameters,
  };
  return { plan, isMeasured };
}

/**
 * Sorts parts by the script output that each spends, as the ledger does. Transactions of equally many parts
 * then have the same shape, and scripts find their outputs fastest.
 */
function sortParts(parts: readonly TransactionPart[]): readonly TransactionPart[] {
  const isEach = parts.every(({ scriptInputs }) => scriptInputs.length === 1);
  if (!isEach) return parts;
  const spentOutputOf = ({ scriptInputs: [one] }: TransactionPart) => one as OutputReference;
  return parts.toSorted((a, b) => compareOutputReferences(spentOutputOf(a), spentOutputOf(b)));
}

function toPayingWallet(parts: readonly TransactionPart[], funding: FundingSource): PayingWallet {
  const { address, placementOutput, spendLast: last = new Set(), splits = 0 } = funding;
  const mustSpend = new Map(
    [placementOutput, ...parts.flatMap(({ spends }) => spends)].map((one) => [
      formatOutputReference(one),
      one,
    ]),
  );
  const free = funding.outputs.filter((one) => !mustSpend.has(formatOutputReference(one)));
  const collateral =
    free.find((one) => formatOutputReference(one) === funding.collateral) ??
    free.find(isCollateralOutput) ??
    null;
  const outputs = funding.isCollateralNamed
    ? funding.outputs.filter((one) => formatOutputReference(one) !== funding.collateral)
    : funding.outputs;
  return { address, outputs, mustSpend: [...mustSpend.values()], collateral, last, splits };
}

/** What a wallet keeps of a transaction that it has built. */
export function toStoredFields(
  { hash, fee, inputs, outputs, selection, cbor }: BuiltTransaction,
  { address }: Pick<PayingWallet, "address">,
): Pick<
  WalletTransaction,
  "hash" | "fee" | "size" | "inputs" | "made" | "changeOutput" | "collateral"
> {
  const isOwnOutput = (output: PlannedOutput) =>
    output.address === address && output.datum === undefined && output.script === undefined;
  const made = outputs.flatMap((output, index): OwnOutput[] =>
    isOwnOutput(output) ? [{ index, value: output.value }] : [],
  );
  return {
    hash,
    fee,
    size: cbor.length,
    inputs: inputs.map(formatOutputReference),
    made,
    changeOutput: formatOutputReference({ txHash: hash, index: outputs.length - 1 }),
    collateral: toStoredCollateral(selection, outputs.length),
  };
}

/** The output that is left of the collateral has the number behind those of the transaction. */
function toStoredCollateral(
  { collateral }: InputSelection,
  index: number,
): WalletTransaction["collateral"] {
  if (collateral === null) return null;
  const { value } = createCollateralReturn(collateral);
  return { inputs: collateral.inputs.map(formatOutputReference), returned: { index, value } };
}
