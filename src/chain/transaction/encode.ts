/** A transaction's bytes (CDDL of the Conway era). */
import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { addressToBytes } from "../address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeTag,
} from "../cbor.ts";
import { hexToBytes } from "../hex.ts";
import { encodeLabels } from "../metadata.ts";
import {
  BODY_KEYS,
  CBOR_TAGS,
  INLINE_DATUM,
  OUTPUT_KEYS,
  REDEEMER_TAGS,
  WITNESS_KEYS,
} from "./field-numbers.ts";
import {
  type Collateral,
  compareOutputReferences,
  formatOutputReference,
  type InputSelection,
  type Mint,
  type OutputReference,
  type PlannedOutput,
  type ScriptInput,
  sumMints,
  type TransactionPlan,
} from "./transaction-plan.ts";
import { addAmount, addValue, encodeMultiAsset, encodeValue, type Value } from "./value.ts";

const PLUTUS_V3 = { language: 2n, scriptType: 3n } as const;

/** A signature, and the public key that it verifies under. */
export interface Witness {
  publicKey: Uint8Array;
  signature: Uint8Array;
}

/** The body, of which the hash is the transaction's. */
export function encodeBody(
  plan: TransactionPlan,
  payment: InputSelection,
  fee: bigint,
): Uint8Array {
  const { validity, requiredSigners } = plan;
  const { collateral } = payment;
  const referenced = [...plan.scriptInputs, ...plan.mints].flatMap(({ script }) =>
    script.from === "reference" ? [script.output] : [],
  );
  const minted = sumMints(plan.mints);
  return encodeFields({
    [BODY_KEYS.inputs]: encodeSet(listInputs(plan, payment).map(encodeReference)),
    [BODY_KEYS.outputs]: encodeArray([...plan.outputs, ...payment.change].map(encodeOutput)),
    [BODY_KEYS.fee]: encodeInt(fee),
    [BODY_KEYS.validTo]: encodeInt(BigInt(validity.to)),
    ...(plan.metadata.size > 0 && {
      [BODY_KEYS.auxiliaryDataHash]: encodeBytes(blake2b256(encodeLabels(plan.metadata))),
    }),
    [BODY_KEYS.validFrom]: encodeInt(BigInt(validity.from)),
    ...(minted.size > 0 && { [BODY_KEYS.mint]: encodeMultiAsset(minted) }),
    ...(hasScripts(plan) && {
      [BODY_KEYS.scriptDataHash]: encodeBytes(hashScriptData(plan, payment)),
    }),
    ...(collateral && {
      [BODY_KEYS.collateral]: encodeSet(
        collateral.inputs.toSorted(compareOutputReferences).map(encodeReference),
      ),
      [BODY_KEYS.collateralReturn]: encodeOutput(createCollateralReturn(collateral)),
      [BODY_KEYS.totalCollateral]: encodeInt(collateral.totalCollateral),
    }),
    ...(requiredSigners.length > 0 && {
      [BODY_KEYS.requiredSigners]: encodeSet(
        sortUnique(requiredSigners).map((hash) => encodeBytes(hexToBytes(hash))),
      ),
    }),
    ...(referenced.length > 0 && {
      [BODY_KEYS.referenceInputs]: encodeSet(sortUniqueReferences(referenced).map(encodeReference)),
    }),
  });
}

/** `[body, witness set, script validity, auxiliary data]`. */
export function encodeTransaction(
  plan: TransactionPlan,
  payment: InputSelection,
  body: Uint8Array,
  witnesses: readonly Witness[],
): Uint8Array {
  const scripts = new Map(
    [...plan.scriptInputs, ...plan.mints].flatMap(({ script }) =>
      script.from === "witness" ? [[script.hash, script.cbor] as const] : [],
    ),
  );
  const witnessSet = encodeFields({
    // The ledger wants no empty set.
    ...(witnesses.length > 0 && {
      [WITNESS_KEYS.vkeys]: encodeSet(
        witnesses.map(({ publicKey, signature }) =>
          encodeArray([encodeBytes(publicKey), encodeBytes(signature)]),
        ),
      ),
    }),
    ...(hasScripts(plan) && { [WITNESS_KEYS.redeemers]: encodeRedeemers(plan, payment) }),
    ...(scripts.size > 0 && {
      [WITNESS_KEYS.plutusV3Scripts]: encodeSet(
        [...scripts.values()].map((cbor) => encodeBytes(hexToBytes(cbor))),
      ),
    }),
  });
  const auxiliaryData = plan.metadata.size > 0 ? encodeLabels(plan.metadata) : CBOR_NULL;
  return encodeArray([body, witnessSet, encodeBoolean(true), auxiliaryData]);
}

