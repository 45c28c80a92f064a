/** Values as the script context has them: policy to name to quantity, the native coin first. */
import {
  equalsData,
  fstPair,
  headList,
  lessThanEqualsInteger,
  mapData,
  sndPair,
  tailList,
  unIData,
  unMapData,
} from "../plutus/builtins.ts";
import { data, integer } from "../plutus/constants.ts";
import { all, every, filter, sum, when } from "../plutus/control.ts";
import { constr, fieldAt } from "../plutus/data.ts";
import {
  type Bool,
  bind,
  type Data,
  define,
  type Int,
  type List,
  type Term,
} from "../plutus/terms.ts";

/** Positions of the fields of an output. */
export const OUTPUT = { address: 0, value: 1, datum: 2, referenceScript: 3 } as const;
/** Constructor number of an output's datum that is there itself, not by its hash. */
export const INLINE = 2n;

/** Native minor units of a value of an output, which always has an entry for them. */
export const coinOf = define((value: Term<Data>) =>
  unIData(sndPair(headList(unMapData(sndPair(headList(unMapData(value))))))),
);

/** Whether an output has as much native coin as another or more, and exactly its tokens. */
export const isKept = define((before: Term<Data>, after: Term<Data>) =>
  all(
    lessThanEqualsInteger(coinOf(before), coinOf(after)),
    equalsData(tokensOf(before), tokensOf(after)),
  ),
);
const tokensOf = define((value: Term<Data>) => mapData(tailList(unMapData(value))));

/** How much of an asset a value has. */
const quantityOf = define((value: Term<Data>, policy: Term<Data>, name: Term<Data>) =>
  sum(unMapData(value), (assets) =>
    when(
      equalsData(fstPair(assets), policy),
      sum(unMapData(sndPair(assets)), (asset) =>
        when(equalsData(fstPair(asset), name), unIData(sndPair(asset)), integer(0n)),
      ),
      integer(0n),
    ),
  ),
);

/** The outputs to an address that are tagged, by an inline datum, with the output they pay out. */
export const paymentsTo = define(
  (outputs: Term<List<Data>>, address: Term<Data>, own: Term<Data>) =>
    bind(constr(INLINE, own), (tag) =>
      filter(outputs, (output) =>
        all(
          equalsData(fieldAt(output, OUTPUT.address), address),
          equalsData(fieldAt(output, OUTPUT.datum), tag),
        ),
      ),
    ),
);

/** Native minor units of some outputs. */
export const coinOfAll = define((outputs: Term<List<Data>>) =>
  sum(outputs, (output) => coinOf(fieldAt(output, OUTPUT.value))),
);

/**
 * Whether outputs together have, of each asset of a value, what is due.
 *
 * @param due - given the asset's policy, and its quantity in the value
 */
export const covers = (
  outputs: Term<List<Data>>,
  value: Term<Data>,
  due: (policy: Term<Data>, quantity: Term<Int>) => Term<Int>,
): Term<Bool> =>
  every(unMapData(value), (assets) =>
    bind(fstPair(assets), (policy) =>
      every(unMapData(sndPair(assets)), (asset) =>
        lessThanEqualsInteger(
          due(policy, unIData(sndPair(asset))),
          sum(outputs, (output) =>
            quantityOf(fieldAt(output, OUTPUT.value), policy, fstPair(asset)),
          ),
        ),
      ),
    ),
  );

/** Whether outputs together have a whole value. */
export const coversAll = define((outputs: Term<List<Data>>, value: Term<Data>) =>
  covers(outputs, value, (_, quantity) => quantity),
);

const NATIVE = data(new Uint8Array());
export const isNative = (policy: Term<Data>): Term<Bool> => equalsData(policy, NATIVE);
