/**
 * Builds, balances and signs a transaction by hand in a few milliseconds: thousands of them make
 * up a test or a benchmark, and a general builder takes a hundred times as long. The ledger of the
 * local chain checks every byte, so a mistake here is a rejected transaction.
 */
import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js";
import { addressToBytes } from "../../src/chain/address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeTag,
} from "../../src/chain/cbor.ts";
import { signExtended } from "../../src/chain/keys.ts";
import type { Funds } from "../../src/chain/network.ts";
import { slotAt } from "../blocks.ts";
import type { Chain } from "../chain.ts";
import COST_MODELS from "../cost-models.json" with { type: "json" };
import type { AssetQuantity } from "../transaction.ts";
import { encodeMetadata, type Metadata } from "./metadata.ts";
import { add, encodeMultiAsset, encodeValue, sumOf, type Value } from "./value.ts";
import type { Wallet } from "./wallets.ts";

export interface PlannedOutput {
  address: string;
  /** The native coin has the unit `""`. */
  funds: Funds[];
  /** CBOR of an inline datum. */
  datum?: Uint8Array;
  /** A Plutus V3 script that the output carries: `scriptCbor` of a contract, hex. */
  referenceScript?: string;
}

/** An output of a contract that is spent. */
export interface PlannedSpend {
  txHash: string;
  index: number;
  funds: Funds[];
  /** CBOR of the redeemer. */
  redeemer: Uint8Array;
}

export interface PlannedMint {
  policyId: string;
  /** Hex. */
  assetName: string;
  /** Negative: a burn. */
  quantity: bigint;
  /** CBOR of the redeemer. */
  redeemer: Uint8Array;
}

export interface TransactionPlan {
  /** Pays the fee, is the required signer and receives the change. */
  payer: Wallet;
  outputs?: PlannedOutput[];
  spends?: PlannedSpend[];
  /** At most one asset per policy. */
  mints?: PlannedMint[];
  /** `scriptCbor` (hex) of every contract that runs. */
  scripts?: string[];
  metadata?: Metadata;
  /** Unix milliseconds. */
  validity?: { from: number; to: number };
  /** False claims that a script fails: the ledger then takes the collateral only. */
  isValid?: boolean;
}

interface Input {
  txHash: string;
  index: number;
  /** Of a contract's output only: CBOR. */
  redeemer?: Uint8Array;
}

/** Inputs in the ledger's order, and what they bring in. */
interface Selection {
  inputs: Input[];
  value: Value;
  collateral: { input: Input; native: bigint } | null;
}

/** Far more than the contracts of the local chain use (about 14,000 and 4.2 million). */
const EX_UNITS = { memory: 40_000n, steps: 12_000_000n };
/** What `EX_UNITS` cost at 0.0577 a memory unit and 0.0000721 a step, rounded up. */
const FEE_PER_SCRIPT = 3_174n;
/** The protocol's 155,381, and room for reference scripts on inputs, at 15 a byte. */
const FEE_CONSTANT = 175_381n;
const FEE_PER_BYTE = 44n;
/** More than any transaction of the permitted size can cost; takes as many bytes as a real fee. */
const FEE_BOUND = 1_500_000n;
const COLLATERAL = 5_000_000n;
const MIN_CHANGE = 3_000_000n;
const SPEND = 0;
const MINT = 1;
/** Language number of Plutus V3 in cost models and script references. */
const PLUTUS_V3_LANGUAGE = 2;
const PLUTUS_V3_REFERENCE = 3;
const NO_AUXILIARY_DATA = Uint8Array.of(0xf6);

/**
 * The signed transaction's CBOR.
 *
 * @throws when the payer's outputs do not cover the plan.
 */
