import {
  CborError,
  type CborNode,
  encodeArray,
  encodeChunked,
  encodeIndefiniteArray,
  encodeInt,
  encodeMap,
  encodeTag,
  readCbor,
  toInteger,
} from "../cbor.ts";

/** Constructor `index` (from 0) of a sum type, with its fields in order. */
export interface Constr {
  index: number;
  fields: PlutusData[];
}

/** A map as written: in order, including duplicate keys. */
export interface PlutusMap {
  entries: [PlutusData, PlutusData][];
}

/** The data that contracts see: datums and redeemers are of this type. */
export type PlutusData = Constr | PlutusMap | PlutusData[] | bigint | Uint8Array;

export class PlutusDataError extends Error {
  override name = "PlutusDataError";
}

/** Far deeper than any type we read; the ledger sets no limit. */
const MAX_DEPTH = 128;

const COMPACT_TAGS = { tag: 121, count: 7 };
const WIDE_TAGS = { tag: 1280, count: 121 };
const GENERAL_TAG = 102;

/**
 * Reads Plutus data from CBOR of definite and indefinite lengths.
 *
 * @throws PlutusDataError when the bytes are not Plutus data, or nested deeper than 128 levels
 */
export function decodePlutusData(bytes: Uint8Array): PlutusData {
  try {
    return toPlutusData(readCbor(bytes), 0);
  } catch (error) {
    if (error instanceof CborError) throw new PlutusDataError(error.message, { cause: error });
    throw error;
  }
}

function toPlutusData(node: CborNode, depth: number): PlutusData {
  if (depth > MAX_DEPTH) throw new PlutusDataError(`nested deeper than ${MAX_DEPTH}`);
  if (node.kind === "bytes") return node.value;
  if (node.kind === "array") return node.items.map((item) => toPlutusData(item, depth + 1));
  if (node.kind === "map")
    return {
      entries: node.entries.map(([key, value]) => [
        toPlutusData(key, depth + 1),
        toPlutusData(value, depth + 1),
      ]),
    };
  const integer = toInteger(node);
  if (integer !== null) return integer;
  const constr = readConstr(node);
  if (constr === null) throw new PlutusDataError(`not Plutus data at ${node.start}`);
  return {
    index: constr.index,
    fields: constr.fields.map((field) => toPlutusData(field, depth + 1)),
  };
}

/**
 * Constructor number and fields of a CBOR node, its fields unread. Tags 121 to 127 are 0 to 6, and tags
 * 1280 to 1400 are 7 to 127. Tag 102 carries the number as the first of two items. Null when the node
 * is not a constructor.
 */
export function readConstr(node: CborNode): { index: number; fields: CborNode[] } | null {
  if (node.kind !== "tag" || node.content.kind !== "array") return null;
  const { tag, content } = node;
  for (const [{ tag: first, count }, offset] of [
    [COMPACT_TAGS, 0],
    [WIDE_TAGS, COMPACT_TAGS.count],
  ] as const) {
    if (tag >= first && tag < first + count)
      return { index: tag - first + offset, fields: content.items };
  }
  const [index, fields] = content.items;
  if (tag !== GENERAL_TAG || content.items.length !== 2) return null;
  if (index?.kind !== "int" || fields?.kind !== "array") return null;
  if (index.value < 0n || index.value > Number.MAX_SAFE_INTEGER) return null;
  return { index: Number(index.value), fields: fields.items };
}

/**
 * Writes Plutus data in the form shared by wallets and contract tools: lists of indefinite length
 * unless empty, byte strings beyond 64 bytes in chunks. Same data, same bytes, same hash.
 */
export function encodePlutusData(data: PlutusData): Uint8Array {
  if (typeof data === "bigint") return encodeInt(data);
  if (data instanceof Uint8Array) return encodeChunked(data);
  if (Array.isArray(data)) return encodeList(data);
  if ("entries" in data)
    return encodeMap(
      data.entries.map(([key, value]) => [encodePlutusData(key), encodePlutusData(value)]),
    );
  const fields = encodeList(data.fields);
  if (data.index < COMPACT_TAGS.count) return encodeTag(COMPACT_TAGS.tag + data.index, fields);
  const wide = data.index - COMPACT_TAGS.count;
  if (wide < WIDE_TAGS.count) return encodeTag(WIDE_TAGS.tag + wide, fields);
  return encodeTag(GENERAL_TAG, encodeArray([encodeInt(BigInt(data.index)), fields]));
}

function encodeList(items: PlutusData[]): Uint8Array {
  const encoded = items.map(encodePlutusData);
  return encoded.length === 0 ? encodeArray(encoded) : encodeIndefiniteArray(encoded);
}
