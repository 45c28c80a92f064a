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
import { slotAt } from "../blocks.ts";
import type { Chain } from "../chain.ts";
import COST_MODELS from "../cost-models.json" with { type: "json" };
import { encodeMetadata } from "./metadata.ts";
import { mintedFunds, type PlannedMint, type PlannedOutput, type TransactionPlan } from "./plan.ts";
import { FEE_BOUND, type Input, type Selection, selectInputs } from "./selection.ts";
import { add, encodeMultiAsset, encodeValue, fundsOf, sumOf, type Value } from "./value.ts";

/** Far more than the contracts of the local chain use (about 14,000 and 4.2 million). */
const EX_UNITS = { memory: 40_000n, steps: 12_000_000n };
/** What `EX_UNITS` cost at 0.0577 a memory unit and 0.0000721 a step, rounded up. */
const FEE_PER_SCRIPT = 3_174n;
/** The protocol's 155,381, and room for reference scripts on inputs, at 15 a byte. */
const FEE_CONSTANT = 175_381n;
const FEE_PER_BYTE = 44n;
const COLLATERAL = 5_000_000n;

// Numbers of the ledger's CDDL, Conway era.
const BODY = {
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
  references: 18,
} as const;
const WITNESS = { vkeys: 0, redeemers: 5, plutusV3Scripts: 7 } as const;
const OUTPUT = { address: 0, value: 1, datum: 2, scriptReference: 3 } as const;
const REDEEMER = { spend: 0, mint: 1 } as const;
const INLINE_DATUM = encodeInt(1n);
const PLUTUS_V3_REFERENCE = encodeInt(3n);
/** Plutus V3 among the cost models, which count from V1. */
const PLUTUS_V3_LANGUAGE = 2;
const NO_AUXILIARY_DATA = Uint8Array.of(0xf6);

/**
 * The signed transaction's CBOR.
 *
 * @throws when the payer's outputs do not cover the plan.
 */
export function buildTransaction(chain: Chain, plan: TransactionPlan): Uint8Array {
  const selection = selectInputs(chain, plan);
  const redeemers = encodeRedeemers(selection.inputs, plan.mints ?? []);
  const auxiliary = plan.metadata ? encodeMetadata(plan.metadata) : null;
  const assemble = (body: Uint8Array, signature: Uint8Array) =>
    encodeArray([
      body,
      witnessSet(plan, redeemers, signature),
      encodeBoolean(plan.isValid ?? true),
      auxiliary ?? NO_AUXILIARY_DATA,
    ]);
  // Of the final size: the bound takes as many bytes as any fee, and so do all signatures.
  const draft = assemble(
    transactionBody(plan, selection, FEE_BOUND, redeemers, auxiliary),
    new Uint8Array(64),
  );
  const scripted = BigInt((plan.spends ?? []).length + (plan.mints ?? []).length);
  const fee = FEE_CONSTANT + FEE_PER_BYTE * BigInt(draft.length) + FEE_PER_SCRIPT * scripted;
  const body = transactionBody(plan, selection, fee, redeemers, auxiliary);
  return assemble(body, signExtended(plan.payer.keys.paymentKey, hash256(body)));
}

function transactionBody(
  { payer, outputs = [], mints = [], validity, references = [] }: TransactionPlan,
  { inputs, rest, collateral }: Selection,
  fee: bigint,
  redeemers: Uint8Array | null,
  auxiliary: Uint8Array | null,
): Uint8Array {
  const toPayer = (value: Value) => ({ address: payer.address, funds: fundsOf(value) });
  const change = new Map(rest);
  add(change, "", -fee);
  const returned = collateral && new Map(collateral.value);
  if (returned) add(returned, "", -COLLATERAL);
  return encodeFields({
    [BODY.inputs]: encodeSet(inputs.map(encodeReference)),
    [BODY.outputs]: encodeArray([...outputs, toPayer(change)].map(encodeOutput)),
    [BODY.fee]: encodeInt(fee),
    [BODY.validTo]: validity ? encodeInt(BigInt(slotAt(validity.to))) : null,
    [BODY.auxiliaryDataHash]: auxiliary && encodeBytes(hash256(auxiliary)),
    [BODY.validFrom]: validity ? encodeInt(BigInt(slotAt(validity.from))) : null,
    [BODY.mint]: mints.length > 0 ? encodeMultiAsset(sumOf(mints.map(mintedFunds))) : null,
    [BODY.scriptDataHash]: redeemers && encodeBytes(scriptDataHash(redeemers)),
    [BODY.collateral]: collateral && encodeSet([encodeReference(collateral.input)]),
    [BODY.requiredSigners]: encodeSet([encodeBytes(hexToBytes(payer.vkey))]),
    [BODY.collateralReturn]: returned && encodeOutput(toPayer(returned)),
    [BODY.totalCollateral]: collateral && encodeInt(COLLATERAL),
    [BODY.references]: references.length > 0 ? encodeSet(references.map(encodeReference)) : null,
  });
}

function witnessSet(
  { payer, scripts = [] }: TransactionPlan,
  redeemers: Uint8Array | null,
  signature: Uint8Array,
): Uint8Array {
  const vkeyWitness = [encodeBytes(payer.keys.paymentPublicKey), encodeBytes(signature)];
  const scriptBytes = scripts.map((hex) => encodeBytes(hexToBytes(hex)));
  return encodeFields({
    [WITNESS.vkeys]: encodeSet([encodeArray(vkeyWitness)]),
    [WITNESS.redeemers]: redeemers,
    [WITNESS.plutusV3Scripts]: scriptBytes.length > 0 ? encodeSet(scriptBytes) : null,
  });
}

/** The map form of the Conway era: `{[purpose, index]: [data, [memory, steps]]}`. */
function encodeRedeemers(inputs: Input[], mints: PlannedMint[]): Uint8Array | null {
  const perPolicy = new Map(mints.toReversed().map((mint) => [mint.policyId, mint]));
  const sortedMints = [...perPolicy.values()].sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
  const entries = [
    ...inputs.flatMap(({ redeemer }, index) =>
      redeemer ? [{ tag: REDEEMER.spend, index, redeemer }] : [],
    ),
    ...sortedMints.map(({ redeemer }, index) => ({ tag: REDEEMER.mint, index, redeemer })),
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
  const script = referenceScript === undefined ? null : encodeScriptReference(referenceScript);
  return encodeFields({
    [OUTPUT.address]: encodeBytes(addressToBytes(address)),
    [OUTPUT.value]: encodeValue(sumOf(funds)),
    [OUTPUT.datum]: datum ? encodeArray([INLINE_DATUM, encodeEmbedded(datum)]) : null,
    [OUTPUT.scriptReference]: script && encodeEmbedded(script),
  });
}

function encodeScriptReference(scriptCbor: string): Uint8Array {
  return encodeArray([PLUTUS_V3_REFERENCE, encodeBytes(hexToBytes(scriptCbor))]);
}

/** A map with numbers as keys, in ascending order, without those that are `null`. */
function encodeFields(fields: Record<number, Uint8Array | null>): Uint8Array {
  const present = Object.entries(fields).flatMap(([key, item]) =>
    item ? [[encodeInt(BigInt(key)), item] as const] : [],
  );
  return encodeMap(present);
}

const encodeReference = ({ txHash, index }: Input) =>
  encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]);
/** CBOR inside CBOR. */
const encodeEmbedded = (cbor: Uint8Array) => encodeTag(24, encodeBytes(cbor));
const encodeSet = (items: Uint8Array[]) => encodeTag(258, encodeArray(items));
const hash256 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 32 });
