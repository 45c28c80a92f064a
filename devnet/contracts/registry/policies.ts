/** The minting policies of registry tokens: rules 31 to 35. */
import {
  addInteger,
  appendByteString,
  bData,
  blake2b_224,
  blake2b_256,
  byteStringToInteger,
  equalsByteString,
  equalsData,
  equalsInteger,
  fstPair,
  headList,
  integerToByteString,
  lengthOfByteString,
  lessThanByteString,
  lessThanEqualsInteger,
  nullList,
  sliceByteString,
  sndPair,
  tailList,
  unBData,
  unIData,
  unListData,
  unMapData,
} from "../plutus/builtins.ts";
import { bytes, data, integer, TRUE } from "../plutus/constants.ts";
import { all, every, find, not, some, sum, when } from "../plutus/control.ts";
import { at, fieldAt, fieldsOf } from "../plutus/data.ts";
import { local, passing, procedure, type Steps } from "../plutus/procedure.ts";
import {
  type Bool,
  type Bytes,
  bind,
  type Data,
  define,
  type List,
  lambda,
  type Pair,
  type Term,
  type Unit,
} from "../plutus/terms.ts";
import { demand, refuse } from "../rules.ts";

type Assets = List<Pair<Data, Data>>;

/** The parts of a mint that a policy checks. */
interface Mint {
  redeemer: Term<Data>;
  /** Name to quantity, of this policy. */
  assets: Term<Assets>;
  /** Whether the name follows from an input of the transaction. */
  isNameOfInput(nameOf: (seed: Term<Bytes>) => Term<Bool>): Term<Bool>;
}

// Positions in the script context of Plutus V3.
const CONTEXT = { transaction: 0, redeemer: 1, script: 2 } as const;
const TRANSACTION = { inputs: 0, mint: 4 } as const;

/** Big-endian. */
const INDEX_BYTES = integer(4n);
const BIG_ENDIAN = TRUE;

/** Reads the script context of a mint. */
function* openMint(context: Term<Data>): Steps<Mint> {
  const parts = yield* local(fieldsOf(context));
  const transaction = yield* local(fieldsOf(at(parts, CONTEXT.transaction)));
  const policy = yield* local(fieldAt(at(parts, CONTEXT.script), 0));
  const minted = yield* local(
    find(unMapData(at(transaction, TRANSACTION.mint)), (entry) =>
      equalsData(fstPair(entry), policy),
    ),
  );
  const inputs = unListData(at(transaction, TRANSACTION.inputs));
  return {
    redeemer: yield* local(at(parts, CONTEXT.redeemer)),
    assets: yield* local(unMapData(sndPair(minted))),
    isNameOfInput: (nameOf) =>
      some(inputs, (input) => bind(seedOf(fieldAt(input, 0)), (seed) => nameOf(seed))),
  };
}

/** Transaction id and index of an output, of which a name is derived. */
const seedOf = define((reference: Term<Data>) =>
  appendByteString(
    unBData(fieldAt(reference, 0)),
    integerToByteString(BIG_ENDIAN, INDEX_BYTES, unIData(fieldAt(reference, 1))),
  ),
);

/** The actions of a redeemer without fields, by its number. */
function chooseMint(redeemer: Term<Data>, does: readonly (() => Steps<void>)[]): Term<Unit> {
  return does.reduceRight<Term<Unit>>(
    (otherwise, run, index) =>
      when(equalsData(redeemer, data({ index, fields: [] })), passing(run), otherwise),
    refuse("mintRedeemer"),
  );
}

const haveQuantity = (assets: Term<Assets>, quantity: bigint): Steps<void> =>
  demand(
    "mintQuantity",
    every(assets, (asset) => equalsInteger(unIData(sndPair(asset)), integer(quantity))),
  );

/**
 * The policy of Web3ChainV1, a function of the escrow's address, which makes it another policy for
 * each escrow, and of the script context. One token in a transaction; its name is blake2b-256 of an
 * input's reference.
 */
