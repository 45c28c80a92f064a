/** Reads transactions (CDDL of the Conway era and of those before it) from their exact bytes. */
import { blake2b } from "@noble/hashes/blake2.js";
import { AddressError, addressFromBytes } from "../address.ts";
import {
  CborError,
  type CborNode,
  type CborNodeOf,
  readCbor,
  SIMPLE_VALUES,
  toInteger,
} from "../cbor.ts";
import { bytesToHex, hexToBytes, isHex } from "../hex.ts";
import type { Funds } from "../network.ts";
import { readConstr } from "../plutus/data.ts";
import {
  BODY_KEYS,
  CBOR_TAGS,
  INLINE_DATUM,
  OUTPUT_KEYS,
  REDEEMER_TAGS,
  WITNESS_KEYS,
} from "./field-numbers.ts";
import { compareOutputReferences, type OutputReference } from "./transaction-plan.ts";

export interface ChainTransaction {
  /** Hex. blake2b-256 of the body's exact bytes. */
  hash: string;
  /** In the ledger's order, which redeemers index. */
  inputs: OutputReference[];
  outputs: ChainOutput[];
  /** Made instead of these when a script failed, with the number behind theirs; null: there is none. */
  collateralReturn: ChainOutput | null;
  /** Native minor units. */
  fee: bigint;
  /** Slots; null: unbounded. */
  validFrom: number | null;
  validTo: number | null;
  /** Redeemers of inputs, at most one each; those of mints, certificates etc. are omitted. */
  spendRedeemers: SpendRedeemer[];
  /** Redeemers of every purpose. */
  redeemerCount: number;
  /** Negative quantities are burnt. */
  mint: { policyId: string; assetName: string; quantity: bigint }[];
  /** CBOR of the metadata by label (decimal text); see `decodeMetadatum`. */
  metadata: ReadonlyMap<string, Uint8Array>;
  /** Key hashes of those who have signed all of it, hex: the ledger takes no signature that is not valid. */
  signers: string[];
  /** False: a script failed, only the collateral was taken, and nothing above happened. */
  isValid: boolean;
}

export interface ChainOutput {
  /** bech32; base58 for a Byron address. */
  address: string;
  /** The native coin first. */
  funds: Funds[];
  /** Inline datum, CBOR in hex. */
  datum: string | null;
  /** Hex, of a datum that is not in the output. */
  datumHash: string | null;
  hasReferenceScript: boolean;
}

interface SpendRedeemer {
  /** Position in `inputs`. */
  inputIndex: number;
  /** Constructor number of the redeemer's data; null when it is not a constructor. */
  constructor: number | null;
  /** The redeemer's data, CBOR. */
  data: Uint8Array;
}

/**
 * Reads a transaction, in bytes or hex. Plutus data and metadata in it are left as bytes, so their
 * nesting does not matter here.
 *
 * @throws TransactionError when the bytes are not a transaction.
 */
export function decodeTransaction(cbor: Uint8Array | string): ChainTransaction {
  try {
    return readTransaction(toBytes(cbor));
  } catch (cause) {
    if (cause instanceof CborError || cause instanceof AddressError)
      throw new TransactionError(cause.message, { cause });
    throw cause;
  }
}

/** What a transaction spends and pays, and what it asks of scripts. */
type TransactionSpending = Pick<
  ChainTransaction,
  "hash" | "inputs" | "fee" | "spendRedeemers" | "redeemerCount"
>;

/** That part of a transaction which cannot be read as a whole; null where not even that can be read. */
export function decodeSpending(cbor: Uint8Array | string): TransactionSpending | null {
  try {
    const bytes = toBytes(cbor);
    const [bodyNode, witnesses] = expectKind(readCbor(bytes), "array", "transaction").items;
    const body = expectKind(bodyNode, "map", "body");
    return {
      hash: hashNode(body, bytes),
      inputs: readInputs(body),
      fee: readInteger(requireField(body, BODY_KEYS.fee, "fee"), "fee"),
      ...summarizeRedeemers(readRedeemers(expectKind(witnesses, "map", "witnesses")), bytes),
    };
  } catch (error) {
    if (error instanceof CborError || error instanceof TransactionError) return null;
    throw error;
  }
}

/** The output that a transaction has made with a number; null: it has made none. */
export function outputAt(tx: ChainTransaction, index: number): ChainOutput | null {
  if (tx.isValid) return tx.outputs[index] ?? null;
  return index === tx.outputs.length ? tx.collateralReturn : null;
}

function toBytes(cbor: Uint8Array | string): Uint8Array {
  if (typeof cbor !== "string") return cbor;
  if (!isHex(cbor)) throw new TransactionError("not hex");
  return hexToBytes(cbor);
}

