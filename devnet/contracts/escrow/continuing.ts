/** What an action that leaves the escrow at the contract must leave there: rules 15 to 21. */
import {
  addInteger,
  equalsData,
  equalsInteger,
  lessThanEqualsInteger,
  unIData,
} from "../plutus/builtins.ts";
import { integer } from "../plutus/constants.ts";
import { all, find, not } from "../plutus/control.ts";
import { fieldAt } from "../plutus/data.ts";
import { local, type Steps } from "../plutus/procedure.ts";
import type { Bool, Data, Int, Term } from "../plutus/terms.ts";
import { demand, refuse } from "../rules.ts";
import { type DatumLayout, hasResult, openDatum, withChanges } from "./datum.ts";
import { datumOf, type Spend } from "./spend.ts";
import { isKept, OUTPUT } from "./values.ts";

export interface Continuation {
  /** Whose cooldown begins; the other party's ends. */
  by: "seller" | "buyer";
  /** The state afterwards. */
  state: Term<Data>;
  /** What becomes of the result. */
  result: "kept" | "cleared" | "given";
}

/** How a generation's contract knows the output in which an escrow goes on. */
export interface Continuing<L extends DatumLayout> {
  /** Milliseconds from the end of the transaction's validity. */
  cooldownPeriod: Term<Int>;
  /** Of an output at the contract's exact address. */
  isOurs(spend: Spend<L>, output: Term<Data>): Term<Bool>;
}

export function* goOn<L extends DatumLayout>(
  spend: Spend<L>,
  { cooldownPeriod, isOurs }: Continuing<L>,
  { by, state, result }: Continuation,
): Steps<void> {
  const { layout, datum: before, own, atContract, end } = spend;
  const output = yield* local(
    find(
      atContract,
      (candidate) =>
        all(equalsData(fieldAt(candidate, OUTPUT.address), own.address), isOurs(spend, candidate)),
      refuse("continuingOutput"),
    ),
  );
  yield* demand("valueKept", isKept(own.value, fieldAt(output, OUTPUT.value)));

  const datum = yield* local(datumOf(output));
  const after = yield* openDatum(layout, datum);
  const { sellerCooldownTime, buyerCooldownTime, resultHash } = after;
  const [ownCooldown, otherCooldown] =
    by === "seller"
      ? [sellerCooldownTime, buyerCooldownTime]
      : [buyerCooldownTime, sellerCooldownTime];
  yield* demand(
    "ownCooldown",
    lessThanEqualsInteger(addInteger(end, cooldownPeriod), unIData(ownCooldown)),
  );
  yield* demand("otherCooldown", equalsInteger(unIData(otherCooldown), integer(0n)));
  yield* demand("nextState", equalsData(after.state, state));
  const isRight = {
    kept: equalsData(resultHash, before.resultHash),
    cleared: not(hasResult(after)),
    given: hasResult(after),
  };
  yield* demand("nextResult", isRight[result]);
  const changes = { sellerCooldownTime, buyerCooldownTime, resultHash, state };
  yield* demand("fieldsKept", equalsData(datum, withChanges(layout, before, changes)));
}
