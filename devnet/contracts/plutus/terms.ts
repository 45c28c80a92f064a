/**
 * Terms of Plutus Core, typed by their results. A variable of a program is a variable of
 * TypeScript. Its de Bruijn index is computed when the term is written.
 */

import type { BitWriter } from "../../../src/chain/plutus/flat.ts";
import { TERM_BITS, TERM_TAGS } from "../../../src/chain/plutus/flat.ts";

/** The type of a term's result. */
export type Kind =
  | "integer"
  | "bytes"
  | "text"
  | "boolean"
  | "unit"
  | "data"
  | { readonly list: Kind }
  | { readonly pair: readonly [Kind, Kind] }
  | { readonly from: Kind; readonly to: Kind }
  | { readonly delayed: Kind };
export type Int = "integer";
export type Bytes = "bytes";
export type Text = "text";
export type Bool = "boolean";
export type Unit = "unit";
export type Data = "data";
export type List<T extends Kind> = { readonly list: T };
export type Pair<A extends Kind, B extends Kind> = { readonly pair: readonly [A, B] };
export type Function<A extends Kind, R extends Kind> = { readonly from: A; readonly to: R };
export type Delayed<T extends Kind> = { readonly delayed: T };

/** The output of a program. */
export interface Target {
  readonly bits: BitWriter;
  /** The level at which a definition is bound; see `variable`. */
  levelOf(definition: Definition): number;
}

declare const KIND: unique symbol;

/** A term that fails is `Term<never>`, which is assignable to a term of any kind. */
export interface Term<out K extends Kind> {
  /** Only for the type checker: no term has this member. */
  readonly [KIND]?: K;
  /** @param depth - how many variables are bound around it */
  write(to: Target, depth: number): void;
}

/** A closed term that a program contains once, however often it is used. */
export type Definition = Term<Kind>;

/** Writes the tag of a term. */
export function writeTag(to: Target, tag: number): void {
  to.bits.write(tag, TERM_BITS);
}

/** Writes a natural number in groups of seven bits, the lowest first. */
export function writeNatural(to: BitWriter, value: bigint): void {
  let left = value;
  for (; left >= 0x80n; left >>= 7n) to.write(0x80 | Number(left & 0x7fn), 8);
  to.write(Number(left), 8);
}

/** @param level - how many variables are bound around its binder */
function variable(level: number): Term<never> {
  return {
    write(to, depth) {
      writeTag(to, TERM_TAGS.variable);
      writeNatural(to.bits, BigInt(depth - level));
    },
  };
}

/** A function of one argument. */
export function lambda<A extends Kind, R extends Kind>(
  body: (argument: Term<A>) => Term<R>,
): Term<Function<A, R>> {
  return {
    write(to, depth) {
      writeTag(to, TERM_TAGS.lambda);
      body(variable(depth)).write(to, depth + 1);
    },
  };
}

export function apply<A extends Kind, R extends Kind>(
  called: Term<Function<A, R>>,
  argument: Term<A>,
): Term<R> {
  return {
    write(to, depth) {
      writeTag(to, TERM_TAGS.application);
      called.write(to, depth);
      argument.write(to, depth);
    },
  };
}

/** Evaluates a value exactly once, used or not. A value that may fail belongs into a branch. */
export function bind<A extends Kind, R extends Kind>(
  value: Term<A>,
  body: (value: Term<A>) => Term<R>,
): Term<R> {
  return apply(lambda(body), value);
}

/** Delays a term's evaluation until `force`. */
export function delay<T extends Kind>(term: Term<T>): Term<Delayed<T>> {
  return prefixed(TERM_TAGS.delay, term);
}

export function force<T extends Kind>(term: Term<Delayed<T>>): Term<T> {
  return prefixed(TERM_TAGS.force, term);
}

function prefixed(tag: number, term: Term<Kind>): Term<never> {
  return {
    write(to, depth) {
      writeTag(to, tag);
      term.write(to, depth);
    },
  };
}

/** Ends the program with a failure. */
export const error: Term<never> = {
  write(to) {
    writeTag(to, TERM_TAGS.error);
  },
};

/** Puts a closed term into the program once, and evaluates it once. */
export function share<T extends Kind>(term: Term<T>): Term<T> {
  return {
    write(to, depth) {
      variable(to.levelOf(term)).write(to, depth);
    },
  };
}

/**
 * A function that a program contains once. Its body uses its arguments and other definitions only.
 *
 * @example
 * const double = define((x: Term<Int>) => addInteger(x, x));
 * double(double(integer(3n)));
 */
export function define<A extends Kind, R extends Kind>(
  body: (a: Term<A>) => Term<R>,
): (a: Term<A>) => Term<R>;
export function define<A extends Kind, B extends Kind, R extends Kind>(
  body: (a: Term<A>, b: Term<B>) => Term<R>,
): (a: Term<A>, b: Term<B>) => Term<R>;
export function define<A extends Kind, B extends Kind, C extends Kind, R extends Kind>(
  body: (a: Term<A>, b: Term<B>, c: Term<C>) => Term<R>,
): (a: Term<A>, b: Term<B>, c: Term<C>) => Term<R>;
export function define(
  body: (...values: Term<never>[]) => Term<Kind>,
): (...values: Term<Kind>[]) => Term<Kind> {
  const shared = share(curried(body, body.length, []));
  return (...values) => applyAll(shared, values);
}

function curried(
  body: (...values: Term<never>[]) => Term<Kind>,
  missing: number,
  values: Term<never>[],
): Term<Kind> {
  if (missing === 0) return body(...values);
  return lambda((value: Term<never>) => curried(body, missing - 1, [...values, value]));
}

/** Applies a function to several arguments, one after the other; unchecked. */
export function applyAll(called: Term<Kind>, values: readonly Term<Kind>[]): Term<never> {
  return values.reduce(
    (partial, value) => apply(partial as Term<never>, value),
    called,
  ) as Term<never>;
}

/**
 * A recursive function: `body` gets the function. Plutus Core has no recursion, so the function is
 * passed to itself.
 */
export function recursive<A extends Kind, R extends Kind>(
  body: (self: (argument: Term<A>) => Term<R>, argument: Term<A>) => Term<R>,
): Term<Function<A, R>> {
  const unrolled = lambda((self: Term<never>) => {
    const again = apply<Kind, Function<A, R>>(self, self);
    return lambda((argument: Term<A>) => body((value) => apply(again, value), argument));
  });
  return bind(unrolled, (self) => apply<Kind, Function<A, R>>(self as Term<never>, self));
}
