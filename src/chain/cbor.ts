/**
 * CBOR (RFC 8949) as far as the ledger uses it. The ledger hashes and signs bytes, not values, so a
 * node keeps the position of its exact bytes; nothing is ever re-encoded for hashing.
 */

import { bytesToHex, hexToBytes } from "./hex.ts";

export class CborError extends Error {
  override name = "CborError";
}

/** `start` (inclusive) and `end` (exclusive) are offsets into the bytes that were read. */
interface ByteRange {
  start: number;
  end: number;
}

export type CborNode = ByteRange &
  (
    | { kind: "int"; value: bigint }
    | { kind: "bytes"; value: Uint8Array }
    | { kind: "text"; value: string }
    | { kind: "array"; items: CborNode[] }
    | { kind: "map"; entries: [CborNode, CborNode][] }
    | { kind: "tag"; tag: number; content: CborNode }
    | { kind: "simple"; value: number }
  );

export type CborKind = CborNode["kind"];
export type CborNodeOf<K extends CborKind> = Extract<CborNode, { kind: K }>;

/** Values of `simple` nodes. */
export const SIMPLE_VALUES = { false: 20, true: 21, null: 22 } as const;

const MAJOR_TYPES = {
  uint: 0,
  negative: 1,
  bytes: 2,
  text: 3,
  array: 4,
  map: 5,
  tag: 6,
  simple: 7,
};
const INDEFINITE_LENGTH = 31;
const BREAK_BYTE = 0xff;

/** An array, map or tag whose content is still being read. */
interface OpenNode {
  major: number;
  tag: number;
  start: number;
  /** Remaining items (a map counts keys and values); null: until the break. */
  remainingItemCount: number | null;
  items: CborNode[];
}

interface ItemHead {
  major: number;
  /** Null: indefinite length. */
  argument: bigint | null;
}

/**
 * Reads exactly one item. Nesting uses no call stack, so any depth is harmless here. A recursive
 * walk of the tree must limit its own depth.
 *
 * @throws CborError when the bytes are not one well-formed item, or hold a floating point number.
 */
export function readCbor(bytes: Uint8Array): CborNode {
  const open: OpenNode[] = [];
  let offset = 0;
  for (;;) {
    let node: CborNode | null = null;
    const parent = open.at(-1);
    if (bytes[offset] === BREAK_BYTE && parent?.remainingItemCount === null) {
      offset++;
      parent.remainingItemCount = 0;
    } else {
      const start = offset;
      const [head, next] = readHead(bytes, offset);
      offset = next;
      if (head.major >= MAJOR_TYPES.array && head.major <= MAJOR_TYPES.tag) {
        open.push(openNode(head, start));
      } else {
        node = readLeaf(bytes, start, offset, head);
        offset = node.end;
      }
    }
    for (;;) {
      const innermost = open.at(-1);
      if (node !== null) {
        if (innermost === undefined) {
          if (node.end !== bytes.length) throw new CborError(`bytes left over at ${node.end}`);
          return node;
        }
        innermost.items.push(node);
        if (innermost.remainingItemCount !== null) innermost.remainingItemCount--;
      }
      if (innermost === undefined || innermost.remainingItemCount !== 0) break;
      open.pop();
      node = closeNode(innermost, offset);
    }
  }
}

/** As `readCbor`; null where it throws. */
export function tryReadCbor(bytes: Uint8Array): CborNode | null {
  try {
    return readCbor(bytes);
  } catch (error) {
    if (error instanceof CborError) return null;
    throw error;
  }
}