function readTransaction(bytes: Uint8Array): ChainTransaction {
  const parts = expectKind(readCbor(bytes), "array", "transaction").items;
  const [bodyNode, witnesses] = parts;
  const auxiliary = parts.at(-1);
  // Four parts since Alonzo; the validity flag is the third.
  if (!bodyNode || !witnesses || !auxiliary || parts.length < 3 || parts.length > 4)
    throw new TransactionError(`transaction: ${parts.length} parts`);
  const flag = parts.length === 4 ? parts[2] : undefined;
  const body = expectKind(bodyNode, "map", "body");
  const redeemers = readRedeemers(witnesses);
  const collateralReturn = fieldAt(body, BODY_KEYS.collateralReturn);
  return {
    hash: hashNode(body, bytes),
    inputs: readInputs(body),
    outputs: itemsOf(requireField(body, BODY_KEYS.outputs, "outputs"), "outputs").map(readOutput),
    collateralReturn: collateralReturn ? readOutput(collateralReturn) : null,
    fee: readInteger(requireField(body, BODY_KEYS.fee, "fee"), "fee"),
    validFrom: readOptionalSlot(body, BODY_KEYS.validFrom, "validity start"),
    validTo: readValidityEnd(body),
    ...summarizeRedeemers(redeemers, bytes),
    mint: readAssets(fieldAt(body, BODY_KEYS.mint), "mint"),
    metadata: readMetadata(auxiliary, bytes),
    signers: readSigners(witnesses),
    isValid: !(flag?.kind === "simple" && flag.value === SIMPLE_VALUES.false),
  };
}

function hashNode({ start, end }: CborNode, bytes: Uint8Array): string {
  return bytesToHex(blake2b(bytes.subarray(start, end), { dkLen: 32 }));
}

function readInputs(body: CborNodeOf<"map">): ChainTransaction["inputs"] {
  return itemsOf(requireField(body, BODY_KEYS.inputs, "inputs"), "inputs")
    .map(readInput)
    .sort(compareOutputReferences);
}

function readInput(node: CborNode): OutputReference {
  const [txHash, index] = expectKind(node, "array", "input").items;
  return {
    txHash: bytesToHex(expectKind(txHash, "bytes", "input").value),
    index: readSmallInteger(index, "input"),
  };
}

function readOutput(node: CborNode): ChainOutput {
  return node.kind === "map" ? readMapOutput(node) : readArrayOutput(node);
}

function readMapOutput(map: CborNodeOf<"map">): ChainOutput {
  const option = fieldAt(map, OUTPUT_KEYS.datum);
  const [kind, datum] = option ? expectKind(option, "array", "datum").items : [];
  const isInline = kind !== undefined && readInteger(kind, "datum") === INLINE_DATUM;
  return {
    address: readAddress(requireField(map, OUTPUT_KEYS.address, "address")),
    funds: readFunds(requireField(map, OUTPUT_KEYS.value, "value")),
    datum: isInline ? readInlineDatum(datum) : null,
    datumHash:
      kind && !isInline ? bytesToHex(expectKind(datum, "bytes", "datum hash").value) : null,
    hasReferenceScript: fieldAt(map, OUTPUT_KEYS.script) !== undefined,
  };
}

function readInlineDatum(node: CborNode | undefined): string {
  const tag = expectKind(node, "tag", "datum");
  if (tag.tag !== CBOR_TAGS.cbor) throw new TransactionError(`datum: tag ${tag.tag}`);
  return bytesToHex(expectKind(tag.content, "bytes", "datum").value);
}

/** The form before Babbage: address, value, datum hash. */
function readArrayOutput(node: CborNode): ChainOutput {
  const [address, value, datumHash] = expectKind(node, "array", "output").items;
  return {
    address: readAddress(expectKind(address, "bytes", "address")),
    funds: readFunds(value),
    datum: null,
    datumHash: datumHash ? bytesToHex(expectKind(datumHash, "bytes", "datum hash").value) : null,
    hasReferenceScript: false,
  };
}

function readAddress(node: CborNode): string {
  return addressFromBytes(expectKind(node, "bytes", "address").value);
}

function readFunds(node: CborNode | undefined): Funds[] {
  if (node?.kind !== "array") return [{ unit: "", amount: readInteger(node, "value") }];
  const [native, assets] = node.items;
  return [
    { unit: "", amount: readInteger(native, "value") },
    ...readAssets(assets, "value").map(({ policyId, assetName, quantity }) => ({
      unit: policyId + assetName,
      amount: quantity,
    })),
  ];
}

/** `{policy id: {asset name: quantity}}`. */
function readAssets(node: CborNode | undefined, name: string): ChainTransaction["mint"] {
  if (node === undefined) return [];
  return expectKind(node, "map", name).entries.flatMap(([policy, assets]) =>
    expectKind(assets, "map", name).entries.map(([assetName, quantity]) => ({
      policyId: bytesToHex(expectKind(policy, "bytes", name).value),
      assetName: bytesToHex(expectKind(assetName, "bytes", name).value),
      quantity: readInteger(quantity, name),
    })),
  );
}

interface Redeemer {
  tag: bigint;
  index: number;
  data: CborNode;
}

