/** Which outputs of its payer's wallet a transaction takes. */
import type { Funds } from "../../../src/chain/network.ts";
import type { Chain } from "../../ledger/chain.ts";
import type { AssetQuantity } from "../../ledger/transaction.ts";
import { mintedFunds, type TransactionPlan } from "./plan.ts";
import { addAmount, sumToValue, type Value } from "./value.ts";
import type { Wallet } from "./wallets.ts";

export interface Input {
  txHash: string;
  index: number;
  /** Of a contract's output only: CBOR. */
  redeemer?: Uint8Array;
}

/**
 * Where the outputs of a wallet are known: a chain, or a copy of its ledger. One that cannot evaluate
 * is told the units of scripts.
 */
export type Outputs = Pick<Chain, "utxosAt"> & Partial<Pick<Chain, "evaluate">>;

export interface Selection {
  /** In the ledger's order, which redeemers count by. */
  inputs: Input[];
  /** What is left of inputs and mints after the planned outputs: the fee and the change. */
  rest: Value;
  /** The output that is at stake should a script fail; `null` when none runs. */
  collateral: { input: Input; value: Value } | null;
}

/** More than any transaction of the permitted size can cost. */
export const FEE_BOUND = 3_000_000n;
/** Enough for a change output with a few tokens. */
const MIN_CHANGE = 3_000_000n;

/** The outputs of the payer, the most native coins first; the first is an input of all it pays. */
export function walletOf(chain: Outputs, { address }: Wallet) {
  return chain
    .utxosAt(address)
    .map(({ txHash, index, amount }) => ({ txHash, index, value: sumToValue(amount.map(toFunds)) }))
    .sort((a, b) => Number((b.value.get("") ?? 0n) - (a.value.get("") ?? 0n)));
}

/**
 * Adds the payer's outputs, largest first, until the plan, its fee and some change are covered.
 *
 * @throws when they do not suffice.
 */
export function selectInputs(chain: Outputs, plan: TransactionPlan): Selection {
  const { payer, outputs = [], spends = [], mints = [] } = plan;
  const rest = sumToValue(...spends.map(({ funds }) => funds), mints.map(mintedFunds));
  for (const { unit, amount } of outputs.flatMap(({ funds }) => funds))
    addAmount(rest, unit, -amount);
  addAmount(rest, "", -FEE_BOUND - MIN_CHANGE);

  const wallet = walletOf(chain, payer);
  const selected = wallet.filter(({ value }, position) => {
    const helps = [...rest].some(([unit, amount]) => amount < 0n && value.has(unit));
    // The largest is taken in any case: a spend that pays for itself still needs a change output.
    if (position > 0 && !helps) return false;
    for (const [unit, amount] of value) addAmount(rest, unit, amount);
    return true;
  });
  const missing = [...rest].find(([, amount]) => amount < 0n);
  if (missing) throw new Error(`${payer.name} lacks ${-missing[1]} of "${missing[0]}"`);
  addAmount(rest, "", FEE_BOUND + MIN_CHANGE);

  const inputs = [...spends, ...selected].map(toInput).sort(byReference);
  if (spends.length + mints.length === 0) return { inputs, rest, collateral: null };
  const { collateralUnit } = plan;
  const stake = wallet.find(({ value }) =>
    collateralUnit === undefined ? value.size === 1 : value.has(collateralUnit),
  );
  if (!stake) throw new Error(`${payer.name} has no collateral`);
  return { inputs, rest, collateral: { input: stake, value: stake.value } };
}

const toInput = ({ txHash, index, redeemer }: Input): Input => ({
  txHash,
  index,
  ...(redeemer && { redeemer }),
});

/** The ledger's name of the native coin is `lovelace` here, as the provider's is; ours is `""`. */
const toFunds = ({ unit, quantity }: AssetQuantity): Funds => ({
  unit: unit === "lovelace" ? "" : unit,
  amount: quantity,
});

const byReference = (a: Input, b: Input) =>
  a.txHash === b.txHash ? a.index - b.index : a.txHash < b.txHash ? -1 : 1;
