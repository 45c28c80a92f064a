import { encodeBytes, encodeInt } from "../cbor.ts";
import { hexToBytes } from "../hex.ts";
import type { Funds } from "../network.ts";
import type { ProtocolParameters, ProviderUtxo } from "../provider/provider.ts";
import { parseAmounts, splitUnit } from "../unit.ts";
import type { InputSelector } from "./build-transaction.ts";
import { createCollateralReturn, encodeOutput } from "./encode.ts";
import {
  coinOf,
  compareAmounts,
  compareForSpending,
  hasTokens,
  selectMergeableOutputs,
} from "./order-outputs.ts";
import {
  formatOutputReference,
  type PlannedOutput,
  sumMints,
  type TransactionPlan,
  type WalletOutput,
} from "./transaction-plan.ts";
import { addAmount, addValue, encodeValue, sumToValue, toFunds, type Value } from "./value.ts";

/** A wallet cannot pay for the transaction. The message tells its owner how to fix it. */
export class InsufficientFundsError extends Error {
  override name = "InsufficientFundsError";
  /** What has to be sent to the wallet: minor units of a unit. */
  readonly missingFunds: Funds;

  constructor(message: string, missing: Funds) {
    super(message);
    this.missingFunds = missing;
  }
}

/** What it lacks has to be one output with only the native coin, which a failed script would take. */
export class MissingCollateralError extends InsufficientFundsError {
  override name = "MissingCollateralError";
  /** Whether the wallet has enough in more outputs than the ledger takes, so that it can merge them. */
  readonly isScattered: boolean;

  constructor(message: string, missing: Funds, isScattered: boolean) {
    super(message, missing);
    this.isScattered = isScattered;
  }
}

/** Bytes that the ledger adds to an output's own (Babbage's `utxoEntrySizeWithoutVal`). */
const OUTPUT_OVERHEAD_BYTES = 160n;
/** Room for growth of the native amount's encoding. */
const AMOUNT_GROWTH_BYTES = 8n;

/**
 * The outputs of a wallet that a transaction can use. Those with a reference script are omitted:
 * spending one costs a fee by its size, and destroys what was placed there on purpose.
 */
export function toWalletOutputs(utxos: readonly ProviderUtxo[]): WalletOutput[] {
  return utxos
    .filter(({ referenceScriptHash }) => referenceScriptHash === null)
    .map(({ txHash, outputIndex, amount }) => ({
      txHash,
      index: outputIndex,
      value: sumToValue(parseAmounts(amount)),
    }));
}

/** The output that pays best: the largest with only the native coin, if there is one. */
export function findLargestOutput(outputs: readonly WalletOutput[]): WalletOutput | undefined {
  return outputs.toSorted(compareForSpending)[0];
}

/** The least native coin that an output must hold (Babbage's `utxoCostPerByte`), in minor units. */
export function computeMinimumCoin(
  output: PlannedOutput,
  { coinsPerByte }: ProtocolParameters,
): bigint {
  return (
    coinsPerByte *
    (OUTPUT_OVERHEAD_BYTES + BigInt(encodeOutput(output).length) + AMOUNT_GROWTH_BYTES)
  );
}

/** A wallet that pays. */
export interface PayingWallet {
  /** Where the change goes. */
  address: string;
  /** Outputs that may be spent. */
  outputs: readonly WalletOutput[];
  /** Those that must be spent. */
  mustSpend: readonly WalletOutput[];
  /** The one that is kept for collateral, and spent only when nothing else pays; null: none yet. */
  collateral: WalletOutput | null;
  /** Names of more outputs that are spent only when nothing else pays. */
  last?: ReadonlySet<string>;
  /** Small outputs to be split off the change, as far as it is large enough. Default 0. */
  splits?: number;
}

/** Native minor units of the output that a wallet keeps for collateral. */
const COLLATERAL_COIN = 5_000_000n;
/** What must stay beside it when it is split off. */
const MIN_COIN_BESIDE_COLLATERAL = 10_000_000n;
/** Native minor units of a small output, and what must stay beside it: some ten fees of steps. */
const SPLIT_COIN = 10_000_000n;
const MIN_COIN_BESIDE_SPLIT = 20_000_000n;

/**
 * Pays for a plan out of one wallet, until everything is paid and the change is large enough. First
 * come the outputs that must be spent, then the outputs with the most of each token that is owed. Then
 * follow the largest outputs with only the native coin, the outputs with tokens, and dust. Tokens
 * return in separate outputs. The last output of the change therefore has only the native coin,
 * where there is enough for all outputs.
 *
 * @throws InsufficientFundsError, when the payment is asked for
 */
