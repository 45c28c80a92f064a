/** The actions that both generations have in common: rules 9 to 13 and 23. */
import { lessThanEqualsInteger, lessThanInteger } from "../plutus/builtins.ts";
import { integer } from "../plutus/constants.ts";
import { all, any, not, when } from "../plutus/control.ts";
import type { Steps } from "../plutus/procedure.ts";
import type { Bool, Data, Term } from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { type Continuation, type Continuing, goOn } from "./continuing.ts";
import { type DatumLayout, hasResult, isState, type State, stateData } from "./datum.ts";
import { endsBefore, isSignedBy, type Spend, startsAt } from "./spend.ts";
import { coinOfSum, paymentsTo, sumOf } from "./values.ts";

type Common = Spend<DatumLayout>;

/** Demands the signer and one of the states; null allows any state. */
export function* mayAct(
  spend: Common,
  by: Continuation["by"],
  from: readonly State[] | null,
): Steps<void> {
  yield* demand("signer", isSignedBy(spend, spend.datum[by]));
  if (from) yield* demand("state", isState(spend.datum, ...from));
}

/** The seller submits a result, or replaces it. */
export function* submitResult<L extends DatumLayout>(
  spend: Spend<L>,
  continuing: Continuing<L>,
  from: readonly State[] | null,
): Steps<void> {
  const { datum } = spend;
  yield* mayAct(spend, "seller", from);
  yield* demand("notBefore", startsAt(spend, datum.sellerCooldownTime));
  yield* demand(
    "notAfter",
    any(
      endsBefore(spend, datum.submitResultTime),
      all(hasResult(datum), endsBefore(spend, datum.externalDisputeUnlockTime)),
    ),
  );
  const state = when(
    isState(datum, "FundsLocked", "ResultSubmitted"),
    stateData("ResultSubmitted"),
    stateData("Disputed"),
  );
  yield* goOn(spend, continuing, { by: "seller", state, result: "given" });
}

/** The buyer asks for the money back. */
export function* requestRefund<L extends DatumLayout>(
  spend: Spend<L>,
  continuing: Continuing<L>,
): Steps<void> {
  const { datum } = spend;
  yield* mayAct(spend, "buyer", ["FundsLocked", "ResultSubmitted", "Disputed"]);
  yield* demand("notBefore", startsAt(spend, datum.buyerCooldownTime));
  yield* demand("notAfter", endsBefore(spend, datum.unlockTime));
  const state = when(hasResult(datum), stateData("Disputed"), stateData("RefundRequested"));
  yield* goOn(spend, continuing, { by: "buyer", state, result: "kept" });
}

/** The seller agrees to a refund, and withdraws the result. */
export function* authorizeRefund<L extends DatumLayout>(
  spend: Spend<L>,
  continuing: Continuing<L>,
  from: readonly State[],
  to: State,
): Steps<void> {
  yield* mayAct(spend, "seller", from);
  yield* demand("notBefore", startsAt(spend, spend.datum.sellerCooldownTime));
  yield* goOn(spend, continuing, { by: "seller", state: stateData(to), result: "cleared" });
}

/**
 * The seller takes the money: after the unlock time, unless the buyer has authorized it.
 *
 * @param authorized - the states in which it has
 */
export function* mayWithdraw(spend: Common, ...authorized: readonly State[]): Steps<void> {
  const { datum } = spend;
  yield* mayAct(spend, "seller", ["ResultSubmitted", ...authorized]);
  yield* demand("result", hasResult(datum));
  yield* demand("notBefore", any(isState(datum, ...authorized), startsAt(spend, datum.unlockTime)));
}

/**
 * The buyer takes the money back: after the time for results, unless the seller has authorized it.
 *
 * @param authorized - the states in which it has
 */
export function* mayWithdrawRefund(spend: Common, ...authorized: readonly State[]): Steps<void> {
  const { datum } = spend;
  yield* mayAct(spend, "buyer", ["FundsLocked", "RefundRequested", ...authorized]);
  yield* demand("result", not(hasResult(datum)));
  yield* demand(
    "notBefore",
    any(isState(datum, ...authorized), startsAt(spend, datum.submitResultTime)),
  );
}

/** Demands what a settlement needs, except the administrators' agreement. */
export function* maySettle(spend: Common): Steps<void> {
  const { datum } = spend;
  yield* demand("state", isState(datum, "Disputed"));
  yield* demand("result", hasResult(datum));
  yield* demand("notBefore", startsAt(spend, datum.externalDisputeUnlockTime));
}

/** Demands that the collateral returns to the buyer. */
export function* returnsCollateral(spend: Common, buyer: Term<Data>): Steps<void> {
  const { datum, outputs, own } = spend;
  const returned = sumOf(paymentsTo(outputs, buyer, own.reference));
  yield* demand(
    "collateralReturned",
    lessThanEqualsInteger(datum.collateralReturn, coinOfSum(returned)),
  );
}

/** Whether at least as many administrators agree as are required, and that is a lawful number. */
export const isEnough = (agreeing: Term<"integer">, required: Term<"integer">): Term<Bool> =>
  all(lessThanInteger(integer(0n), required), lessThanEqualsInteger(required, agreeing));
