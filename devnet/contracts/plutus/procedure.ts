/**
 * Statements of a generator function: each `yield*` binds a value or demands a condition, in the order in which
 * the code is read. Without them, every statement would be a callback inside the one before.
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

/** A statement: turns the term after it into the whole term. */
type Step = <R extends Kind>(after: (value: Term<never>) => Term<R>) => Term<R>;

/** Statements that have a value. */
export type Steps<T> = Generator<Step, T, Term<never>>;

/** Evaluates statements, and then the term that they return. */
export function procedure<R extends Kind>(statements: () => Steps<Term<R>>): Term<R> {
  return {
    write(to, depth) {
      // A generator runs once, and a term may be written twice.
      const running = statements();
      const next = (value: Term<never>): Term<R> => {
        const result = running.next(value);
        return result.done ? result.value : result.value(next);
      };
      next(unit as Term<never>).write(to, depth);
    },
  };
}

/** Evaluates statements, and then to unit. */
export const passing = (statements: () => Steps<void>): Term<Unit> =>
  procedure(function* () {
    yield* statements();
    return unit;
  });

/** Evaluates a value once, here. */
export function* local<A extends Kind>(value: Term<A>): Steps<Term<A>> {
  return yield (after) => bind(value, (bound) => after(bound as Term<never>));
}

/** Continues only if a condition holds. */
export function* guard(condition: Term<"boolean">, otherwise: Term<never>): Steps<void> {
  yield (after) => when(condition, after(unit as Term<never>), otherwise);
}
