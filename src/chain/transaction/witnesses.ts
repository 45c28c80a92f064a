/** Signatures that other wallets add to a transaction that was built here. */
import {
  type CborNode,
  encodeArray,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeTag,
  readCbor,
  tryReadCbor,
} from "../cbor.ts";
import { bytesToHex, hexToBytes, isHex } from "../hex.ts";
import { blake2b256, type Witness } from "./encode.ts";
import { CBOR_TAGS, WITNESS_KEYS } from "./field-numbers.ts";

const VKEYS_KEY = BigInt(WITNESS_KEYS.vkeys);
const BYTE_LENGTHS = { publicKey: 32, signature: 64 } as const;

/** What a wallet answers when it is asked to sign a transaction. */
export interface SignedWitnesses {
  witnesses: Witness[];
  /** Hash of the transaction that came with them, hex; null: they came alone. */
  transaction: string | null;
}

/**
 * Reads what a wallet answers to `signTx`: a witness set (CIP-30), or, as some libraries make of it, the
 * whole signed transaction. Nothing is verified.
 *
 * @param hex - CBOR
 * @returns null when it is neither, or signs nothing with a key
 */
export function readWitnesses(hex: string): SignedWitnesses | null {
  if (!isHex(hex)) return null;
  const bytes = hexToBytes(hex);
  const node = tryReadCbor(bytes);
  const [body, set] = node?.kind === "array" ? node.items : [undefined, node];
  const witnesses = set ? readVkeyWitnesses(set) : [];
  if (witnesses.length === 0) return null;
  return {
    witnesses,
    transaction: body ? bytesToHex(blake2b256(bytes.subarray(body.start, body.end))) : null,
  };
}

/**
 * The transaction with signatures. Its body keeps its bytes, and so its hash.
 *
 * @param unsigned - CBOR of a transaction that nobody has signed
 */
export function addWitnesses(unsigned: Uint8Array, witnesses: readonly Witness[]): Uint8Array {
  const node = readCbor(unsigned);
  const [body, set, ...rest] = node.kind === "array" ? node.items : [];
  if (!body || set?.kind !== "map") throw new Error("not a transaction");
  const sliceExactBytes = ({ start, end }: CborNode) => unsigned.subarray(start, end);
  const signed = witnesses.map(({ publicKey, signature }) =>
    encodeArray([encodeBytes(publicKey), encodeBytes(signature)]),
  );
  return encodeArray([
    sliceExactBytes(body),
    encodeMap([
      [encodeInt(VKEYS_KEY), encodeTag(CBOR_TAGS.set, encodeArray(signed))],
      ...set.entries.map(([key, value]) => [sliceExactBytes(key), sliceExactBytes(value)] as const),
    ]),
    ...rest.map(sliceExactBytes),
  ]);
}

function readVkeyWitnesses(set: CborNode): Witness[] {
  if (set.kind !== "map") return [];
  const found = set.entries.find(([key]) => key.kind === "int" && key.value === VKEYS_KEY)?.[1];
  const list = found?.kind === "tag" && found.tag === CBOR_TAGS.set ? found.content : found;
  if (list?.kind !== "array") return [];
  return list.items.flatMap((one) => {
    const [publicKey, signature] = one.kind === "array" ? one.items : [];
    if (publicKey?.kind !== "bytes" || publicKey.value.length !== BYTE_LENGTHS.publicKey) return [];
    if (signature?.kind !== "bytes" || signature.value.length !== BYTE_LENGTHS.signature) return [];
    return [{ publicKey: publicKey.value, signature: signature.value }];
  });
}
