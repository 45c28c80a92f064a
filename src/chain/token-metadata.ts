import { hexToBytes } from "./hex.ts";
import { decodeMetadatum, type Metadatum } from "./metadata.ts";

/** Label of token metadata in a minting transaction (CIP-25). */
export const TOKEN_METADATA_LABEL = "721";

/**
 * A minting transaction's metadata of one of its tokens, as JSON. Byte strings are `0x…`. Integers are
 * numbers, or decimal text beyond what a number holds. Version 1 of CIP-25 names policy and token by
 * text, the token by its hex or its UTF-8 text. Version 2 names both by bytes.
 *
 * @param label - CBOR of the metadata under label 721
 * @param assetName - hex
 * @returns undefined when the token has none
 * @throws CborError when the bytes are not metadata
 */
export function parseTokenMetadata(
  label: Uint8Array,
  policyId: string,
  assetName: string,
): unknown {
  const policies = decodeMetadatum(label);
  const tokens =
    findMapValue(policies, policyId) ??
    findMapValue(policies, hexToBytes(policyId)) ??
    new Map<never, never>();
  const nameBytes = hexToBytes(assetName);
  const found =
    findMapValue(tokens, assetName) ??
    findMapValue(tokens, nameBytes) ??
    findMapValue(tokens, new TextDecoder().decode(nameBytes));
  return found === undefined ? undefined : toJson(found);
}

function findMapValue(map: Metadatum, key: string | Uint8Array): Metadatum | undefined {
  if (!(map instanceof Map)) return undefined;
  for (const [name, value] of map) if (isSameKey(name, key)) return value;
  return undefined;
}

function isSameKey(name: Metadatum, key: string | Uint8Array): boolean {
  if (typeof key === "string") return name === key;
  return name instanceof Uint8Array && Buffer.from(name).equals(key);
}

function toJson(value: Metadatum): unknown {
  if (typeof value === "string") return value;
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return value.map(toJson);
  return Object.fromEntries(
    [...value].map(([key, item]) => [
      typeof key === "string" ? key : String(toJson(key)),
      toJson(item),
    ]),
  );
}
