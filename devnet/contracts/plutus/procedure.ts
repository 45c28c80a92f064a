/**
 * Statements: a generator function whose `yield*` bind values and demand conditions in the order in
 * which they are read, instead of one callback inside of the other.
 *
 * @example
 * const validator = lambda((context: Term<Data>) =>
 *   procedure(function* () {
 *     const fields = yield* local(fieldsOf(context));
 *     yield* guard(isConstr(at(fields, 1)), error);
 *   }),
 * );
 */
import { unit } from "./constants.ts";
import { when } from "./control.ts";
import { bind, type Kind, type Term, type Unit } from "./terms.ts";

/** A statement: given what comes after it, the whole. */
type Step = (after: (value: Term<never>) => Term<Unit>) => Term<Unit>;

/** Statements that have a value. */
export type Steps<T> = Generator<Step, T, Term<never>>;

/** A term that evaluates to what the statements return, once they are passed. */
export function procedure(statements: () => Steps<Term<Unit>>): Term<Unit> {
  return {
    write(to, depth) {
      // A generator runs once, and a term may be written twice.
      const running = statements();
      const next = (value: Term<never>): Term<Unit> => {
        const result = running.next(value);
        return result.done ? result.value : result.value(next);
      };
      next(unit as Term<never>).write(to, depth);
    },
  };
}

/** A term that evaluates to unit once the statements are passed. */
export const passing = (statements: () => Steps<void>): Term<Unit> =>
  procedure(function* () {
    yield* statements();
    return unit;
  });

/** Evaluates a value once, here. */
export function* local<A extends Kind>(value: Term<A>): Steps<Term<A>> {
  return yield (after) => bind(value, (bound) => after(bound as Term<never>));
}

/** Goes on only if a condition holds. */
export function* guard(condition: Term<"boolean">, otherwise: Term<Unit>): Steps<void> {
  yield (after) => when(condition, after(unit as Term<never>), otherwise);
}
