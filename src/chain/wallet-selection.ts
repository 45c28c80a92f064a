import { addressToBytes } from "./address.ts";
import { encodeArray, encodeBytes } from "./cbor.ts";
import type { ProtocolParameters, ProviderUtxo } from "./provider.ts";
import { add, encodeValue, sumOf, type Value } from "./value.ts";

/** An output that a wallet may spend. */
export interface WalletOutput {
  txHash: string;
  index: number;
  value: Value;
}

/** Where a transaction's value comes from. */
export interface Selection {
  /** In the ledger's order, which redeemers count by. */
  inputs: WalletOutput[];
  /** What the wallet gets back. */
  change: Value;
  /** At stake should a script fail: it returns to the wallet but for `stake`. */
  collateral: WalletOutput;
  stake: bigint;
}

/** A wallet cannot pay for what it shall do. The message says what its owner can do about it. */
export class WalletShort extends Error {
  override name = "WalletShort";
}

/** Bytes that the ledger counts for an output beside its own (Babbage's `utxoEntrySizeWithoutVal`). */
const OUTPUT_OVERHEAD = 160n;
/** Room for what the native amount's encoding may still grow by. */
const AMOUNT_GROWTH = 8n;

/**
 * The outputs of a wallet that a transaction can use. Those that carry a reference script are left
 * out: spending one costs a fee by its size, and destroys what somebody put there on purpose.
 */
export function walletOutputs(utxos: readonly ProviderUtxo[]): WalletOutput[] {
  return utxos
    .filter(({ referenceScriptHash }) => referenceScriptHash === null)
    .map(({ txHash, outputIndex, amount }) => ({
      txHash,
      index: outputIndex,
      value: sumOf(
        amount.map(({ unit, quantity }) => ({
          unit: unit === "lovelace" ? "" : unit,
          amount: BigInt(quantity),
        })),
      ),
    }));
}

/** Names an output: `<transaction>#<index>`. */
export function outputName({ txHash, index }: Pick<WalletOutput, "txHash" | "index">): string {
  return `${txHash}#${index}`;
}

/** The least native coin that an output of this value must hold, in minor units. */
export function minimumCoin(
  address: string,
  value: Value,
  { coinsPerByte }: ProtocolParameters,
): bigint {
  // The array form: our own map form is one key byte longer for each of its two fields.
  const encoded = encodeArray([encodeBytes(addressToBytes(address)), encodeValue(value)]);
  return coinsPerByte * (OUTPUT_OVERHEAD + BigInt(encoded.length) + 2n + AMOUNT_GROWTH);
}

/**
 * Chooses inputs and collateral: what must be spent, then the largest outputs of the native coin
 * alone, then those that hold tokens too, until everything is paid and the change is large enough.
 *
 * @param paid - what all outputs but the change need, less what is minted
 * @throws WalletShort
 */
export function selectOutputs(
  wallet: {
    address: string;
    outputs: readonly WalletOutput[];
    mustSpend: readonly WalletOutput[];
  },
  paid: Value,
  fee: bigint,
  parameters: ProtocolParameters,
): Selection {
  const { address, outputs, mustSpend } = wallet;
  const inputs = [...mustSpend];
  const change: Value = new Map();
  for (const { value } of inputs) for (const [unit, amount] of value) add(change, unit, amount);
  for (const [unit, amount] of paid) add(change, unit, -amount);
  add(change, "", -fee);

  const missing = () => minimumCoin(address, change, parameters) - (change.get("") ?? 0n);
  for (const output of outputs.toSorted(byUse)) {
    if (missing() <= 0n) break;
    if (inputs.some((input) => outputName(input) === outputName(output))) continue;
    inputs.push(output);
    for (const [unit, amount] of output.value) add(change, unit, amount);
  }
  if (missing() > 0n)
    throw new WalletShort(
      `the wallet lacks ${missing()} minor units of the native coin: send them to ${address}, then try again`,
    );
  const stake = (fee * parameters.collateralPercent + 99n) / 100n;
  const collateral = chooseCollateral(address, outputs, stake, parameters);
  return { inputs: inputs.sort(byReference), change, collateral, stake };
}

/** The smallest output that can be put at stake, one without tokens before one with them. */
function chooseCollateral(
  address: string,
  outputs: readonly WalletOutput[],
  stake: bigint,
  parameters: ProtocolParameters,
): WalletOutput {
  const needed = ({ value }: WalletOutput) => stake + minimumCoin(address, value, parameters);
  const found = outputs
    .toSorted(byUse)
    .reverse()
    .toSorted((a, b) => Number(hasTokens(a)) - Number(hasTokens(b)))
    .find((output) => coinOf(output) >= needed(output));
  if (found) return found;
  throw new WalletShort(
    `the wallet has no collateral: send 5000000 minor units of the native coin in one output to ${address}, then try again`,
  );
}

const coinOf = ({ value }: WalletOutput) => value.get("") ?? 0n;
const hasTokens = ({ value }: WalletOutput) => value.size > 1;

function byUse(a: WalletOutput, b: WalletOutput): number {
  if (hasTokens(a) !== hasTokens(b)) return hasTokens(a) ? 1 : -1;
  return coinOf(a) > coinOf(b) ? -1 : coinOf(a) < coinOf(b) ? 1 : byReference(a, b);
}

function byReference(a: WalletOutput, b: WalletOutput): number {
  if (a.txHash !== b.txHash) return a.txHash < b.txHash ? -1 : 1;
  return a.index - b.index;
}
