import { bytesToHex } from "../../../chain/hex.ts";
import { encodeMetadatum } from "../../../chain/metadata.ts";
import type { ExecutionUnits, ProtocolParameters } from "../../../chain/provider/provider.ts";
import {
  type BuiltTransaction,
  draftTransaction,
  reserveFor,
  TransactionTooLarge,
  withReserve,
} from "../../../chain/transaction/build.ts";
import { collateralReturn } from "../../../chain/transaction/encode.ts";
import {
  byReference,
  type OutputReference,
  outputName,
  type Payment,
  type PlannedOutput,
  type TransactionPlan,
  type WalletOutput,
} from "../../../chain/transaction/plan.ts";
import {
  isForCollateral,
  type PayingWallet,
  payFrom,
  WalletShort,
} from "../../../chain/transaction/selection.ts";
import type { TransactionPart } from "../../work.ts";
import type { OwnOutput, WalletTransaction } from "../transaction.ts";

/** What all parts of a transaction have in common. */
export interface Frame {
  /** Slots; see `TransactionPlan`. */
  validity: TransactionPlan["validity"];
  parameters: ProtocolParameters;
  /** Payment key hash of the wallet, hex. */
  signer: string;
}

/** What a wallet pays with. */
export interface Purse {
  address: string;
  /** The output of the line, or of the lane, that is spent. */
  line: WalletOutput;
  /** All that it can spend. */
  outputs: readonly WalletOutput[];
  /** Name of the output that is kept for collateral; null: none yet. */
  collateral: string | null;
  /** Whether that is at stake in another transaction, and so not to be spent. */
  isCollateralNamed?: boolean;
  /** See `PayingWallet`. */
  last?: ReadonlySet<string>;
  splits?: number;
}

/** A transaction that can be paid, before its scripts are measured. */
export interface Composed {
  plan: TransactionPlan;
  wallet: PayingWallet;
  /** So many of the parts are in it, from the first. */
  count: number;
  /** Whether it is known of all its scripts what they use. */
  isMeasured: boolean;
}

/**
 * Puts parts together, as many as one transaction holds and the wallet can pay: all of them, else the
 * first half, and so on. The same parts and purse give the same transaction.
 *
 * @param parts - at least one
 * @throws TransactionTooLarge, WalletShort: one part alone is too large, or cannot be paid
 */
export function compose(parts: readonly TransactionPart[], purse: Purse, frame: Frame): Composed {
  for (let count = compatible(parts); ; count = Math.ceil(count / 2)) {
    const chosen = parts.slice(0, count);
    const wallet = payingWallet(chosen, purse);
    try {
      const { plan, isMeasured } = planOf(chosen, frame);
      draftTransaction(plan, payFrom(wallet, plan), 1);
      return { plan, wallet, count, isMeasured };
    } catch (error) {
      const isSize = error instanceof TransactionTooLarge || error instanceof WalletShort;
      if (!isSize || count === 1) throw error;
    }
  }
}

/**
 * How many parts from the first go together: a transaction has one mint of a policy, one text under a
 * label, and spends an output once.
 */
function compatible(parts: readonly TransactionPart[]): number {
  const taken = new Set<string>();
  const labels = new Map<bigint, string>();
  for (const [i, part] of parts.entries()) {
    const names = [
      ...part.mints.map(({ script }) => script.hash),
      ...[...part.scriptInputs, ...part.spends].map(outputName),
      ...(part.alone ?? []),
    ];
    const texts = [...part.metadata].map(([label, value]) => {
      return [label, bytesToHex(encodeMetadatum(value))] as const;
    });
    const isOther = texts.some(([label, text]) => (labels.get(label) ?? text) !== text);
    const most = Math.min(...parts.slice(0, i + 1).map((one) => one.most ?? parts.length));
    if (isOther || i >= Math.max(most, 1) || names.some((name) => taken.has(name))) return i;
    for (const name of names) taken.add(name);
    for (const [label, text] of texts) labels.set(label, text);
  }
  return parts.length;
}

