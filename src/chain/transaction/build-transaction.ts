/**
 * Builds and signs wallets' transactions. Small enough to cost milliseconds, where a general library
 * takes a third of a second and a megabyte of bundle.
 */
import { bytesToHex } from "../hex.ts";
import type { ExecutionUnits } from "../provider/provider.ts";
import { signExtended, type WalletKeys } from "../wallet-keys.ts";
import { blake2b256, encodeBody, encodeTransaction, listInputs, nameRedeemers } from "./encode.ts";
import { computeMinimumFee } from "./minimum-fee.ts";
import type {
  InputSelection,
  OutputReference,
  PlannedOutput,
  TransactionPlan,
} from "./transaction-plan.ts";

export interface BuiltTransaction {
  cbor: Uint8Array;
  /** Hex: blake2b-256 of the body. */
  hash: string;
  /** Native minor units. */
  fee: bigint;
  /** All that it spends, in the ledger's order. */
  inputs: OutputReference[];
  /** All that it makes, the wallet's change last. */
  outputs: PlannedOutput[];
  selection: InputSelection;
}

/** Of what scripts were measured to use. */
const UNITS_MARGIN_PERCENT = 15n;

/** How a wallet pays for a transaction with a certain fee, in native minor units. */
export type InputSelector = (fee: bigint) => InputSelection;

/** The transaction exceeds a ledger limit, whatever the wallet holds. */
export class TransactionTooLargeError extends Error {
  override name = "TransactionTooLargeError";
}

/** Its scripts do more than those of one transaction may, wherever they are read from. */
export class TooManyExecutionUnitsError extends TransactionTooLargeError {
  override name = "TooManyExecutionUnitsError";
}

/**
 * Builds and signs.
 *
 * @param pay - called with growing fees until a fee covers the transaction
 * @param keys - of all signers, each once
 * @throws TransactionTooLargeError; what `pay` throws
 */
export function buildTransaction(
  plan: TransactionPlan,
  pay: InputSelector,
  keys: readonly WalletKeys[],
): BuiltTransaction {
  return completeTransaction(plan, balanceTransaction(plan, pay, keys.length), keys);
}

/**
 * Builds for others to sign: the fee covers their signatures, of which there is none yet.
 *
 * @param signers - how many sign
 * @throws as `buildTransaction`
 */
export function buildUnsignedTransaction(
  plan: TransactionPlan,
  pay: InputSelector,
  signers: number,
): BuiltTransaction {
  return completeTransaction(plan, balanceTransaction(plan, pay, signers), []);
}

function completeTransaction(
  plan: TransactionPlan,
  { fee, payment, body }: ReturnType<typeof balanceTransaction>,
  keys: readonly WalletKeys[],
): BuiltTransaction {
  const hash = blake2b256(body);
  const witnesses = keys.map((one) => ({
    publicKey: one.paymentPublicKey,
    signature: signExtended(one, hash),
  }));
  return {
    cbor: encodeTransaction(plan, payment, body, witnesses),
    hash: bytesToHex(hash),
    fee,
    inputs: listInputs(plan, payment),
    outputs: [...plan.outputs, ...payment.change],
    selection: payment,
  };
}

/** A transaction without valid signatures, for a node to measure its scripts. */
export interface TransactionDraft {
  cbor: Uint8Array;
  /** All that it spends, and what is at stake. */
  inputs: OutputReference[];
  /** How a node names what runs a script; see `redeemerNames`. The keys are the plan's own objects. */
  redeemerNames: ReadonlyMap<object, string>;
  selection: InputSelection;
  /**
   * The plan with what its scripts used, as the node tells it, and a reserve.
   *
   * @throws TransactionTooLargeError when that is more than a transaction may use
   */
  withMeasuredUnits(used: ReadonlyMap<string, ExecutionUnits>): TransactionPlan;
}

/**
 * Builds without signing.
 *
 * @param signers - how many sign
 * @throws as `buildTransaction`
 */
export function draftTransaction(
  plan: TransactionPlan,
  pay: InputSelector,
  signers: number,
): TransactionDraft {
  const { payment, body } = balanceTransaction(plan, pay, signers);
  const names = nameRedeemers(plan, payment);
  return {
    cbor: encodeTransaction(plan, payment, body, createPlaceholderWitnesses(signers)),
    inputs: [...listInputs(plan, payment), ...(payment.collateral?.inputs ?? [])],
    redeemerNames: names,
    selection: payment,
    withMeasuredUnits(used) {
      const percent = computeMarginPercent([...used.values()], plan.parameters);
      const applyMeasuredUnits = <Run extends { units: ExecutionUnits }>(run: Run): Run => {
        const units = used.get(names.get(run) ?? "");
        return units ? { ...run, units: addMargin(units, percent) } : run;
      };
      return {
        ...plan,
        scriptInputs: plan.scriptInputs.map(applyMeasuredUnits),
        mints: plan.mints.map(applyMeasuredUnits),
      };
    },
  };
}

/** Raises the fee until it covers the transaction that includes it. */
function balanceTransaction(plan: TransactionPlan, pay: InputSelector, signers: number) {
  const { feeConstant, maxTransactionSize } = plan.parameters;
  for (let fee = feeConstant; ; ) {
    const payment = pay(fee);
    const body = encodeBody(plan, payment, fee);
    const { length } = encodeTransaction(plan, payment, body, createPlaceholderWitnesses(signers));
    if (length > maxTransactionSize)
      throw new TransactionTooLargeError(
        `the transaction has ${length} bytes, at most ${maxTransactionSize} are allowed`,
      );
    const needed = computeMinimumFee(plan, length);
    if (needed <= fee) return { fee, payment, body };
    fee = needed;
  }
}

/** Signatures of the right length. Each differs: equal items of a set would be one. */
function createPlaceholderWitnesses(signers: number) {
  return Array.from({ length: signers }, (_, i) => ({
    publicKey: new Uint8Array(32).fill(i),
    signature: new Uint8Array(64),
  }));
}

/**
 * How much more than measured scripts may use, in percent. The final fee and change differ from the
 * measured ones, so the scripts may use a little more. The reserve is smaller where there is no room
 * for it.
 *
 * @throws TooManyExecutionUnitsError when they use more than a transaction may without any reserve
 */
export function computeMarginPercent(
  used: readonly ExecutionUnits[],
  { maxUnits }: Pick<TransactionPlan["parameters"], "maxUnits">,
): bigint {
  const room = (["memory", "steps"] as const).map((unit) => {
    const total = used.reduce((sum, one) => sum + one[unit], 0n);
    if (total > maxUnits[unit])
      throw new TooManyExecutionUnitsError(
        `the scripts of the transaction use ${total} units of ${unit}, at most ${maxUnits[unit]} are allowed`,
      );
    return total === 0n ? UNITS_MARGIN_PERCENT : ((maxUnits[unit] - total) * 100n) / total;
  });
  return [UNITS_MARGIN_PERCENT, ...room].reduce((a, b) => (a < b ? a : b));
}

/** @param percent - the result of `computeMarginPercent` */
export function addMargin({ memory, steps }: ExecutionUnits, percent: bigint): ExecutionUnits {
  return {
    memory: memory + (memory * percent) / 100n,
    steps: steps + (steps * percent) / 100n,
  };
}
