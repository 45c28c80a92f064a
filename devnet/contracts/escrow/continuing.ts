/** The output in which an escrow continues: rules 15 to 21. */
import {
  addInteger,
  equalsByteString,
  equalsData,
  equalsInteger,
  lessThanEqualsInteger,
} from "../plutus/builtins.ts";
import { integer } from "../plutus/constants.ts";
import { find, not } from "../plutus/control.ts";
import { fieldAt } from "../plutus/data.ts";
import { local, type Steps } from "../plutus/procedure.ts";
import type { Bool, Data, Int, Term } from "../plutus/terms.ts";
import { demand, refuse } from "../rules.ts";
import { areSame, type DatumLayout, hasResult, openDatum } from "./datum.ts";
import { datumOf, type Spend } from "./spend.ts";
import { isKept, OUTPUT } from "./values.ts";

export interface Continuation {
  /** Whose cooldown begins; the other party's ends. */
  by: "seller" | "buyer";
  /** The state afterwards. */
  state: Term<Data>;
  /** What the action does with the result. */
  result: "kept" | "cleared" | "given";
}

/** How a generation's contract finds the output in which an escrow continues. */
export interface Continuing<L extends DatumLayout> {
  /** Milliseconds from the end of the transaction's validity. */
  cooldownPeriod: Term<Int>;
  /** Whether an output at the contract continues the escrow. */
  isOurs(spend: Spend<L>, output: Term<Data>): Term<Bool>;
}

export function* goOn<L extends DatumLayout>(
  spend: Spend<L>,
  { cooldownPeriod, isOurs }: Continuing<L>,
  { by, state, result }: Continuation,
): Steps<void> {
  const { layout, datum: before, own, atContract, end } = spend;
  const output = yield* local(
    find(atContract, (candidate) => isOurs(spend, candidate), refuse("continuingOutput")),
  );
  yield* demand("valueKept", isKept(own.value, fieldAt(output, OUTPUT.value)));

  const after = yield* openDatum(layout, datumOf(output));
  const { sellerCooldownTime, buyerCooldownTime, resultHash } = after;
  const [ownCooldown, otherCooldown] =
    by === "seller"
      ? [sellerCooldownTime, buyerCooldownTime]
      : [buyerCooldownTime, sellerCooldownTime];
  yield* demand("ownCooldown", lessThanEqualsInteger(addInteger(end, cooldownPeriod), ownCooldown));
  yield* demand("otherCooldown", equalsInteger(otherCooldown, integer(0n)));
  yield* demand("nextState", equalsData(after.state, state));
  const isRight = {
    kept: equalsByteString(resultHash, before.resultHash),
    cleared: not(hasResult(after)),
    given: hasResult(after),
  };
  yield* demand("nextResult", isRight[result]);
  yield* demand("fieldsKept", areSame(layout, before, after, CHANGING));
}

/** What an action may change. */
const CHANGING = ["sellerCooldownTime", "buyerCooldownTime", "resultHash", "state"] as const;
