/** Constants of a program. */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import {
  TERM_TAGS,
  TYPE_BITS,
  TYPE_TAGS,
  writeBytes,
  writeData,
} from "../../../src/chain/plutus/flat.ts";
import {
  type Bool,
  type Bytes,
  type Data,
  type Int,
  type Kind,
  type Target,
  type Term,
  type Text,
  type Unit,
  writeNatural,
  writeTag,
} from "./terms.ts";

function constant<K extends Kind>(type: number, writeValue: (to: Target) => void): Term<K> {
  return {
    write(to) {
      writeTag(to, TERM_TAGS.constant);
      to.bits.write(1, 1);
      to.bits.write(type, TYPE_BITS);
      to.bits.write(0, 1);
      writeValue(to);
    },
  };
}

/** Zigzag: the sign is the lowest bit. */
export function integer(value: bigint): Term<Int> {
  const natural = value < 0n ? -2n * value - 1n : 2n * value;
  return constant(TYPE_TAGS.integer, ({ bits }) => writeNatural(bits, natural));
}

export function bytes(value: Uint8Array): Term<Bytes> {
  return constant(TYPE_TAGS.byteString, ({ bits }) => writeBytes(bits, value));
}

export function text(value: string): Term<Text> {
  return constant(TYPE_TAGS.string, ({ bits }) => writeBytes(bits, utf8ToBytes(value)));
}

export function data(value: PlutusData): Term<Data> {
  return { write: ({ bits }) => writeData(bits, encodePlutusData(value)) };
}

export const unit: Term<Unit> = constant(TYPE_TAGS.unit, () => {});
export const TRUE: Term<Bool> = constant(TYPE_TAGS.boolean, ({ bits }) => bits.write(1, 1));
export const FALSE: Term<Bool> = constant(TYPE_TAGS.boolean, ({ bits }) => bits.write(0, 1));
