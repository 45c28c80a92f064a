/**
 * The flat encoding of Plutus Core programs (Plutus Core specification, appendix on flat), as far as
 * copying and writing terms needs it. Nothing is interpreted: every copied bit stays as the compiler
 * wrote it. Padding aligns byte strings to bytes, so a term that is shifted by some bits gets different
 * padding.
 */

export class FlatError extends Error {
  override name = "FlatError";
}

const BITS_PER_BYTE = 8;

/** Reads bits, most significant first. */
export class BitReader {
  readonly #bytes: Uint8Array;
  /** Bits read. */
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A reader of the same bits from here on. */
  fork(): BitReader {
    const other = new BitReader(this.#bytes);
    other.#position = this.#position;
    return other;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#bytes.length * BITS_PER_BYTE;
  }

  /**
   * The next bits as a number.
   *
   * @param count - up to 31
   * @throws FlatError when fewer are left
   */
  read(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++) {
      const byte = this.#bytes[this.#position >> 3];
      if (byte === undefined) throw new FlatError("the program ends early");
      value = (value << 1) | ((byte >> (7 - (this.#position & 7))) & 1);
      this.#position++;
    }
    return value;
  }

  /**
   * Skips padding: zeros and a one that ends a byte.
   *
   * @throws FlatError when there is none
   */
  align(): void {
    if (this.read(BITS_PER_BYTE - (this.#position & 7)) !== 1)
      throw new FlatError(`no padding before byte ${this.#position >> 3}`);
  }
}

/** Writes bits as `BitReader` reads them. */
export class BitWriter {
  readonly #bytes: number[] = [];
  /** The partial byte, and how many bits it has. */
  #partialByte = 0;
  #partialBitCount = 0;

  /** @param count - how many of the lowest bits of `value` */
  write(value: number, count: number): void {
    for (let i = count - 1; i >= 0; i--) {
      this.#partialByte = (this.#partialByte << 1) | ((value >> i) & 1);
      this.#partialBitCount++;
      if (this.#partialBitCount < BITS_PER_BYTE) continue;
      this.#bytes.push(this.#partialByte);
      this.#partialByte = 0;
      this.#partialBitCount = 0;
    }
  }

  /** Pads to the end of a byte, by a whole byte at a boundary. */
  align(): void {
    this.write(1, BITS_PER_BYTE - this.#partialBitCount);
  }

  /** Every byte that is full. */
  toBytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/** Tags of terms. */
export const TERM_TAGS = {
  variable: 0,
  delay: 1,
  lambda: 2,
  application: 3,
  constant: 4,
  force: 5,
  error: 6,
  builtin: 7,
  constr: 8,
  case: 9,
} as const;
export const TERM_BITS = 4;
export const BUILTIN_BITS = 7;

/** Tags of the types that a constant may have. */
export const TYPE_TAGS = {
  integer: 0,
  byteString: 1,
  string: 2,
  unit: 3,
  boolean: 4,
  list: 5,
  pair: 6,
  application: 7,
  data: 8,
} as const;
export const TYPE_BITS = 4;
/** A constant, its type a list of one tag: an item follows, `data`, no item follows. */
const DATA_HEAD = (TERM_TAGS.constant << 6) | (1 << 5) | (TYPE_TAGS.data << 1);
const DATA_HEAD_BITS = TERM_BITS + 1 + TYPE_BITS + 1;
/** Bytes. */
const MAX_CHUNK_BYTES = 255;
/** Tags in a type; a list of pairs of data takes seven. */
const MAX_TYPE_TAGS = 32;

/** Copies bits, and returns them. */
export function copyBits(from: BitReader, to: BitWriter, count: number): number {
  const value = from.read(count);
  to.write(value, count);
  return value;
}

/** Copies a natural number: groups of seven bits, each after a bit that says whether more follow. */
export function copyNatural(from: BitReader, to: BitWriter): void {
  let group: number;
  do group = copyBits(from, to, BITS_PER_BYTE);
  while (group >= 0x80);
}

/**
 * Copies one term with everything in it. Nesting uses no call stack.
 *
 * @throws FlatError when it is none
 */
export function copyTerm(from: BitReader, to: BitWriter): void {
  // What remains to be copied, the next one last.
  const open: ("term" | "terms")[] = ["term"];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === "terms") {
      if (copyBits(from, to, 1) === 1) open.push("terms", "term");
      continue;
    }
    const tag = copyBits(from, to, TERM_BITS);
    switch (tag) {
      case TERM_TAGS.variable:
        copyNatural(from, to);
        break;
      case TERM_TAGS.delay:
      case TERM_TAGS.lambda:
      case TERM_TAGS.force:
        open.push("term");
        break;
      case TERM_TAGS.application:
        open.push("term", "term");
        break;
      case TERM_TAGS.constant:
        copyConstant(from, to);
        break;
      case TERM_TAGS.error:
        break;
      case TERM_TAGS.builtin:
        copyBits(from, to, BUILTIN_BITS);
        break;
      case TERM_TAGS.constr:
        copyNatural(from, to);
        open.push("terms");
        break;
      case TERM_TAGS.case:
        open.push("terms", "term");
        break;
      default:
        throw new FlatError(`unknown term ${tag}`);
    }
  }
}

/** The number of terms in the list that follows. Consumes nothing. */
export function countTerms(from: BitReader): number {
  const ahead = from.fork();
  let count = 0;
  for (; ahead.read(1) === 1; count++) copyTerm(ahead, new BitWriter());
  return count;
}

type ConstantType =
  | "integer"
  | "bytes"
  | "unit"
  | "boolean"
  | { list: ConstantType }
  | { pair: [ConstantType, ConstantType] };

function copyConstant(from: BitReader, to: BitWriter): void {
  const tags: number[] = [];
  while (copyBits(from, to, 1) === 1) {
    tags.push(copyBits(from, to, TYPE_BITS));
    if (tags.length > MAX_TYPE_TAGS) throw new FlatError("a constant's type is too long");
  }
  const left = tags.reverse();
  const type = readConstantType(left);
  if (left.length > 0) throw new FlatError("a constant has two types");
  copyValue(from, to, type);
}

/** Removes a type from the end of its tags, which are in reverse order. */
function readConstantType(tags: number[]): ConstantType {
  const tag = tags.pop();
  switch (tag) {
    case TYPE_TAGS.integer:
      return "integer";
    case TYPE_TAGS.byteString:
    case TYPE_TAGS.string:
    case TYPE_TAGS.data:
      return "bytes";
    case TYPE_TAGS.unit:
      return "unit";
    case TYPE_TAGS.boolean:
      return "boolean";
    case TYPE_TAGS.application: {
      const applied = tags.pop();
      if (applied === TYPE_TAGS.list) return { list: readConstantType(tags) };
      if (applied === TYPE_TAGS.application && tags.pop() === TYPE_TAGS.pair)
        return { pair: [readConstantType(tags), readConstantType(tags)] };
    }
  }
  throw new FlatError("unknown type of a constant");
}

function copyValue(from: BitReader, to: BitWriter, type: ConstantType): void {
  if (type === "integer") copyNatural(from, to);
  else if (type === "bytes") copyBytes(from, to);
  else if (type === "boolean") copyBits(from, to, 1);
  else if (type === "unit") return;
  else if ("list" in type) while (copyBits(from, to, 1) === 1) copyValue(from, to, type.list);
  else for (const part of type.pair) copyValue(from, to, part);
}

/** A byte string comes in chunks of up to 255 bytes, each after its length, the last one empty. */
function copyBytes(from: BitReader, to: BitWriter): void {
  from.align();
  to.align();
  for (
    let left = copyBits(from, to, BITS_PER_BYTE);
    left > 0;
    left = copyBits(from, to, BITS_PER_BYTE)
  )
    for (; left > 0; left--) copyBits(from, to, BITS_PER_BYTE);
}

/**
 * Reads a constant of the type `data`.
 *
 * @returns the CBOR of the Plutus data
 * @throws FlatError when it is another term
 */
export function readDataBytes(from: BitReader): Uint8Array {
  if (from.read(DATA_HEAD_BITS) !== DATA_HEAD) throw new FlatError("not a constant of Plutus data");
  from.align();
  const bytes: number[] = [];
  for (let left = from.read(BITS_PER_BYTE); left > 0; left = from.read(BITS_PER_BYTE))
    for (; left > 0; left--) bytes.push(from.read(BITS_PER_BYTE));
  return Uint8Array.from(bytes);
}

/** Writes a constant of the type `data`, given as CBOR. */
export function writeData(to: BitWriter, cbor: Uint8Array): void {
  to.write(DATA_HEAD, DATA_HEAD_BITS);
  writeBytes(to, cbor);
}

/** Writes a byte string as `copyBytes` reads it. */
export function writeBytes(to: BitWriter, bytes: Uint8Array): void {
  to.align();
  for (let at = 0; at < bytes.length; at += MAX_CHUNK_BYTES) {
    const piece = bytes.subarray(at, at + MAX_CHUNK_BYTES);
    to.write(piece.length, BITS_PER_BYTE);
    for (const byte of piece) to.write(byte, BITS_PER_BYTE);
  }
  to.write(0, BITS_PER_BYTE);
}
