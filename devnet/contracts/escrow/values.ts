/** Values as the script context has them: policy to name to quantity, the native coin first. */
import {
  addInteger,
  equalsByteString,
  equalsData,
  equalsInteger,
  fstPair,
  headList,
  iData,
  lessThanByteString,
  lessThanEqualsInteger,
  mapData,
  mkCons,
  mkNilPairData,
  mkPairData,
  nullList,
  sndPair,
  subtractInteger,
  tailList,
  unBData,
  unIData,
  unMapData,
} from "../plutus/builtins.ts";
import { bytes, data, FALSE, integer, unit } from "../plutus/constants.ts";
import { all, every, filter, idle, through, when } from "../plutus/control.ts";
import { fieldAt, hasIndex, isBytes, isInt, oneOf } from "../plutus/data.ts";
import {
  apply,
  type Bool,
  type Bytes,
  bind,
  type Data,
  type Delayed,
  define,
  delay,
  type Function as FunctionKind,
  force,
  type Int,
  type List,
  lambda,
  type Pair,
  recursive,
  share,
  type Term,
} from "../plutus/terms.ts";
import { refuse } from "../rules.ts";

/** Positions of the fields of an output. */
export const OUTPUT = { address: 0, value: 1, datum: 2, referenceScript: 3 } as const;
/** Constructor number of an inline datum. */
export const INLINE = 2n;

/** Native minor units of a value of an output, which always has an entry for them. */
export const coinOf = define((value: Term<Data>) =>
  unIData(sndPair(headList(unMapData(sndPair(headList(unMapData(value))))))),
);

/** Whether a value has at least the native coin of another, and exactly its tokens. */
export const isKept = define((before: Term<Data>, after: Term<Data>) =>
  all(
    lessThanEqualsInteger(coinOf(before), coinOf(after)),
    equalsData(tokensOf(before), tokensOf(after)),
  ),
);
const tokensOf = define((value: Term<Data>) => mapData(tailList(unMapData(value))));

/**
 * The payouts of an output to an address. The address may fail, so it is evaluated only for outputs
 * with a tag.
 */
export const paymentsTo = (
  outputs: Term<List<Data>>,
  address: Term<Data>,
  own: Term<Data>,
): Term<List<Data>> => tagged(outputs, delay(address), own);
const tagged = define((outputs: Term<List<Data>>, address: Term<Delayed<Data>>, own: Term<Data>) =>
  filter(outputs, (output) =>
    bind(fieldAt(output, OUTPUT.datum), (datum) =>
      all(
        hasIndex(datum, INLINE),
        isReference(fieldAt(datum, 0)),
        equalsData(fieldAt(output, OUTPUT.address), force(address)),
        equalsData(fieldAt(datum, 0), own),
      ),
    ),
  ),
);
const isReference = oneOf([isBytes, isInt]);

type Entry = Pair<Data, Data>;
/** The entries of a map in the order of their keys, which are byte strings. */
type Entries = List<Entry>;
const NO_ENTRIES: Term<Entries> = share(mkNilPairData(unit));

/**
 * Inserts an entry in order. If its key has an entry already, their sum replaces it.
 *
 * @param sum - adds the values of two entries
 */
const insertion = (
  sum: (present: Term<Data>, added: Term<Data>) => Term<Data>,
  isNothing: (sum: Term<Data>) => Term<Bool>,
) =>
  define((entries: Term<Entries>, added: Term<Entry>) =>
    bind(keyOf(added), (key) =>
      apply(
        recursive<Entries, Entries>((self, left) =>
          when(
            nullList(left),
            mkCons(added, NO_ENTRIES),
            bind(headList(left), (present) =>
              bind(keyOf(present), (other) =>
                when(
                  lessThanByteString(key, other),
                  mkCons(added, left),
                  when(
                    equalsByteString(key, other),
                    bind(sum(sndPair(present), sndPair(added)), (together) =>
                      when(
                        isNothing(together),
                        tailList(left),
                        mkCons(mkPairData(fstPair(added), together), tailList(left)),
                      ),
                    ),
                    idle(2, mkCons(present, self(tailList(left)))),
                  ),
                ),
              ),
            ),
          ),
        ),
        entries,
      ),
    ),
  );

const keyOf = (entry: Term<Entry>) => unBData(fstPair(entry));

