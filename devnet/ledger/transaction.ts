import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { addressFromBytes } from "../../src/chain/address.ts";
import { type CborNode, readCbor, SIMPLE_VALUES } from "../../src/chain/cbor.ts";
import { blake2b224, blake2b256 } from "../blake2b.ts";
import { bytesOf, cut, expectNode, fieldsOf, hexOf, intOf, itemsOf } from "./cbor-fields.ts";
import { type MetadataEntry, readMetadata } from "./metadata.ts";

export interface OutputReference {
  /** 64 hex characters. */
  txHash: string;
  index: number;
}

/** Names an output: different for any two. */
export function outputKey({ txHash, index }: OutputReference): string {
  return `${txHash}#${index}`;
}

/** Hex characters of the policy id with which an asset's unit begins. */
export const POLICY_ID_LENGTH = 56;

/** `unit` is `lovelace`, or policy id and asset name in hex. */
export interface AssetQuantity {
  unit: string;
  quantity: bigint;
}

export interface LedgerScript {
  /** 56 hex characters. */
  hash: string;
  type: "timelock" | "plutusV1" | "plutusV2" | "plutusV3";
  /** Plutus: the flat program in one CBOR byte string. Timelock: the script's CBOR. */
  cbor: Uint8Array;
}

export interface LedgerOutput {
  /** bech32. */
  address: string;
  /** The native coin first. */
  amount: AssetQuantity[];
  /** Of the datum by reference, or of the inline one. */
  dataHash: string | null;
  /** CBOR in hex, exactly as the transaction has it. */
  inlineDatum: string | null;
  referenceScript: LedgerScript | null;
  /** The whole output, exactly as the transaction has it. */
  cbor: Uint8Array;
}

export type RedeemerPurpose = "spend" | "mint";

export interface LedgerRedeemer {
  purpose: RedeemerPurpose;
  /** Position among the sorted inputs (spend) or the sorted policies (mint). */
  index: number;
  /** Plutus data, CBOR in hex. */
  data: string;
  memory: bigint;
  steps: bigint;
}

/** A transaction with everything that the provider's API tells of it. */
export interface LedgerTransaction {
  hash: string;
  cbor: Uint8Array;
  isValid: boolean;
  fee: bigint;
  /** Slots; `null` is unbounded. */
  validFrom: number | null;
  validTo: number | null;
  /** As listed in the transaction. */
  inputs: OutputReference[];
  collateral: OutputReference[];
  referenceInputs: OutputReference[];
  outputs: LedgerOutput[];
  collateralReturn: LedgerOutput | null;
  /** What the ledger takes: the inputs, or the collateral when phase 2 failed. */
  spent: OutputReference[];
  /** What the ledger adds: the outputs, or the collateral return when phase 2 failed. */
  produced: { index: number; output: LedgerOutput }[];
  /** Minted (positive) and burned (negative), as listed; the ledger ignores it when phase 2 failed. */
  mint: AssetQuantity[];
  redeemers: LedgerRedeemer[];
  metadata: MetadataEntry[];
  /** Key hashes (hex) that must sign on top of those that the inputs need. */
  requiredSigners: string[];
  scripts: LedgerScript[];
  datums: { hash: string; cbor: string }[];
}

/** Body fields of certificates, withdrawals, updates, votes, proposals, treasury and donation. */
const UNSUPPORTED_FIELDS = [4, 5, 6, 19, 20, 21, 22];

/**
 * Reads a transaction of the Babbage or Conway era: `[body, witnesses, isValid, auxiliary data]`.
 *
 * @throws CborError when the bytes are none, RangeError when they use what this chain does not
 *   index: staking and governance.
 */
export function readTransaction(cbor: Uint8Array): LedgerTransaction {
  const [bodyItem, witnessItem, validItem, auxiliaryItem] = itemsOf(readCbor(cbor));
  const body = fieldsOf(bodyItem);
  const witnesses = fieldsOf(witnessItem);
  const isValid = expectNode(validItem, "simple").value === SIMPLE_VALUES.true;
  const unsupported = UNSUPPORTED_FIELDS.find((key) => body.has(key));
  if (unsupported) throw new RangeError(`Body field ${unsupported} is not supported here`);

  const inputs = itemsOf(body.get(0)).map(readReference);
  const collateral = itemsOf(body.get(13)).map(readReference);
  const outputs = itemsOf(body.get(1)).map((item) => readOutput(cbor, item));
  const returned = body.get(16);
  const collateralReturn = returned ? readOutput(cbor, returned) : null;
  const allOutputs = outputs.map((output, index) => ({ index, output }));
  const returnOutputs = collateralReturn
    ? [{ index: outputs.length, output: collateralReturn }]
    : [];
  const produced = isValid ? allOutputs : returnOutputs;

  return {
    hash: hash256(cut(cbor, expectNode(bodyItem, "map"))),
    cbor,
    isValid,
    fee: intOf(body.get(2)),
    validFrom: slotOf(body.get(8)),
    validTo: slotOf(body.get(3)),
    inputs,
    collateral,
    referenceInputs: itemsOf(body.get(18)).map(readReference),
    outputs,
    collateralReturn,
    spent: isValid ? inputs : collateral,
    produced,
    mint: readAssets(body.get(9)),
    redeemers: readRedeemers(cbor, witnesses.get(5)),
    metadata: readMetadata(cbor, auxiliaryItem),
    requiredSigners: itemsOf(body.get(14)).map(hexOf),
    scripts: [
      ...readWitnessScripts(cbor, witnesses),
      ...produced.flatMap(({ output }) => output.referenceScript ?? []),
    ],
    datums: [
      ...itemsOf(witnesses.get(4)).map((item) => readDatum(cut(cbor, item))),
      ...produced.flatMap(({ output }) =>
        output.inlineDatum ? readDatum(hexToBytes(output.inlineDatum)) : [],
      ),
    ],
  };
}