export const POLICY_V1 = lambda((_escrowAddress: Term<Data>) =>
  lambda((context: Term<Data>) =>
    procedure(function* () {
      const { redeemer, assets, isNameOfInput } = yield* openMint(context);
      yield* demand("mintAlone", nullList(tailList(assets)));
      const name = yield* local(unBData(fstPair(headList(assets))));
      return chooseMint(redeemer, [
        function* () {
          yield* haveQuantity(assets, 1n);
          yield* demand(
            "mintName",
            isNameOfInput((seed) => equalsByteString(blake2b_256(seed), name)),
          );
        },
        () => haveQuantity(assets, -1n),
      ]);
    }),
  ),
);

/** A name of Web3ChainV2: a nonce, blake2b-224 of an input's reference, a version. Bytes. */
const NAME = { nonce: 1n, root: 28n, version: 3n } as const;
const NAME_LENGTH = NAME.nonce + NAME.root + NAME.version;
const UNVERSIONED = NAME.nonce + NAME.root;
const FIRST_NONCE = Uint8Array.of(0x10);
const FIRST_VERSION = bytes(new Uint8Array(Number(NAME.version)));

const slice = (start: bigint, length: bigint, of: Term<Bytes>) =>
  sliceByteString(integer(start), integer(length), of);

/**
 * The policy of Web3ChainV2, a function of the script context. Several tokens in a transaction; an
 * update replaces each by the one of the same nonce and root whose version is the next.
 */
export const POLICY_V2 = lambda((context: Term<Data>) =>
  procedure(function* () {
    const { redeemer, assets, isNameOfInput } = yield* openMint(context);
    return chooseMint(redeemer, [
      function* () {
        yield* haveQuantity(assets, 1n);
        yield* demand(
          "mintName",
          every(assets, (asset) =>
            bind(unBData(fstPair(asset)), (name) =>
              all(
                equalsInteger(lengthOfByteString(name), integer(NAME_LENGTH)),
                not(isBelowFirstNonce(name)),
                equalsByteString(slice(UNVERSIONED, NAME.version, name), FIRST_VERSION),
                isNameOfInput((seed) =>
                  equalsByteString(blake2b_224(seed), slice(NAME.nonce, NAME.root, name)),
                ),
              ),
            ),
          ),
        );
      },
      function* () {
        const quantityOf = (name: Term<Data>) =>
          sum(assets, (asset) =>
            when(equalsData(fstPair(asset), name), unIData(sndPair(asset)), integer(0n)),
          );
        // Demands that each removed name returns as its successor, one of each.
        yield* demand(
          "mintQuantity",
          every(assets, (asset) =>
            bind(unIData(sndPair(asset)), (quantity) => isOneOf(quantity, 1n, -1n)),
          ),
        );
        yield* demand(
          "mintQuantity",
          equalsInteger(
            sum(assets, (asset) => unIData(sndPair(asset))),
            integer(0n),
          ),
        );
        yield* demand(
          "mintSuccessor",
          every(assets, (asset) =>
            when(
              lessThanEqualsInteger(integer(1n), unIData(sndPair(asset))),
              TRUE,
              equalsInteger(quantityOf(bData(successorOf(unBData(fstPair(asset))))), integer(1n)),
            ),
          ),
        );
      },
      () => haveQuantity(assets, -1n),
    ]);
  }),
);

const isOneOf = (value: Term<"integer">, a: bigint, b: bigint): Term<Bool> =>
  when(equalsInteger(value, integer(a)), TRUE, equalsInteger(value, integer(b)));

const isBelowFirstNonce = (name: Term<Bytes>): Term<Bool> =>
  lessThanByteString(slice(0n, NAME.nonce, name), bytes(FIRST_NONCE));

/** The name of the next version. Fails for the last version. */
const successorOf = (name: Term<Bytes>): Term<Bytes> =>
  appendByteString(
    slice(0n, UNVERSIONED, name),
    integerToByteString(
      BIG_ENDIAN,
      integer(NAME.version),
      addInteger(
        byteStringToInteger(BIG_ENDIAN, slice(UNVERSIONED, NAME.version, name)),
        integer(1n),
      ),
    ),
  );