export function createInputSelector(wallet: PayingWallet, plan: TransactionPlan): InputSelector {
  const { address, outputs, mustSpend } = wallet;
  const { parameters } = plan;
  const owed = computeOwedValue(plan);
  const kept = wallet.collateral && formatOutputReference(wallet.collateral);
  const spendingRankOf = (output: WalletOutput) => {
    const name = formatOutputReference(output);
    return name === kept ? 2 : wallet.last?.has(name) ? 1 : 0;
  };
  const sorted = outputs.toSorted(
    (a, b) => spendingRankOf(a) - spendingRankOf(b) || compareForSpending(a, b),
  );
  // Anybody can send a wallet many outputs with next to nothing of what it pays with.
  const holdersOf = (unit: string) =>
    sorted
      .filter(({ value }) => value.has(unit))
      .sort((a, b) => spendingRankOf(a) - spendingRankOf(b) || compareAmounts(unit, a, b));
  const runsScripts = plan.scriptInputs.length + plan.mints.length > 0;
  return (fee) => {
    const inputs = [...mustSpend];
    const isChosen = new Set(mustSpend.map(formatOutputReference));
    const left: Value = new Map();
    for (const [unit, amount] of owed) addAmount(left, unit, -amount);
    addAmount(left, "", -fee);
    for (const { value } of inputs) addValue(left, value);
    const missingCoin = () =>
      computeMinimumChange(address, left, parameters) - (left.get("") ?? 0n);
    const addInput = (output: WalletOutput): void => {
      if (isChosen.has(formatOutputReference(output))) return;
      isChosen.add(formatOutputReference(output));
      inputs.push(output);
      addValue(left, output.value);
    };
    const isShortOf = (unit: string) => (left.get(unit) ?? 0n) < 0n;
    for (const unit of [...left.keys()].filter((one) => one !== "" && isShortOf(one))) {
      for (const holder of holdersOf(unit)) {
        if (!isShortOf(unit)) break;
        addInput(holder);
      }
      if (!isShortOf(unit)) continue;
      const amount = -(left.get(unit) ?? 0n);
      throw new InsufficientFundsError(
        `the wallet ${address} does not hold the token ${unit}: ${amount} minor units are missing`,
        { unit, amount },
      );
    }
    for (const output of sorted) {
      if (missingCoin() <= 0n) break;
      addInput(output);
    }
    const stake = (fee * parameters.collateralPercent + 99n) / 100n;
    const atStake = runsScripts ? selectCollateral(wallet, stake, parameters) : null;
    if (runsScripts && atStake === null)
      throw createMissingCollateralError(
        address,
        missingCoin(),
        missingCoin() <= 0n && hasScatteredCollateral(wallet, stake, parameters),
      );
    if (missingCoin() > 0n)
      throw new InsufficientFundsError(
        `the wallet lacks ${missingCoin()} minor units of the native coin: send them to ${address}`,
        { unit: "", amount: missingCoin() },
      );
    return {
      inputs,
      change: planChange(wallet, left, runsScripts && wallet.collateral === null, parameters),
      collateral: atStake && { inputs: atStake, totalCollateral: stake, address },
    };
  };
}

/**
 * Tokens that return to a wallet, as many in an output as the ledger allows, each with the least native coin
 * that it must hold. The coin's encoding grows with it, so the least beside all that is left covers any part.
 */
function planTokenOutputs(
  address: string,
  left: Value,
  parameters: ProtocolParameters,
): { tokens: Value; least: bigint }[] {
  const coin = left.get("") ?? 0n;
  return splitTokens(left, parameters.maxValueSize).map((tokens) => ({
    tokens,
    least: computeMinimumCoin({ address, value: new Map([["", coin], ...tokens]) }, parameters),
  }));
}

/** The least native coin with which all that is left can return. */
function computeMinimumChange(
  address: string,
  left: Value,
  parameters: ProtocolParameters,
): bigint {
  const bundles = planTokenOutputs(address, left, parameters);
  if (bundles.length === 0) return computeMinimumCoin({ address, value: left }, parameters);
  return bundles.reduce((sum, { least }) => sum + least, 0n);
}

/** What returns to the wallet; the last output is the one with the native coin. */
function planChange(
  { address, splits = 0 }: PayingWallet,
  left: Value,
  wantsCollateral: boolean,
  parameters: ProtocolParameters,
): PlannedOutput[] {
  const change: PlannedOutput[] = [];
  let coin = left.get("") ?? 0n;
  const addOutput = (value: Value, atLeast: bigint): void => {
    change.push({ address, value });
    coin -= atLeast;
  };
  const bundles = planTokenOutputs(address, left, parameters);
  const alone = computeMinimumCoin({ address, value: new Map([["", coin]]) }, parameters);
  const isForAll = coin >= computeMinimumChange(address, left, parameters) + alone;
  const last = bundles.length > 0 && !isForAll ? bundles.pop() : undefined;
  for (const { tokens, least } of bundles) addOutput(new Map([["", least], ...tokens]), least);
  if (last) return [...change, { address, value: new Map([["", coin], ...last.tokens]) }];
  if (wantsCollateral && coin >= COLLATERAL_COIN + MIN_COIN_BESIDE_COLLATERAL)
    addOutput(new Map([["", COLLATERAL_COIN]]), COLLATERAL_COIN);
  for (let i = 0; i < splits && coin >= SPLIT_COIN + MIN_COIN_BESIDE_SPLIT; i++)
    addOutput(new Map([["", SPLIT_COIN]]), SPLIT_COIN);
  return [...change, { address, value: new Map([["", coin]]) }];
}

