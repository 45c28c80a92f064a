import { CborError, type CborNode, readCbor } from "./cbor.ts";

/** A value of transaction metadata. Map keys may be any metadatum; texts are the usual ones. */
export type Metadatum = string | bigint | Uint8Array | Metadatum[] | Map<Metadatum, Metadatum>;

/** Far deeper than any metadata standard nests. */
const MAX_DEPTH = 64;

/**
 * Reads one label's metadata from CBOR. Of a key that occurs twice the last value counts.
 *
 * @throws CborError when the bytes are no metadata, or are nested deeper than 64 levels.
 */
export function decodeMetadatum(cbor: Uint8Array): Metadatum {
  return metadatumOf(readCbor(cbor), 0);
}

function metadatumOf(node: CborNode, depth: number): Metadatum {
  if (depth > MAX_DEPTH) throw new CborError(`nested deeper than ${MAX_DEPTH}`);
  switch (node.kind) {
    case "int":
    case "bytes":
    case "text":
      return node.value;
    case "array":
      return node.items.map((item) => metadatumOf(item, depth + 1));
    case "map":
      return new Map(
        node.entries.map(([key, value]) => [
          metadatumOf(key, depth + 1),
          metadatumOf(value, depth + 1),
        ]),
      );
    default:
      throw new CborError(`no metadata at ${node.start}`);
  }
}