function readHead(bytes: Uint8Array, offset: number): [ItemHead, number] {
  const first = bytes[offset];
  if (first === undefined) throw new CborError(`ends early at ${offset}`);
  const major = first >> 5;
  const info = first & 31;
  if (info < 24) return [{ major, argument: BigInt(info) }, offset + 1];
  if (info === INDEFINITE_LENGTH) {
    if (major < MAJOR_TYPES.bytes || major > MAJOR_TYPES.map)
      throw new CborError(`stray break at ${offset}`);
    return [{ major, argument: null }, offset + 1];
  }
  if (info > 27) throw new CborError(`reserved length at ${offset}`);
  if (major === MAJOR_TYPES.simple && info > 24)
    throw new CborError(`floating point number at ${offset}: the ledger has none`);
  const end = offset + 1 + 2 ** (info - 24);
  if (end > bytes.length) throw new CborError(`ends early at ${bytes.length}`);
  let argument = 0n;
  for (const byte of bytes.subarray(offset + 1, end)) argument = (argument << 8n) | BigInt(byte);
  return [{ major, argument }, end];
}

function openNode({ major, argument }: ItemHead, start: number): OpenNode {
  const count = argument === null ? null : Number(argument);
  if (major === MAJOR_TYPES.tag)
    return { major, tag: count ?? 0, start, remainingItemCount: 1, items: [] };
  const left = count !== null && major === MAJOR_TYPES.map ? count * 2 : count;
  return { major, tag: 0, start, remainingItemCount: left, items: [] };
}

function closeNode({ major, tag, start, items }: OpenNode, end: number): CborNode {
  if (major === MAJOR_TYPES.array) return { kind: "array", items, start, end };
  const first = items[0];
  if (major === MAJOR_TYPES.tag && first) return { kind: "tag", tag, content: first, start, end };
  const entries: [CborNode, CborNode][] = [];
  for (let i = 0; i < items.length; i += 2) {
    const [key, value] = [items[i], items[i + 1]];
    if (key === undefined || value === undefined)
      throw new CborError(`key without a value before ${end}`);
    entries.push([key, value]);
  }
  return { kind: "map", entries, start, end };
}

function readLeaf(bytes: Uint8Array, start: number, offset: number, head: ItemHead): CborNode {
  const { major, argument } = head;
  if (major === MAJOR_TYPES.bytes || major === MAJOR_TYPES.text) {
    const [value, end] =
      argument === null ? readChunks(bytes, offset, major) : readString(bytes, offset, argument);
    return major === MAJOR_TYPES.bytes
      ? { kind: "bytes", value, start, end }
      : { kind: "text", value: decodeText(value, start), start, end };
  }
  const value = argument ?? 0n;
  const end = offset;
  if (major === MAJOR_TYPES.uint) return { kind: "int", value, start, end };
  if (major === MAJOR_TYPES.negative) return { kind: "int", value: -1n - value, start, end };
  return { kind: "simple", value: Number(value), start, end };
}

function readString(bytes: Uint8Array, offset: number, length: bigint): [Uint8Array, number] {
  if (length > BigInt(bytes.length - offset)) throw new CborError(`ends early at ${bytes.length}`);
  const end = offset + Number(length);
  return [bytes.subarray(offset, end), end];
}

/** The chunks of a string of indefinite length, joined. */
function readChunks(bytes: Uint8Array, offset: number, major: number): [Uint8Array, number] {
  const chunks: Uint8Array[] = [];
  let next = offset;
  while (bytes[next] !== BREAK_BYTE) {
    const [head, content] = readHead(bytes, next);
    if (head.major !== major || head.argument === null)
      throw new CborError(`not a chunk of a string at ${next}`);
    const [chunk, end] = readString(bytes, content, head.argument);
    chunks.push(chunk);
    next = end;
  }
  return [concatBytes(chunks), next + 1];
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(bytes: Uint8Array, start: number): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new CborError(`text that is not UTF-8 at ${start}`, { cause });
  }
}

/** The value of an `int` of any size: a plain one, or a bignum (tags 2 and 3). Else null. */
export function toInteger(node: CborNode): bigint | null {
  if (node.kind === "int") return node.value;
  if (node.kind !== "tag" || node.content.kind !== "bytes") return null;
  if (node.tag !== 2 && node.tag !== 3) return null;
  const magnitude = BigInt(`0x0${bytesToHex(node.content.value)}`);
  return node.tag === 2 ? magnitude : -1n - magnitude;
}

