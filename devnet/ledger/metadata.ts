import { bytesToHex } from "@noble/hashes/utils.js";
import type { CborNode } from "../../src/chain/cbor.ts";
import { cut, expectNode, intOf, itemsOf } from "./cbor-fields.ts";

export interface MetadataEntry {
  label: string;
  json: unknown;
  /** The value, CBOR in hex. */
  cbor: string;
}

/**
 * Reads transaction metadata out of auxiliary data. Its forms are a map of labels (Shelley), `[map, scripts]`
 * (Allegra), or tag 259 over a map with the labels under key 0 (Alonzo).
 */
export function readMetadata(source: Uint8Array, auxiliary: CborNode | undefined): MetadataEntry[] {
  return labels(auxiliary).map(([label, value]) => ({
    label: String(intOf(label)),
    json: metadatumJson(value),
    cbor: bytesToHex(cut(source, value)),
  }));
}

function labels(auxiliary: CborNode | undefined): [CborNode, CborNode][] {
  if (!auxiliary || auxiliary.kind === "simple") return [];
  if (auxiliary.kind === "map") return auxiliary.entries;
  if (auxiliary.kind === "array") return labels(itemsOf(auxiliary)[0]);
  const fields = expectNode(expectNode(auxiliary, "tag").content, "map").entries;
  return labels(fields.find(([key]) => intOf(key) === 0n)?.[1]);
}

/**
 * The JSON without schema that the provider gives: bytes are `0x` and hex, and keys are text.
 * Integers beyond 2^53 are rounded, as every reader of JSON in JavaScript would round them.
 */
function metadatumJson(item: CborNode): unknown {
  switch (item.kind) {
    case "int":
      return Number(item.value);
    case "bytes":
      return `0x${bytesToHex(item.value)}`;
    case "text":
      return item.value;
    case "array":
      return item.items.map(metadatumJson);
    case "map":
      return Object.fromEntries(
        item.entries.map(([key, value]) => [metadatumKey(key), metadatumJson(value)]),
      );
    default:
      throw new RangeError(`Metadata cannot hold a CBOR ${item.kind}`);
  }
}

function metadatumKey(key: CborNode): string {
  const json = metadatumJson(key);
  return typeof json === "string" ? json : JSON.stringify(json);
}
