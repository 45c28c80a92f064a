/** Branches, and functions over lists. */
import {
  addInteger,
  equalsData,
  headList,
  ifThenElse,
  mkCons,
  mkNilData,
  nullList,
  tailList,
} from "./builtins.ts";
import { FALSE, integer, TRUE, unit } from "./constants.ts";
import {
  apply,
  type Bool,
  bind,
  type Data,
  delay,
  error,
  force,
  type Int,
  type Kind,
  type List,
  recursive,
  share,
  type Term,
} from "./terms.ts";

/** Evaluates one of two branches. */
export function when<T extends Kind>(
  condition: Term<Bool>,
  whenTrue: Term<T>,
  whenFalse: Term<T>,
): Term<T> {
  return force(ifThenElse(condition, delay(whenTrue), delay(whenFalse)));
}

/** Evaluates a term after idle steps, so that our programs cost as much as the deployed ones. */
export function idle<T extends Kind>(times: number, term: Term<T>): Term<T> {
  return times === 0 ? term : when(TRUE, idle(times - 1, term), error);
}

/** The same, with steps that grow with some data, and little memory. */
export const idleOver = <T extends Kind>(of: Term<Data>, term: Term<T>): Term<T> =>
  bind(of, (data) => when(equalsData(data, data), term, error));

/** Whether all conditions hold. Evaluation ends at the first that does not. */
export function all(...conditions: readonly Term<Bool>[]): Term<Bool> {
  return conditions.reduceRight((rest, condition) => when(condition, rest, FALSE));
}

/** Whether one condition holds. Evaluation ends at it. */
export function any(...conditions: readonly Term<Bool>[]): Term<Bool> {
  if (conditions.length === 0) return FALSE;
  return conditions.reduceRight((rest, condition) => when(condition, TRUE, rest));
}

export function not(condition: Term<Bool>): Term<Bool> {
  return ifThenElse(condition, FALSE, TRUE);
}

/** Folds a list: `step` gets an item and the result for the rest. */
export function through<T extends Kind, R extends Kind>(
  list: Term<List<T>>,
  atEnd: Term<R>,
  step: (item: Term<T>, rest: Term<R>, tail: Term<List<T>>) => Term<R>,
): Term<R> {
  const walk = recursive<List<T>, R>((self, left) =>
    when(
      nullList(left),
      atEnd,
      bind(tailList(left), (tail) => bind(headList(left), (item) => step(item, self(tail), tail))),
    ),
  );
  return apply(walk, list);
}

/** Whether an item passes. */
export const some = <T extends Kind>(list: Term<List<T>>, passes: (item: Term<T>) => Term<Bool>) =>
  through<T, Bool>(list, FALSE, (item, rest) => when(passes(item), TRUE, rest));

/** Whether every item passes. */
export const every = <T extends Kind>(list: Term<List<T>>, passes: (item: Term<T>) => Term<Bool>) =>
  through<T, Bool>(list, TRUE, (item, rest) => when(passes(item), rest, FALSE));

/** Whether every item passes, given the later items. */
export const withLater = <T extends Kind>(
  list: Term<List<T>>,
  pass: (item: Term<T>, later: Term<List<T>>) => Term<Bool>,
) => through<T, Bool>(list, TRUE, (item, rest, tail) => when(pass(item, tail), rest, FALSE));

/** The first item that passes; `otherwise` if there is none. */
export const find = <T extends Kind>(
  list: Term<List<T>>,
  passes: (item: Term<T>) => Term<Bool>,
  otherwise: Term<T> = error,
) => through<T, T>(list, otherwise, (item, rest) => when(passes(item), item, rest));

/** The items that pass. */
export const filter = (list: Term<List<Data>>, passes: (item: Term<Data>) => Term<Bool>) =>
  through<Data, List<Data>>(list, NIL, (item, rest) =>
    when(passes(item), mkCons(item, rest), rest),
  );

/** The converted items, in the same order. */
export const map = <T extends Kind>(list: Term<List<T>>, become: (item: Term<T>) => Term<Data>) =>
  through<T, List<Data>>(list, NIL, (item, rest) => mkCons(become(item), rest));

/** The sum of a number for each item. */
export const sum = <T extends Kind>(list: Term<List<T>>, count: (item: Term<T>) => Term<Int>) =>
  through<T, Int>(list, integer(0n), (item, rest) => addInteger(count(item), rest));

export const NIL: Term<List<Data>> = share(mkNilData(unit));
