/** How administrators settle a dispute of Web3ChainV2: by signatures in the redeemer. Rules 26 to 30. */
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  addInteger,
  appendByteString,
  bData,
  blake2b_224,
  consByteString,
  equalsData,
  equalsInteger,
  fstPair,
  headList,
  lengthOfByteString,
  lessThanByteString,
  lessThanEqualsInteger,
  lessThanInteger,
  nullList,
  serialiseData,
  sndPair,
  unBData,
  unIData,
  unMapData,
  verifyEd25519Signature,
} from "../plutus/builtins.ts";
import { bytes, FALSE, integer } from "../plutus/constants.ts";
import {
  all,
  any,
  every,
  filter,
  map,
  not,
  some,
  sum,
  when,
  withLater,
} from "../plutus/control.ts";
import { constr, fieldAt, isBytes, isInt, isMap, oneOf } from "../plutus/data.ts";
import { local, type Steps } from "../plutus/procedure.ts";
import {
  type Bool,
  type Bytes,
  bind,
  type Data,
  define,
  type List,
  type Pair,
  type Term,
} from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { isEnough } from "./steps.ts";

/** What a settlement says, and who agrees to it. */
export interface Settlement {
  /** The output of the escrow. */
  own: Term<Data>;
  /** What each party gets: policy to name to quantity. */
  toBuyer: Term<Data>;
  toSeller: Term<Data>;
  /** By administrators: key, protected headers and signature each. */
  signatures: Term<List<Data>>;
}

/** A signature as the redeemer has it. */
export const isSignature = oneOf([isBytes, isBytes, isBytes]);
const SIGNATURE = { key: 0, headers: 1, signature: 2 } as const;
const MAX_HEADER_BYTES = 256n;

/**
 * Demands that enough administrators signed. One that is listed several times counts as often.
 *
 * @param administrators - key hashes
 */
export function* isAgreed(
  { own, toBuyer, toSeller, signatures }: Settlement,
  administrators: Term<List<Data>>,
  required: Term<"integer">,
): Steps<void> {
  yield* demand("settledValues", all(isValue(toBuyer), isValue(toSeller)));
  const slots = yield* local(lengthOf(administrators));
  yield* demand("signatureCount", lessThanEqualsInteger(lengthOf(signatures), slots));
  yield* demand(
    "signatureHeaders",
    every(signatures, (signature) =>
      lessThanEqualsInteger(
        lengthOfByteString(unBData(fieldAt(signature, SIGNATURE.headers))),
        integer(MAX_HEADER_BYTES),
      ),
    ),
  );
  const message = yield* local(blake2b_224(serialiseData(constr(0n, own, toBuyer, toSeller))));
  const signers = yield* local(
    map(
      filter(signatures, (signature) => isOver(signature, message)),
      (signature) => bData(blake2b_224(unBData(fieldAt(signature, SIGNATURE.key)))),
    ),
  );
  const agreeing = sum(administrators, (keyHash) =>
    when(
      some(signers, (signer) => equalsData(signer, keyHash)),
      integer(1n),
      integer(0n),
    ),
  );
  yield* demand(
    "administrators",
    all(lessThanEqualsInteger(required, slots), isEnough(agreeing, required)),
  );
}

const lengthOf = define((list: Term<List<Data>>) => sum(list, () => integer(1n)));

/** CBOR of a byte string of up to 256 bytes. */
const cborOfBytes = define((of: Term<Bytes>) =>
  bind(lengthOfByteString(of), (length) => {
    const headed = (head: Term<Bytes>) => appendByteString(head, of);
    const short = consByteString(addInteger(integer(0x40n), length), of);
    const middle = headed(consByteString(integer(0x58n), consByteString(length, NO_BYTES)));
    const long = headed(bytes(Uint8Array.of(0x59, 0x01, 0x00)));
    return when(
      lessThanInteger(length, integer(24n)),
      short,
      when(lessThanInteger(length, integer(256n)), middle, long),
    );
  }),
);
const NO_BYTES = bytes(new Uint8Array());

/** An array of four, of which the first is there; and then no external data, and 28 bytes. */
const BEFORE_HEADERS = bytes(concatBytes(Uint8Array.of(0x84, 0x6a), utf8ToBytes("Signature1")));
const BEFORE_PAYLOAD = bytes(Uint8Array.of(0x40, 0x58, 28));

/** Whether a signature is over this message, or over its hash as hardware wallets sign (CIP-8). */
const isOver = define((signature: Term<Data>, message: Term<Bytes>) =>
  any(isOverPayload(signature, message), isOverPayload(signature, blake2b_224(message))),
);

/** Whether a signature is over the `Sig_structure` of a payload of 28 bytes (RFC 9052). */
const isOverPayload = define((signature: Term<Data>, payload: Term<Bytes>) => {
  const part = (position: number) => unBData(fieldAt(signature, position));
  const signed = [BEFORE_HEADERS, cborOfBytes(part(SIGNATURE.headers)), BEFORE_PAYLOAD, payload];
  return verifyEd25519Signature(
    part(SIGNATURE.key),
    signed.reduceRight((rest, piece) => appendByteString(piece, rest)),
    part(SIGNATURE.signature),
  );
});

/** Whether the keys of a map are byte strings, each greater than the one before, and its values pass. */
function isSortedMap(of: Term<Data>, passes: (value: Term<Data>) => Term<Bool>): Term<Bool> {
  type Entry = Pair<Data, Data>;
  const key = (entry: Term<Entry>) => unBData(fstPair(entry));
  const isOrdered = (entry: Term<Entry>, later: Term<List<Entry>>) =>
    any(nullList(later), lessThanByteString(key(entry), key(headList(later))));
  return when(
    isMap(of),
    bind(unMapData(of), (entries) =>
      all(
        every(entries, (entry) => all(isBytes(fstPair(entry)), passes(sndPair(entry)))),
        withLater(entries, isOrdered),
      ),
    ),
    FALSE,
  );
}

/** Whether data is a value in its only form: sorted, nothing empty, nothing zero. */
const isValue = define((of: Term<Data>) =>
  isSortedMap(of, (assets) =>
    all(
      isSortedMap(assets, (quantity) =>
        all(isInt(quantity), not(equalsInteger(unIData(quantity), integer(0n)))),
      ),
      not(nullList(unMapData(assets))),
    ),
  ),
);