/** Inserts all entries of a map into another. */
const union = (insert: (entries: Term<Entries>, added: Term<Entry>) => Term<Entries>) =>
  define((added: Term<Entries>, entries: Term<Entries>) =>
    apply(
      apply(
        recursive<Entries, FunctionKind<Entries, Entries>>((self, left) =>
          lambda((into: Term<Entries>) =>
            when(nullList(left), into, apply(self(tailList(left)), insert(into, headList(left)))),
          ),
        ),
        added,
      ),
      entries,
    ),
  );

const addNames = union(
  insertion(
    (present, added) => iData(addInteger(unIData(present), unIData(added))),
    (sum) => equalsInteger(unIData(sum), integer(0n)),
  ),
);

const insertPolicy = insertion(
  (present, added) => mapData(addNames(unMapData(present), unMapData(added))),
  (sum) => nullList(unMapData(sum)),
);

/** The sum of two values without zero quantities. The second is sorted. */
export const addValues = union(insertPolicy);

/** Sorts a value by policy. Refuses a repeated policy. */
export const sorted = define((value: Term<Entries>) =>
  through<Entry, Entries>(value, NO_ENTRIES, (entry, rest) => insertOnce(rest, entry)),
);
const insertOnce = insertion(
  () => refuse("settledValues"),
  () => FALSE,
);

/** A value of one quantity of the native coin. */
export const coins = define((quantity: Term<Int>) =>
  when(
    equalsInteger(quantity, integer(0n)),
    NO_ENTRIES,
    bind(mapData(entryOf(NATIVE, iData(quantity))), (names) => entryOf(NATIVE, names)),
  ),
);
const entryOf = (key: Term<Data>, value: Term<Data>) => mkCons(mkPairData(key, value), NO_ENTRIES);
const NATIVE = data(new Uint8Array());
const NO_BYTES = bytes(new Uint8Array());

/** The sum of the values of outputs. */
export const sumOf = define((outputs: Term<List<Data>>) =>
  apply(
    apply(
      recursive<List<Data>, FunctionKind<Entries, Entries>>((self, left) =>
        lambda((total: Term<Entries>) =>
          when(
            nullList(left),
            total,
            apply(
              self(tailList(left)),
              addValues(unMapData(fieldAt(headList(left), OUTPUT.value)), total),
            ),
          ),
        ),
      ),
      outputs,
    ),
    NO_ENTRIES,
  ),
);

/** The quantity of an asset in a sorted value. */
export const quantityOf = define((value: Term<Entries>, policy: Term<Bytes>, name: Term<Bytes>) =>
  lookUp(value, policy, (names) => lookUp(unMapData(names), name, unIData)),
);

/** Reads the entry with a key; 0 if there is none. */
const lookUp = (
  entries: Term<Entries>,
  key: Term<Bytes>,
  read: (value: Term<Data>) => Term<Int>,
): Term<Int> => {
  const walk = recursive<Entries, Int>((self, left) =>
    when(
      nullList(left),
      integer(0n),
      bind(headList(left), (entry) =>
        bind(keyOf(entry), (other) =>
          when(
            equalsByteString(key, other),
            read(sndPair(entry)),
            when(lessThanByteString(key, other), integer(0n), self(tailList(left))),
          ),
        ),
      ),
    ),
  );
  return apply(walk, entries);
};

/** Native minor units of a sum. */
export const coinOfSum = (sum: Term<Entries>): Term<Int> => quantityOf(sum, NO_BYTES, NO_BYTES);

/** Whether every quantity of every asset of a value passes. */
export const everyAsset = (
  value: Term<Entries>,
  passes: (policy: Term<Bytes>, name: Term<Bytes>, quantity: Term<Int>) => Term<Bool>,
): Term<Bool> =>
  every(value, (assets) =>
    every(unMapData(sndPair(assets)), (asset) =>
      passes(keyOf(assets), keyOf(asset), unIData(sndPair(asset))),
    ),
  );

/** Whether a sum has at least the quantities of a sorted value. */
export const covers = define((sum: Term<Entries>, value: Term<Entries>) =>
  everyAsset(addValues(sum, negated(value)), (_policy, _name, quantity) =>
    lessThanEqualsInteger(integer(0n), quantity),
  ),
);

const negated = define((value: Term<Entries>) =>
  mapEntries(value, (names) =>
    mapData(
      mapEntries(unMapData(names), (quantity) =>
        iData(subtractInteger(integer(0n), unIData(quantity))),
      ),
    ),
  ),
);

const mapEntries = (entries: Term<Entries>, become: (value: Term<Data>) => Term<Data>) =>
  through<Entry, Entries>(entries, NO_ENTRIES, (entry, rest) =>
    mkCons(mkPairData(fstPair(entry), become(sndPair(entry))), rest),
  );
