/** How administrators settle a dispute of Web3ChainV2: by signatures in the redeemer. Rules 26 to 30. */
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  addInteger,
  appendByteString,
  blake2b_224,
  consByteString,
  equalsByteString,
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
import { bytes, integer } from "../plutus/constants.ts";
import { all, any, not, some, sum, when, withLater } from "../plutus/control.ts";
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
import { demand, refuse } from "../rules.ts";
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
 * Demands that enough administrators signed. An administrator with several places counts several
 * times.
 *
 * @param administrators - key hashes
 */
export function* isAgreed(
  { own, toBuyer, toSeller, signatures }: Settlement,
  administrators: Term<List<Data>>,
  required: Term<"integer">,
): Steps<void> {
  const slots = yield* local(lengthOf(administrators));
  yield* demand("signatureCount", lessThanEqualsInteger(lengthOf(signatures), slots));
  const message = yield* local(blake2b_224(serialiseData(constr(0n, own, toBuyer, toSeller))));
  const agreeing = sum(administrators, (keyHash) =>
    when(hasSigned(signatures, unBData(keyHash), message), integer(1n), integer(0n)),
  );
  yield* demand(
    "administrators",
    all(lessThanEqualsInteger(required, slots), isEnough(agreeing, required)),
  );
}

/** Whether one of the signatures is by a key. Later signatures are not examined. */
const hasSigned = define(
  (signatures: Term<List<Data>>, keyHash: Term<Bytes>, message: Term<Bytes>) =>
    some(signatures, (signature) =>
      when(
        hasShortHeaders(signature),
        all(
          equalsByteString(blake2b_224(unBData(fieldAt(signature, SIGNATURE.key))), keyHash),
          isOver(signature, message),
        ),
        refuse("signatureHeaders"),
      ),
    ),
);

const hasShortHeaders = (signature: Term<Data>): Term<Bool> =>
  lessThanEqualsInteger(
    lengthOfByteString(unBData(fieldAt(signature, SIGNATURE.headers))),
    integer(MAX_HEADER_BYTES),
  );

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

/** The `Sig_structure` before the headers and before the payload: no external data, 28 bytes. */
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

/** Whether data is a map with byte strings as keys whose entries pass, given the later entries. */
const isMapOf = (
  of: Term<Data>,
  passes: (entry: Term<Entry>, later: Term<List<Entry>>) => Term<Bool>,
): Term<Bool> =>
  isMap(
    of,
    withLater(unMapData(of), (entry, later) => all(isBytes(fstPair(entry)), passes(entry, later))),
  );
type Entry = Pair<Data, Data>;

/** Whether data is names and quantities: the names ascend, and no quantity is 0. */
const areNames = define((of: Term<Data>) =>
  isMapOf(of, (entry, later) =>
    all(
      isInt(sndPair(entry)),
      not(equalsInteger(unIData(sndPair(entry)), integer(0n))),
      any(nullList(later), lessThanByteString(keyOf(entry), keyOf(headList(later)))),
    ),
  ),
);
const keyOf = (entry: Term<Entry>) => unBData(fstPair(entry));

/**
 * Whether data is a value with policies in any order, each with names. `sorted` refuses a repeated
 * policy.
 */
export const isValue = define((of: Term<Data>) =>
  isMapOf(of, (entry) => all(areNames(sndPair(entry)), not(nullList(unMapData(sndPair(entry)))))),
);