export function buildTransaction(chain: Chain, plan: TransactionPlan): Uint8Array {
  const selection = select(chain, plan);
  const redeemers = encodeRedeemers(selection.inputs, plan.mints ?? []);
  const auxiliary = plan.metadata && encodeMetadata(plan.metadata);
  const assemble = (body: Uint8Array, signature: Uint8Array) =>
    encodeArray([
      body,
      witnessSet(plan, redeemers, signature),
      encodeBoolean(plan.isValid ?? true),
      auxiliary ?? NO_AUXILIARY_DATA,
    ]);
  const draft = assemble(
    transactionBody(plan, selection, FEE_BOUND, redeemers, auxiliary),
    new Uint8Array(64),
  );
  const scripted = BigInt((plan.spends ?? []).length + (plan.mints ?? []).length);
  const fee = FEE_CONSTANT + FEE_PER_BYTE * BigInt(draft.length) + FEE_PER_SCRIPT * scripted;
  const body = transactionBody(plan, selection, fee, redeemers, auxiliary);
  return assemble(body, signExtended(plan.payer.keys.paymentKey, hash256(body)));
}

/** Adds the payer's outputs, largest first, until the plan, its fee and some change are covered. */
function select(chain: Chain, plan: TransactionPlan): Selection {
  const spends = plan.spends ?? [];
  const mints = plan.mints ?? [];
  const value = sumOf(
    ...spends.map((spend) => spend.funds),
    mints.map(({ policyId, assetName, quantity }) => ({
      unit: policyId + assetName,
      amount: quantity,
    })),
  );
  add(value, "", -FEE_BOUND - MIN_CHANGE);
  for (const { funds } of plan.outputs ?? []) {
    for (const { unit, amount } of funds) add(value, unit, -amount);
  }

  const wallet = chain
    .utxosAt(plan.payer.address)
    .map(({ txHash, index, amount }) => ({ txHash, index, value: sumOf(amount.map(toFunds)) }))
    .sort((a, b) => Number((b.value.get("") ?? 0n) - (a.value.get("") ?? 0n)));
  const inputs: Input[] = spends.map(({ txHash, index, redeemer }) => ({
    txHash,
    index,
    redeemer,
  }));
  for (const utxo of wallet) {
    const helps = [...value].some(([unit, amount]) => amount < 0n && utxo.value.has(unit));
    // The first input is taken in any case: without one there is no change and no seed.
    if (!helps && inputs.length > spends.length) continue;
    inputs.push({ txHash: utxo.txHash, index: utxo.index });
    for (const [unit, amount] of utxo.value) add(value, unit, amount);
  }
  const missing = [...value].find(([, amount]) => amount < 0n);
  if (missing) throw new Error(`${plan.payer.name} lacks ${-missing[1]} of "${missing[0]}"`);

  const pure = wallet.find((utxo) => utxo.value.size === 1);
  const needsCollateral = spends.length + mints.length > 0;
  if (needsCollateral && !pure) throw new Error(`${plan.payer.name} has no collateral`);
  add(value, "", FEE_BOUND + MIN_CHANGE);
  return {
    inputs: inputs.sort(byReference),
    value,
    collateral: needsCollateral && pure ? { input: pure, native: pure.value.get("") ?? 0n } : null,
  };
}

/** `value` is what is left of the inputs (and mints) after the outputs: the fee and the change. */
function transactionBody(
  plan: TransactionPlan,
  { inputs, value, collateral }: Selection,
  fee: bigint,
  redeemers: Uint8Array | null,
  auxiliary: Uint8Array | undefined,
): Uint8Array {
  const change = new Map(value);
  add(change, "", -fee);
  const fields: [number, Uint8Array][] = [
    [0, encodeSet(inputs.map(encodeReference))],
    [
      1,
      encodeArray([
        ...(plan.outputs ?? []).map(encodeOutput),
        encodeMap([
          [encodeInt(0n), encodeBytes(addressToBytes(plan.payer.address))],
          [encodeInt(1n), encodeValue(change)],
        ]),
      ]),
    ],
    [2, encodeInt(fee)],
  ];
  if (plan.validity) fields.push([3, encodeInt(BigInt(slotAt(plan.validity.to)))]);
  if (auxiliary) fields.push([7, encodeBytes(hash256(auxiliary))]);
  if (plan.validity) fields.push([8, encodeInt(BigInt(slotAt(plan.validity.from)))]);
  if (plan.mints?.length) fields.push([9, encodeMultiAsset(mintedBy(plan.mints))]);
  if (redeemers) fields.push([11, encodeBytes(scriptDataHash(redeemers))]);
  if (collateral) fields.push([13, encodeSet([encodeReference(collateral.input)])]);
  fields.push([14, encodeSet([encodeBytes(hexToBytes(plan.payer.vkey))])]);
  if (collateral) {
    const rest = new Map([["", collateral.native - COLLATERAL]]);
    fields.push(
      [
        16,
        encodeMap([
          [encodeInt(0n), encodeBytes(addressToBytes(plan.payer.address))],
          [encodeInt(1n), encodeValue(rest)],
        ]),
      ],
      [17, encodeInt(COLLATERAL)],
    );
  }
  return encodeMap(fields.map(([key, item]) => [encodeInt(BigInt(key)), item]));
}