/** The names under which a node tells what each script used: `spend:<index>`, `mint:<index>`. */
export function nameRedeemers(plan: TransactionPlan, payment: InputSelection): Map<object, string> {
  return new Map(
    listRedeemers(plan, payment).map(({ target: run, purpose, index }) => [
      run,
      `${purpose}:${index}`,
    ]),
  );
}

/** All that is spent, in the ledger's order. */
export function listInputs(plan: TransactionPlan, payment: InputSelection): OutputReference[] {
  return [...plan.scriptInputs, ...payment.inputs].sort(compareOutputReferences);
}

interface Redeemer {
  target: ScriptInput | Mint;
  purpose: keyof typeof REDEEMER_TAGS;
  index: number;
}

/** In the order of purpose and index, as the ledger writes the map. */
function listRedeemers(plan: TransactionPlan, payment: InputSelection): Redeemer[] {
  const inputs = listInputs(plan, payment).map(formatOutputReference);
  const spends = plan.scriptInputs.map((target) => ({
    target,
    purpose: "spend" as const,
    index: inputs.indexOf(formatOutputReference(target)),
  }));
  const mints = plan.mints
    .toSorted((a, b) => (a.script.hash < b.script.hash ? -1 : 1))
    .map((target, index) => ({ target, purpose: "mint" as const, index }));
  return [...spends.sort((a, b) => a.index - b.index), ...mints];
}

/** `{[purpose, index]: [data, [memory, steps]]}`. */
function encodeRedeemers(plan: TransactionPlan, payment: InputSelection): Uint8Array {
  return encodeMap(
    listRedeemers(plan, payment).map(({ target: { redeemer, units }, purpose, index }) => [
      encodeArray([encodeInt(REDEEMER_TAGS[purpose]), encodeInt(BigInt(index))]),
      encodeArray([redeemer, encodeArray([encodeInt(units.memory), encodeInt(units.steps)])]),
    ]),
  );
}

/** Hash of redeemers, of no datums, and of the language views (Alonzo, `hashScriptIntegrity`). */
function hashScriptData(plan: TransactionPlan, payment: InputSelection): Uint8Array {
  const costs = encodeArray(plan.parameters.plutusV3Costs.map(encodeInt));
  const views = encodeMap([[encodeInt(PLUTUS_V3.language), costs]]);
  return blake2b256(concatBytes(encodeRedeemers(plan, payment), views));
}

/** What a script's failure leaves of the collateral. */
export function createCollateralReturn({
  inputs,
  totalCollateral: stake,
  address,
}: Collateral): PlannedOutput {
  const value: Value = new Map();
  for (const input of inputs) addValue(value, input.value);
  addAmount(value, "", -stake);
  return { address, value };
}

/** CBOR of an output, in the form of a map. */
export function encodeOutput({ address, value, datum, script }: PlannedOutput): Uint8Array {
  return encodeFields({
    [OUTPUT_KEYS.address]: encodeBytes(addressToBytes(address)),
    [OUTPUT_KEYS.value]: encodeValue(value),
    ...(datum && {
      [OUTPUT_KEYS.datum]: encodeArray([encodeInt(INLINE_DATUM), encodeCbor(datum)]),
    }),
    ...(script !== undefined && {
      [OUTPUT_KEYS.script]: encodeCbor(
        encodeArray([encodeInt(PLUTUS_V3.scriptType), encodeBytes(hexToBytes(script))]),
      ),
    }),
  });
}

/** blake2b-256. */
export const blake2b256 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 32 });

/** A map with numbers as keys, in ascending order. */
function encodeFields(fields: Record<number, Uint8Array>): Uint8Array {
  return encodeMap(
    Object.entries(fields).map(([key, item]) => [encodeInt(BigInt(key)), item] as const),
  );
}

const CBOR_NULL = new Uint8Array([0xf6]);
const hasScripts = ({ scriptInputs, mints }: TransactionPlan) =>
  scriptInputs.length + mints.length > 0;
const sortUnique = (texts: readonly string[]) => [...new Set(texts)].sort();
const sortUniqueReferences = (references: readonly OutputReference[]) =>
  [...new Map(references.map((one) => [formatOutputReference(one), one])).values()].sort(
    compareOutputReferences,
  );
const encodeReference = ({ txHash, index }: OutputReference) =>
  encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]);
const encodeSet = (items: Uint8Array[]) => encodeTag(CBOR_TAGS.set, encodeArray(items));
const encodeCbor = (item: Uint8Array) => encodeTag(CBOR_TAGS.cbor, encodeBytes(item));
