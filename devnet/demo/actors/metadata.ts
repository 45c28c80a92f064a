import {
  encodeArray,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeText,
} from "../../../src/chain/cbor.ts";

/** A value that transaction metadata can hold. Texts and byte strings: at most 64 bytes. */
export type Metadatum = string | bigint | Uint8Array | Metadatum[] | { [key: string]: Metadatum };

/** Metadata by label; a registered agent stands under label 721. */
export type Metadata = Record<number, Metadatum>;

/** CBOR of a transaction's auxiliary data, in the form that is a map of labels. */
export function encodeMetadata(metadata: Metadata): Uint8Array {
  return encodeMap(
    Object.entries(metadata).map(([label, value]) => [encodeInt(BigInt(label)), encode(value)]),
  );
}

function encode(value: Metadatum): Uint8Array {
  if (typeof value === "string") return encodeText(value);
  if (typeof value === "bigint") return encodeInt(value);
  if (value instanceof Uint8Array) return encodeBytes(value);
  if (Array.isArray(value)) return encodeArray(value.map(encode));
  return encodeMap(Object.entries(value).map(([key, item]) => [encodeText(key), encode(item)]));
}