function witnessSet(
  plan: TransactionPlan,
  redeemers: Uint8Array | null,
  signature: Uint8Array,
): Uint8Array {
  const vkeyWitness = encodeArray([
    encodeBytes(plan.payer.keys.paymentPublicKey),
    encodeBytes(signature),
  ]);
  const fields: [number, Uint8Array][] = [[0, encodeSet([vkeyWitness])]];
  if (redeemers) {
    fields.push([5, redeemers]);
    fields.push([7, encodeSet((plan.scripts ?? []).map((hex) => encodeBytes(hexToBytes(hex))))]);
  }
  return encodeMap(fields.map(([key, item]) => [encodeInt(BigInt(key)), item]));
}

/** The map form of the Conway era: `{[purpose, index]: [data, [memory, steps]]}`. */
function encodeRedeemers(inputs: Input[], mints: PlannedMint[]): Uint8Array | null {
  const sortedMints = [...mints].sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
  const entries = [
    ...inputs.flatMap(({ redeemer }, index) => (redeemer ? [{ tag: SPEND, index, redeemer }] : [])),
    ...sortedMints.map(({ redeemer }, index) => ({ tag: MINT, index, redeemer })),
  ];
  if (entries.length === 0) return null;
  const units = encodeArray([encodeInt(EX_UNITS.memory), encodeInt(EX_UNITS.steps)]);
  return encodeMap(
    entries.map(({ tag, index, redeemer }) => [
      encodeArray([encodeInt(BigInt(tag)), encodeInt(BigInt(index))]),
      encodeArray([redeemer, units]),
    ]),
  );
}

/** Hash of redeemers, no datums, and the language views (only Plutus V3 runs here). */
function scriptDataHash(redeemers: Uint8Array): Uint8Array {
  const costs = (COST_MODELS[PLUTUS_V3_LANGUAGE] ?? []).map((cost) => encodeInt(BigInt(cost)));
  const views = encodeMap([[encodeInt(BigInt(PLUTUS_V3_LANGUAGE)), encodeArray(costs)]]);
  return hash256(concatBytes(redeemers, views));
}

function encodeOutput({ address, funds, datum, referenceScript }: PlannedOutput): Uint8Array {
  const fields: [Uint8Array, Uint8Array][] = [
    [encodeInt(0n), encodeBytes(addressToBytes(address))],
    [encodeInt(1n), encodeValue(sumOf(funds))],
  ];
  if (datum) {
    fields.push([encodeInt(2n), encodeArray([encodeInt(1n), encodeTag(24, encodeBytes(datum))])]);
  }
  if (referenceScript !== undefined) {
    const script = encodeArray([
      encodeInt(BigInt(PLUTUS_V3_REFERENCE)),
      encodeBytes(hexToBytes(referenceScript)),
    ]);
    fields.push([encodeInt(3n), encodeTag(24, encodeBytes(script))]);
  }
  return encodeMap(fields);
}

function mintedBy(mints: PlannedMint[]): Value {
  return sumOf(
    mints.map(({ policyId, assetName, quantity }) => ({
      unit: policyId + assetName,
      amount: quantity,
    })),
  );
}

/** The provider's name of the native coin is `lovelace`; ours is `""`. */
const toFunds = ({ unit, quantity }: AssetQuantity): Funds => ({
  unit: unit === "lovelace" ? "" : unit,
  amount: quantity,
});
const encodeReference = ({ txHash, index }: Input) =>
  encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]);
const encodeSet = (items: Uint8Array[]) => encodeTag(258, encodeArray(items));
const hash256 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 32 });
const byReference = (a: Input, b: Input) =>
  a.txHash === b.txHash ? a.index - b.index : a.txHash < b.txHash ? -1 : 1;
