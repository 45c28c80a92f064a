import {
  CborError,
  type CborNode,
  encodeArray,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeText,
  readCbor,
} from "./cbor.ts";

/** A value of transaction metadata. Map keys may be any metadatum; texts are the usual ones. */
export type Metadatum = string | bigint | Uint8Array | Metadatum[] | Map<Metadatum, Metadatum>;

/** Most bytes of a text or byte string that the ledger accepts. */
export const MAX_TEXT_BYTES = 64;
/** Far deeper than any metadata standard nests. */
const MAX_DEPTH = 64;

/**
 * Reads one label's metadata from CBOR. The last value of a duplicate key counts.
 *
 * @throws CborError when the bytes are not metadata, or are nested deeper than 64 levels.
 */
export function decodeMetadatum(cbor: Uint8Array): Metadatum {
  return toMetadatum(readCbor(cbor), 0);
}

function toMetadatum(node: CborNode, depth: number): Metadatum {
  if (depth > MAX_DEPTH) throw new CborError(`nested deeper than ${MAX_DEPTH}`);
  switch (node.kind) {
    case "int":
    case "bytes":
    case "text":
      return node.value;
    case "array":
      return node.items.map((item) => toMetadatum(item, depth + 1));
    case "map":
      return new Map(
        node.entries.map(([key, value]) => [
          toMetadatum(key, depth + 1),
          toMetadatum(value, depth + 1),
        ]),
      );
    default:
      throw new CborError(`no metadata at ${node.start}`);
  }
}

/** CBOR of a metadatum. The ledger accepts no text or byte string longer than `MAX_TEXT_BYTES`. */
export function encodeMetadatum(value: Metadatum): Uint8Array {
  if (typeof value === "string") return encodeText(value);
  if (typeof value === "bigint") return encodeInt(value);
  if (value instanceof Uint8Array) return encodeBytes(value);
  if (Array.isArray(value)) return encodeArray(value.map(encodeMetadatum));
  return encodeMap(
    [...value].map(([key, item]) => [encodeMetadatum(key), encodeMetadatum(item)] as const),
  );
}

/** A JSON value that the ledger's metadata cannot hold as it is. */
export class MetadatumError extends Error {
  override name = "MetadatumError";
}

/** Nesting of JSON in metadata. Readers of metadata nest less. */
const MAX_JSON_DEPTH = 10;

/**
 * Metadata of a JSON value: texts of at most 64 bytes, whole numbers, lists and objects.
 *
 * @throws MetadatumError
 */
export function jsonToMetadatum(value: unknown, depth = 0): Metadatum {
  if (depth > MAX_JSON_DEPTH)
    throw new MetadatumError(`must be nested at most ${MAX_JSON_DEPTH} levels deep`);
  if (typeof value === "string") return requireShortText(value);
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  if (Array.isArray(value)) return value.map((item) => jsonToMetadatum(item, depth + 1));
  if (typeof value !== "object" || value === null)
    throw new MetadatumError("must have texts, whole numbers, lists and objects alone");
  return new Map(
    Object.entries(value).map(([name, item]) => [
      requireShortText(name),
      jsonToMetadatum(item, depth + 1),
    ]),
  );
}

function requireShortText(text: string): string {
  if (text.isWellFormed() && new TextEncoder().encode(text).length <= MAX_TEXT_BYTES) return text;
  throw new MetadatumError(`must have texts of at most ${MAX_TEXT_BYTES} bytes in UTF-8`);
}

/** CBOR of a transaction's auxiliary data in its simplest form: a map of labels. */
export function encodeLabels(labels: ReadonlyMap<bigint, Metadatum>): Uint8Array {
  return encodeMap(
    [...labels].map(([label, value]) => [encodeInt(label), encodeMetadatum(value)] as const),
  );
}

/** Bytes of a piece of a longer text, in UTF-8. */
export const CHUNK_BYTES = 60;

/** A text in chunks of at most 60 UTF-8 bytes that split no character; `""` has no chunk. */
export function splitIntoChunks(text: string): string[] {
  const pieces: string[] = [];
  let [piece, size] = ["", 0];
  for (const character of text) {
    const length = new TextEncoder().encode(character).length;
    if (size + length > CHUNK_BYTES) {
      pieces.push(piece);
      [piece, size] = ["", 0];
    }
    piece += character;
    size += length;
  }
  return piece === "" ? pieces : [...pieces, piece];
}
