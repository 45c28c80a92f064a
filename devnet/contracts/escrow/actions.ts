/** Which action a redeemer names: rule 2. */
import { equalsInteger } from "../plutus/builtins.ts";
import { integer } from "../plutus/constants.ts";
import { when } from "../plutus/control.ts";
import { areFields, type Shape } from "../plutus/data.ts";
import { passing, type Steps } from "../plutus/procedure.ts";
import type { Term, Unit } from "../plutus/terms.ts";
import { demand, refuse } from "../rules.ts";
import type { DatumLayout } from "./datum.ts";
import type { Spend } from "./spend.ts";

/** An action, at the position that is its redeemer's constructor number. */
export interface Action {
  /** What the fields of the redeemer must be. Default: it has none. */
  fields?: readonly Shape[];
  run(): Steps<void>;
}

export function chooseAction(
  { number, fields }: Spend<DatumLayout>["redeemer"],
  actions: readonly Action[],
): Term<Unit> {
  const runOf = ({ fields: shapes = [], run }: Action) =>
    passing(function* () {
      yield* demand("redeemer", areFields(fields, shapes));
      yield* run();
    });
  return actions.reduceRight<Term<Unit>>(
    (otherwise, action, n) =>
      when(equalsInteger(number, integer(BigInt(n))), runOf(action), otherwise),
    refuse("redeemer"),
  );
}