/**
 * The transaction as a block has it whose producer found a script failing: the ledger then takes the
 * collateral and nothing else. The flag is outside of what the hash covers.
 *
 * @throws RangeError when no script runs
 */
export function withFailedScripts({ cbor, hash, redeemers }: LedgerTransaction): LedgerTransaction {
  if (redeemers.length === 0) throw new RangeError(`${hash} runs no script that could fail`);
  const [, , flag] = itemsOf(readCbor(cbor));
  const failed = cbor.slice();
  failed[expectNode(flag, "simple").start] = SIMPLE_FALSE;
  return readTransaction(failed);
}

/** CBOR of `false`. */
const SIMPLE_FALSE = 0xf4;

function readReference(item: CborNode): OutputReference {
  const [txHash, index] = itemsOf(item);
  return { txHash: hexOf(txHash), index: Number(intOf(index)) };
}

/** Reads an output of either form: Babbage's map, or the array that came before it. */
function readOutput(source: Uint8Array, item: CborNode): LedgerOutput {
  const fields =
    item.kind === "map" ? fieldsOf(item) : new Map(itemsOf(item).map((part, i) => [i, part]));
  const datum = fields.get(2);
  // The array form has the bare hash where the map form has [0, hash] or [1, #6.24(datum)].
  const [datumKind, datumValue] = datum?.kind === "array" ? datum.items : [undefined, datum];
  const inline = datumKind && intOf(datumKind) === 1n ? embedded(datumValue) : null;
  const script = fields.get(3);
  return {
    address: addressFromBytes(bytesOf(fields.get(0))),
    amount: readValue(fields.get(1)),
    dataHash: inline ? hash256(inline) : datumValue ? hexOf(datumValue) : null,
    inlineDatum: inline ? bytesToHex(inline) : null,
    referenceScript: script ? readReferenceScript(embedded(script)) : null,
    cbor: cut(source, item),
  };
}

function readValue(item: CborNode | undefined): AssetQuantity[] {
  const [coin, assets] = item?.kind === "array" ? item.items : [item];
  return [{ unit: "lovelace", quantity: intOf(coin) }, ...readAssets(assets)];
}

/** A map from policy to a map from asset name to quantity. */
function readAssets(item: CborNode | undefined): AssetQuantity[] {
  const policies = item ? expectNode(item, "map").entries : [];
  return policies.flatMap(([policy, names]) =>
    expectNode(names, "map").entries.map(([name, quantity]) => ({
      unit: hexOf(policy) + hexOf(name),
      quantity: intOf(quantity),
    })),
  );
}

const PURPOSES: readonly RedeemerPurpose[] = ["spend", "mint"];

/** Redeemers as Conway's map `{[tag, index]: [data, units]}` or the list that came before it. */
function readRedeemers(source: Uint8Array, item: CborNode | undefined): LedgerRedeemer[] {
  const rows =
    item?.kind === "map"
      ? item.entries.map(([key, value]) => [...itemsOf(key), ...itemsOf(value)])
      : itemsOf(item).map(itemsOf);
  return rows.map(([tag, index, data, units]) => {
    const purpose = PURPOSES[Number(intOf(tag))];
    if (!purpose || !data) throw new RangeError("Only spending and minting are supported here");
    const [memory, steps] = itemsOf(units).map(intOf);
    return {
      purpose,
      index: Number(intOf(index)),
      data: bytesToHex(cut(source, data)),
      memory: memory ?? 0n,
      steps: steps ?? 0n,
    };
  });
}

const SCRIPT_TYPES = ["timelock", "plutusV1", "plutusV2", "plutusV3"] as const;

/** Witness fields that hold scripts, in the order of `SCRIPT_TYPES`. */
const SCRIPT_FIELDS = [1, 3, 6, 7];

function readWitnessScripts(source: Uint8Array, witnesses: Map<number, CborNode>): LedgerScript[] {
  return SCRIPT_FIELDS.flatMap((field, language) =>
    itemsOf(witnesses.get(field)).map((item) => readScript(source, language, item)),
  );
}

function readReferenceScript(cbor: Uint8Array): LedgerScript {
  const [language, script] = itemsOf(readCbor(cbor));
  if (!script) throw new RangeError("A reference script is a pair");
  return readScript(cbor, Number(intOf(language)), script);
}

/** A script's hash covers its language and its bytes. */
function readScript(source: Uint8Array, language: number, item: CborNode): LedgerScript {
  const type = SCRIPT_TYPES[language];
  if (!type) throw new RangeError(`Unknown script language ${language}`);
  const cbor = type === "timelock" ? cut(source, item) : bytesOf(item);
  return { hash: bytesToHex(blake2b224(Uint8Array.of(language, ...cbor))), type, cbor };
}

function readDatum(cbor: Uint8Array): { hash: string; cbor: string } {
  return { hash: hash256(cbor), cbor: bytesToHex(cbor) };
}

/** CBOR carried in a byte string under tag 24. */
function embedded(item: CborNode | undefined): Uint8Array {
  return bytesOf(expectNode(item, "tag").content);
}

function slotOf(item: CborNode | undefined): number | null {
  return item ? Number(intOf(item)) : null;
}

function hash256(bytes: Uint8Array): string {
  return bytesToHex(blake2b256(bytes));
}
