/** Access to Plutus data. Data of another form fails, except where a comment says otherwise. */
import {
  chooseData,
  chooseList,
  constrData,
  equalsInteger,
  fstPair,
  headList,
  lessThanInteger,
  mkCons,
  nullList,
  sndPair,
  tailList,
  unBData,
  unConstrData,
  unIData,
} from "./builtins.ts";
import { FALSE, integer, TRUE } from "./constants.ts";
import { NIL, when } from "./control.ts";
import {
  type Bool,
  bind,
  type Data,
  define,
  delay,
  force,
  type List,
  share,
  type Term,
} from "./terms.ts";

/** The number of a constructor. */
export const indexOf = define((of: Term<Data>) => fstPair(unConstrData(of)));

/** The fields of a constructor. */
export const fieldsOf = define((of: Term<Data>) => sndPair(unConstrData(of)));

/** The item at a position, from 0. */
export function at(list: Term<List<Data>>, position: number): Term<Data> {
  let left = list;
  for (let i = 0; i < position; i++) left = tailList(left);
  return headList(left);
}

/** The field of a constructor at a position, from 0. */
export const fieldAt = (of: Term<Data>, position: number) => at(fieldsOf(of), position);

/** A constructor with these fields. */
export const constr = (index: bigint, ...fields: Term<Data>[]) =>
  constrData(
    integer(index),
    fields.reduceRight((rest, field) => mkCons(field, rest), NIL),
  );

export const hasIndex = (of: Term<Data>, index: bigint): Term<Bool> =>
  equalsInteger(indexOf(of), integer(index));

/**
 * Whether data has a form; it never fails. `then` is a further condition, evaluated if the data has
 * the form.
 */
export type Shape = (of: Term<Data>, then?: Term<Bool>) => Term<Bool>;

const NO = share(delay(FALSE));

/** @param position - of the kind among those that `chooseData` tells apart */
const kind =
  (position: number): Shape =>
  (of, then = TRUE) => {
    const at = (own: number) => (own === position ? delay(then) : NO);
    return force(chooseData(of, at(0), at(1), at(2), at(3), at(4)));
  };
export const isConstr = kind(0);
export const isMap = kind(1);
export const isList = kind(2);
export const isInt = kind(3);
export const isBytes = kind(4);

/** Whether a list has exactly the items of these shapes. */
export function areFields(list: Term<List<Data>>, shapes: readonly Shape[]): Term<Bool> {
  const [shape, ...rest] = shapes;
  if (shape === undefined) return nullList(list);
  const others = bind(tailList(list), (tail) => areFields(tail, rest));
  return force(chooseList(list, NO, delay(shape(headList(list), others))));
}

/** Whether data is one of several constructors, in order of their numbers, with such fields. */
export function oneOf(...constructors: readonly (readonly Shape[])[]): Shape {
  const isOne = define((of: Term<Data>) =>
    isConstr(of, hasConstructor(of, constructors, areFields)),
  );
  return (of, then = TRUE) => (then === TRUE ? isOne(of) : when(isOne(of), then, FALSE));
}

type Walk = (list: Term<List<Data>>, shapes: readonly Shape[]) => Term<Bool>;

function hasConstructor(
  of: Term<Data>,
  constructors: readonly (readonly Shape[])[],
  areSuch: Walk,
): Term<Bool> {
  return bind(unConstrData(of), (parts) =>
    bind(sndPair(parts), (fields) => {
      const [first = []] = constructors;
      const areAlike = constructors.every(
        (shapes) =>
          shapes.length === first.length && shapes.every((shape, i) => shape === first[i]),
      );
      if (areAlike)
        return when(
          lessThanInteger(fstPair(parts), integer(BigInt(constructors.length))),
          areSuch(fields, first),
          FALSE,
        );
      return bind(fstPair(parts), (number) =>
        constructors.reduceRight<Term<Bool>>(
          (otherwise, shapes, n) =>
            when(equalsInteger(number, integer(BigInt(n))), areSuch(fields, shapes), otherwise),
          FALSE,
        ),
      );
    }),
  );
}

// The same at less cost: data of another kind fails, and so does a constructor with too few fields.

export const readBytes: Shape = (of, then = TRUE) => bind(unBData(of), () => then);
export const readInt: Shape = (of, then = TRUE) => bind(unIData(of), () => then);

export function readOneOf(...constructors: readonly (readonly Shape[])[]): Shape {
  const isOne = define((of: Term<Data>) => hasConstructor(of, constructors, readFields));
  return (of, then = TRUE) => (then === TRUE ? isOne(of) : when(isOne(of), then, FALSE));
}

function readFields(list: Term<List<Data>>, shapes: readonly Shape[]): Term<Bool> {
  const [shape, ...rest] = shapes;
  if (shape === undefined) return nullList(list);
  return shape(
    headList(list),
    bind(tailList(list), (tail) => readFields(tail, rest)),
  );
}
