/** The built-in functions that the contracts use, by their names in the Plutus Core specification. */
import { BUILTIN_BITS, TERM_TAGS } from "../../../src/chain/plutus/flat.ts";
import {
  applyAll,
  type Bool,
  type Bytes,
  type Data,
  force,
  type Int,
  type Kind,
  type List,
  type Pair,
  share,
  type Term,
  type Text,
  type Unit,
  writeTag,
} from "./terms.ts";

/** @param types - how many types it is generic in: it is forced once for each, at the start */
function builtin(number: number, types = 0): (...values: Term<Kind>[]) => Term<never> {
  let called: Term<never> = {
    write(to) {
      writeTag(to, TERM_TAGS.builtin);
      to.bits.write(number, BUILTIN_BITS);
    },
  };
  for (let i = 0; i < types; i++) called = force(called);
  const shared = types > 0 ? share(called) : called;
  return (...values) => applyAll(shared, values);
}

type OfTwo<A extends Kind, R extends Kind> = (a: Term<A>, b: Term<A>) => Term<R>;

export const addInteger: OfTwo<Int, Int> = builtin(0);
export const subtractInteger: OfTwo<Int, Int> = builtin(1);
export const multiplyInteger: OfTwo<Int, Int> = builtin(2);
/** Rounds down. Fails when the divisor is 0. */
export const divideInteger: OfTwo<Int, Int> = builtin(3);
export const equalsInteger: OfTwo<Int, Bool> = builtin(7);
export const lessThanInteger: OfTwo<Int, Bool> = builtin(8);
export const lessThanEqualsInteger: OfTwo<Int, Bool> = builtin(9);

export const appendByteString: OfTwo<Bytes, Bytes> = builtin(10);
/** Puts one byte before a byte string. */
export const consByteString: (byte: Term<Int>, rest: Term<Bytes>) => Term<Bytes> = builtin(11);
/** `length` bytes from `start` on, or as many as there are. */
export const sliceByteString: (
  start: Term<Int>,
  length: Term<Int>,
  of: Term<Bytes>,
) => Term<Bytes> = builtin(12);
export const lengthOfByteString: (of: Term<Bytes>) => Term<Int> = builtin(13);
export const equalsByteString: OfTwo<Bytes, Bool> = builtin(15);
export const lessThanByteString: OfTwo<Bytes, Bool> = builtin(16);
export const blake2b_256: (of: Term<Bytes>) => Term<Bytes> = builtin(20);
export const blake2b_224: (of: Term<Bytes>) => Term<Bytes> = builtin(72);
/** Fails unless the key has 32 bytes and the signature 64. */
export const verifyEd25519Signature: (
  key: Term<Bytes>,
  message: Term<Bytes>,
  signature: Term<Bytes>,
) => Term<Bool> = builtin(21);
/** In `width` bytes. Fails when the number does not fit. */
export const integerToByteString: (
  bigEndian: Term<Bool>,
  width: Term<Int>,
  value: Term<Int>,
) => Term<Bytes> = builtin(73);
export const byteStringToInteger: (bigEndian: Term<Bool>, of: Term<Bytes>) => Term<Int> =
  builtin(74);

/** Both branches are evaluated; see `when`. */
export const ifThenElse: <T extends Kind>(
  condition: Term<Bool>,
  whenTrue: Term<T>,
  whenFalse: Term<T>,
) => Term<T> = builtin(26, 1);
/** Notes a text in the log of the program's run, and is `then`. */
export const trace: <T extends Kind>(message: Term<Text>, then: Term<T>) => Term<T> = builtin(
  28,
  1,
);

export const fstPair: <A extends Kind, B extends Kind>(of: Term<Pair<A, B>>) => Term<A> = builtin(
  29,
  2,
);
export const sndPair: <A extends Kind, B extends Kind>(of: Term<Pair<A, B>>) => Term<B> = builtin(
  30,
  2,
);
/** Both are evaluated. */
export const chooseList: <T extends Kind>(
  of: Term<List<Kind>>,
  whenEmpty: Term<T>,
  otherwise: Term<T>,
) => Term<T> = builtin(31, 2);
export const mkCons: <T extends Kind>(first: Term<T>, rest: Term<List<T>>) => Term<List<T>> =
  builtin(32, 1);
export const headList: <T extends Kind>(of: Term<List<T>>) => Term<T> = builtin(33, 1);
export const tailList: <T extends Kind>(of: Term<List<T>>) => Term<List<T>> = builtin(34, 1);
export const nullList: (of: Term<List<Kind>>) => Term<Bool> = builtin(35, 1);

/** One of five values by what the data is: all of them are evaluated. */
export const chooseData: <T extends Kind>(
  of: Term<Data>,
  constr: Term<T>,
  map: Term<T>,
  list: Term<T>,
  int: Term<T>,
  bytes: Term<T>,
) => Term<T> = builtin(36, 1);
export const constrData: (index: Term<Int>, fields: Term<List<Data>>) => Term<Data> = builtin(37);
export const mapData: (entries: Term<List<Pair<Data, Data>>>) => Term<Data> = builtin(38);
export const iData: (of: Term<Int>) => Term<Data> = builtin(40);
export const bData: (of: Term<Bytes>) => Term<Data> = builtin(41);
export const unConstrData: (of: Term<Data>) => Term<Pair<Int, List<Data>>> = builtin(42);
export const unMapData: (of: Term<Data>) => Term<List<Pair<Data, Data>>> = builtin(43);
export const unListData: (of: Term<Data>) => Term<List<Data>> = builtin(44);
export const unIData: (of: Term<Data>) => Term<Int> = builtin(45);
export const unBData: (of: Term<Data>) => Term<Bytes> = builtin(46);
export const equalsData: OfTwo<Data, Bool> = builtin(47);
export const mkPairData: (first: Term<Data>, second: Term<Data>) => Term<Pair<Data, Data>> =
  builtin(48);
export const mkNilData: (unit: Term<Unit>) => Term<List<Data>> = builtin(49);
/** An empty map's entries. */
export const mkNilPairData: (unit: Term<Unit>) => Term<List<Pair<Data, Data>>> = builtin(50);
/** CBOR as `encodePlutusData` writes it. */
export const serialiseData: (of: Term<Data>) => Term<Bytes> = builtin(51);