const MAX_UINT64 = 2n ** 64n - 1n;

/** An integer in its shortest form; beyond 64 bits as a bignum (tag 2 or 3). */
export function encodeInt(value: bigint): Uint8Array {
  const magnitude = value < 0n ? -1n - value : value;
  if (magnitude <= MAX_UINT64)
    return encodeHead(value < 0n ? MAJOR_TYPES.negative : MAJOR_TYPES.uint, magnitude);
  return encodeTag(value < 0n ? 3 : 2, encodeChunked(toBigEndian(magnitude)));
}

/** A byte string of definite length. */
export function encodeBytes(bytes: Uint8Array): Uint8Array {
  return concatBytes([encodeHead(MAJOR_TYPES.bytes, BigInt(bytes.length)), bytes]);
}

const MAX_CHUNK_BYTES = 64;

/** A byte string as Plutus data has it: beyond 64 bytes in chunks of 64, of indefinite length. */
export function encodeChunked(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MAX_CHUNK_BYTES) return encodeBytes(bytes);
  const parts: Uint8Array[] = [Uint8Array.of((MAJOR_TYPES.bytes << 5) | INDEFINITE_LENGTH)];
  for (let i = 0; i < bytes.length; i += MAX_CHUNK_BYTES)
    parts.push(encodeBytes(bytes.subarray(i, i + MAX_CHUNK_BYTES)));
  parts.push(Uint8Array.of(BREAK_BYTE));
  return concatBytes(parts);
}

/** A text string of definite length. */
export function encodeText(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return concatBytes([encodeHead(MAJOR_TYPES.text, BigInt(bytes.length)), bytes]);
}

/** An array of definite length of encoded items. */
export function encodeArray(items: readonly Uint8Array[]): Uint8Array {
  return concatBytes([encodeHead(MAJOR_TYPES.array, BigInt(items.length)), ...items]);
}

/** An array of indefinite length of encoded items. */
export function encodeIndefiniteArray(items: readonly Uint8Array[]): Uint8Array {
  const first = Uint8Array.of((MAJOR_TYPES.array << 5) | INDEFINITE_LENGTH);
  return concatBytes([first, ...items, Uint8Array.of(BREAK_BYTE)]);
}

/** A map of definite length of encoded keys and values, in the order given. */
export function encodeMap(entries: readonly (readonly [Uint8Array, Uint8Array])[]): Uint8Array {
  return concatBytes([encodeHead(MAJOR_TYPES.map, BigInt(entries.length)), ...entries.flat()]);
}

/** A tag around an encoded item. */
export function encodeTag(tag: number, content: Uint8Array): Uint8Array {
  return concatBytes([encodeHead(MAJOR_TYPES.tag, BigInt(tag)), content]);
}

/** `false` or `true`. */
export function encodeBoolean(value: boolean): Uint8Array {
  return encodeHead(MAJOR_TYPES.simple, BigInt(value ? SIMPLE_VALUES.true : SIMPLE_VALUES.false));
}

function encodeHead(major: number, argument: bigint): Uint8Array {
  const type = major << 5;
  if (argument < 24n) return Uint8Array.of(type | Number(argument));
  const size = argument < 2n ** 8n ? 0 : argument < 2n ** 16n ? 1 : argument < 2n ** 32n ? 2 : 3;
  const bytes = new Uint8Array(1 + 2 ** size);
  bytes[0] = type | (24 + size);
  // Several for each item of a transaction: a way over hexadecimal text would cost more than all the rest.
  if (size === 3) new DataView(bytes.buffer).setBigUint64(1, argument);
  else
    for (let i = bytes.length - 1, left = Number(argument); i > 0; i--, left >>>= 8)
      bytes[i] = left & 0xff;
  return bytes;
}

function toBigEndian(value: bigint): Uint8Array {
  const hex = value.toString(16);
  return hexToBytes(hex.length % 2 === 0 ? hex : `0${hex}`);
}

/** Takes a list, not arguments: a string may have more chunks than a call can have arguments. */
function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