/** Whether an output serves as the one that a wallet keeps for collateral. */
export function isCollateralOutput({ value }: WalletOutput): boolean {
  return value.size === 1 && value.get("") === COLLATERAL_COIN;
}

/** What a wallet has to bring: all outputs, less what scripts hold and what is minted. */
function computeOwedValue({ outputs, scriptInputs, mints }: TransactionPlan): Value {
  const owed: Value = new Map();
  for (const { value } of outputs) addValue(owed, value);
  for (const { value } of scriptInputs) addValue(owed, value, -1n);
  addValue(owed, sumMints(mints), -1n);
  return owed;
}

/**
 * The output that is reserved for collateral, else the smallest output that is large enough, preferably
 * without tokens. Else as few of the largest outputs as are enough together; null: all of them are too
 * small.
 */
function selectCollateral(
  { address, outputs, collateral }: PayingWallet,
  stake: bigint,
  parameters: ProtocolParameters,
): readonly WalletOutput[] | null {
  const isEnough = (inputs: readonly WalletOutput[]) => {
    const { value } = createCollateralReturn({ inputs, totalCollateral: stake, address });
    return (
      (value.get("") ?? 0n) >= computeMinimumCoin({ address, value }, parameters) &&
      encodeValue(value).length <= parameters.maxValueSize
    );
  };
  if (collateral && isEnough([collateral])) return [collateral];
  const largest = outputs.toSorted(compareForSpending);
  const alone = largest
    .toReversed()
    .toSorted((a, b) => Number(hasTokens(a)) - Number(hasTokens(b)))
    .find((output) => isEnough([output]));
  if (alone) return [alone];
  const most = Math.min(parameters.maxCollateralInputs, outputs.length);
  for (let count = 2; count <= most; count++) {
    const some = largest.slice(0, count);
    if (isEnough(some)) return some;
  }
  return null;
}

/** Native minor units beyond the fee of a transaction that merges so many. */
const MERGE_COIN = 500_000n;

function hasScatteredCollateral(
  { address, outputs }: PayingWallet,
  stake: bigint,
  parameters: ProtocolParameters,
): boolean {
  const coin = selectMergeableOutputs(outputs).reduce((sum, one) => sum + coinOf(one), 0n);
  const returned = computeMinimumCoin({ address, value: new Map([["", coin]]) }, parameters);
  return coin >= stake + returned + MERGE_COIN;
}

/** One output does for both, since what is kept for collateral may pay as well. @param missing - to pay with */
function createMissingCollateralError(
  address: string,
  missing: bigint,
  isScattered: boolean,
): MissingCollateralError {
  const amount = missing > COLLATERAL_COIN ? missing : COLLATERAL_COIN;
  const also =
    missing > 0n
      ? `it lacks ${missing} minor units of the native coin to pay with as well, so one output does for both: `
      : "";
  return new MissingCollateralError(
    `the wallet has no collateral: ${also}send ${amount} minor units of the native coin in one output to ${address}`,
    { unit: "", amount },
    isScattered,
  );
}

/** The array of a value, the largest native amount, and the map of its policies. */
const VALUE_BYTES = 1 + 9 + 3;
/** A policy id, and the map of its tokens. */
const POLICY_BYTES = 2 + 28 + 3;

/**
 * Splits the tokens of a value, so that each part fits into one output beside any native amount.
 *
 * @param most - maximum bytes of an output's value (`maxValSize`)
 * @throws UnitError
 */
export function splitTokens(value: Value, most: number): Value[] {
  const bundles: Value[] = [];
  let [room, policy] = [0, ""];
  // Sorted, so that each policy is named in as few of them as possible.
  for (const { unit, amount } of toFunds(value)) {
    if (unit === "") continue;
    const { policyId, assetName } = splitUnit(unit);
    const own = encodeBytes(hexToBytes(assetName)).length + encodeInt(amount).length;
    const needed = own + (policyId === policy ? 0 : POLICY_BYTES);
    const isNew = bundles.length === 0 || needed > room;
    if (isNew) bundles.push(new Map());
    bundles.at(-1)?.set(unit, amount);
    room = isNew ? most - VALUE_BYTES - POLICY_BYTES - own : room - needed;
    policy = policyId;
  }
  return bundles;
}