/** What a script may use while a node measures it: more than any that we know does. */
const DRAFT_UNITS: ExecutionUnits = { memory: 7_000_000n, steps: 3_000_000_000n };

/** That, or an equal share of what a transaction may use. */
function shareOf(most: ExecutionUnits, count: number): ExecutionUnits {
  const share = (unit: keyof ExecutionUnits) => {
    const equal = most[unit] / BigInt(count);
    return equal < DRAFT_UNITS[unit] ? equal : DRAFT_UNITS[unit];
  };
  return { memory: share("memory"), steps: share("steps") };
}

/**
 * The content of a transaction of some parts.
 *
 * @throws TransactionTooLarge when they use more than a transaction may
 */
function planOf(
  chosen: readonly TransactionPart[],
  { validity, parameters, signer }: Frame,
): Pick<Composed, "plan" | "isMeasured"> {
  const parts = inOrder(chosen);
  const runsOf = (part: TransactionPart) => part.scriptInputs.length + part.mints.length;
  const runs = parts.flatMap((part) => {
    const used = part.unitsAmong?.(parts.length) ?? null;
    return Array.from({ length: runsOf(part) }, () => used);
  });
  const known = runs.filter((used) => used !== null);
  const percent = reserveFor(known, parameters);
  const isMeasured = known.length === runs.length;
  const unitsOf = (part: TransactionPart): ExecutionUnits => {
    const used = isMeasured && part.unitsAmong?.(parts.length);
    return used ? withReserve(used, percent) : shareOf(parameters.maxUnits, runs.length);
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
 * Parts that spend a script's output each, as the ledger sorts these: so a transaction of as many of them has
 * one shape, whatever their hashes, and scripts have the shortest way to their outputs.
 */
function inOrder(parts: readonly TransactionPart[]): readonly TransactionPart[] {
  const isEach = parts.every(({ scriptInputs }) => scriptInputs.length === 1);
  if (!isEach) return parts;
  const spent = ({ scriptInputs: [one] }: TransactionPart) => one as OutputReference;
  return parts.toSorted((a, b) => byReference(spent(a), spent(b)));
}

function payingWallet(parts: readonly TransactionPart[], purse: Purse): PayingWallet {
  const { address, line, last = new Set(), splits = 0 } = purse;
  const mustSpend = new Map(
    [line, ...parts.flatMap(({ spends }) => spends)].map((one) => [outputName(one), one]),
  );
  const free = purse.outputs.filter((one) => !mustSpend.has(outputName(one)));
  const collateral =
    free.find((one) => outputName(one) === purse.collateral) ?? free.find(isForCollateral) ?? null;
  const outputs = purse.isCollateralNamed
    ? purse.outputs.filter((one) => outputName(one) !== purse.collateral)
    : purse.outputs;
  return { address, outputs, mustSpend: [...mustSpend.values()], collateral, last, splits };
}

/** What a wallet keeps of a transaction that it has built. */
export function keptOf(
  { hash, fee, inputs, outputs, payment, cbor }: BuiltTransaction,
  { address }: Pick<PayingWallet, "address">,
): Pick<WalletTransaction, "hash" | "fee" | "size" | "inputs" | "made" | "lineOut" | "collateral"> {
  const isOwn = (output: PlannedOutput) =>
    output.address === address && output.datum === undefined && output.script === undefined;
  const made = outputs.flatMap((output, index): OwnOutput[] =>
    isOwn(output) ? [{ index, value: output.value }] : [],
  );
  return {
    hash,
    fee,
    size: cbor.length,
    inputs: inputs.map(outputName),
    made,
    lineOut: outputName({ txHash: hash, index: outputs.length - 1 }),
    collateral: collateralOf(payment, outputs.length),
  };
}

/** The output that is left of the collateral has the number behind those of the transaction. */
function collateralOf({ collateral }: Payment, index: number): WalletTransaction["collateral"] {
  if (collateral === null) return null;
  const { value } = collateralReturn(collateral);
  return { inputs: collateral.inputs.map(outputName), returned: { index, value } };
}