function summarizeRedeemers(
  redeemers: Redeemer[],
  bytes: Uint8Array,
): Pick<TransactionSpending, "spendRedeemers" | "redeemerCount"> {
  return {
    spendRedeemers: redeemers
      .filter(({ tag }) => tag === REDEEMER_TAGS.spend)
      .map(({ index, data }) => ({
        inputIndex: index,
        constructor: readConstr(data)?.index ?? null,
        data: bytes.subarray(data.start, data.end),
      })),
    redeemerCount: redeemers.length,
  };
}

/**
 * Conway's map `{[tag, index]: [data, units]}`, or the array of `[tag, index, data, units]`. If
 * there are several for one purpose, the ledger runs the last.
 */
function readRedeemers(witnesses: CborNode): Redeemer[] {
  const node = fieldAt(expectKind(witnesses, "map", "witnesses"), WITNESS_KEYS.redeemers);
  if (node === undefined) return [];
  const flat =
    node.kind === "map"
      ? node.entries.map(([key, value]) => [
          ...expectKind(key, "array", "redeemer").items,
          ...expectKind(value, "array", "redeemer").items,
        ])
      : expectKind(node, "array", "redeemers").items.map(
          (item) => expectKind(item, "array", "redeemer").items,
        );
  const redeemers = flat.map(([tag, index, data]): Redeemer => {
    if (data === undefined) throw new TransactionError("redeemer: incomplete");
    return { tag: readInteger(tag, "redeemer"), index: readSmallInteger(index, "redeemer"), data };
  });
  return [...new Map(redeemers.map((one) => [`${one.tag}:${one.index}`, one])).values()];
}

function readSigners(witnesses: CborNode): string[] {
  const node = fieldAt(expectKind(witnesses, "map", "witnesses"), WITNESS_KEYS.vkeys);
  if (node === undefined) return [];
  return itemsOf(node, "signatures").map((one) => {
    const [publicKey] = expectKind(one, "array", "signature").items;
    return bytesToHex(blake2b(expectKind(publicKey, "bytes", "public key").value, { dkLen: 28 }));
  });
}

/** Auxiliary data: none, a map of labels, that map first of an array, or in a tagged map at key 0. */
function readMetadata(auxiliary: CborNode, bytes: Uint8Array): Map<string, Uint8Array> {
  const labels =
    auxiliary.kind === "array"
      ? auxiliary.items[0]
      : auxiliary.kind === "tag" && auxiliary.tag === CBOR_TAGS.auxiliaryData
        ? fieldAt(expectKind(auxiliary.content, "map", "auxiliary data"), 0)
        : auxiliary;
  if (labels?.kind !== "map") return new Map();
  return new Map(
    labels.entries.map(([label, value]) => [
      String(readInteger(label, "metadata label")),
      bytes.subarray(value.start, value.end),
    ]),
  );
}

function readOptionalSlot(body: CborNodeOf<"map">, key: number, name: string): number | null {
  const node = fieldAt(body, key);
  return node === undefined ? null : readSmallInteger(node, name);
}

/** An end that no number holds is of a transaction that anybody could make, and is none. */
function readValidityEnd(body: CborNodeOf<"map">): number | null {
  const node = fieldAt(body, BODY_KEYS.validTo);
  if (node !== undefined && readInteger(node, "validity end") > Number.MAX_SAFE_INTEGER)
    return null;
  return readOptionalSlot(body, BODY_KEYS.validTo, "validity end");
}

export class TransactionError extends Error {
  override name = "TransactionError";
}

/** The value at an integer key of a map. */
function fieldAt(map: CborNodeOf<"map">, key: number): CborNode | undefined {
  const requested = BigInt(key);
  return map.entries.find(([node]) => node.kind === "int" && node.value === requested)?.[1];
}

function requireField(map: CborNodeOf<"map">, key: number, name: string): CborNode {
  const node = fieldAt(map, key);
  if (node === undefined) throw new TransactionError(`${name}: missing`);
  return node;
}

function expectKind<K extends CborNode["kind"]>(
  node: CborNode | undefined,
  kind: K,
  name: string,
): CborNodeOf<K> {
  if (node?.kind !== kind) throw new TransactionError(`${name}: not ${kind}`);
  return node as CborNodeOf<K>;
}

/** Items of an array, or of a set (tag 258 around an array). */
function itemsOf(node: CborNode, name: string): CborNode[] {
  const array = node.kind === "tag" && node.tag === CBOR_TAGS.set ? node.content : node;
  return expectKind(array, "array", name).items;
}

function readInteger(node: CborNode | undefined, name: string): bigint {
  const value = node === undefined ? null : toInteger(node);
  if (value === null) throw new TransactionError(`${name}: not an integer`);
  return value;
}

/** An integer that a number holds exactly: an index or a slot. */
function readSmallInteger(node: CborNode | undefined, name: string): number {
  const value = readInteger(node, name);
  if (value < 0n || value > Number.MAX_SAFE_INTEGER)
    throw new TransactionError(`${name}: out of range`);
  return Number(value);
}
