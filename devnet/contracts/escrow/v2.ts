/** The escrow contract Web3ChainV2. */
import {
  equalsData,
  lengthOfByteString,
  lessThanEqualsInteger,
  subtractInteger,
  unBData,
  unIData,
  unListData,
} from "../plutus/builtins.ts";
import { integer, TRUE } from "../plutus/constants.ts";
import { all, every, filter, map, not, some, when, withLater } from "../plutus/control.ts";
import { at, fieldAt, hasIndex, isConstr, isList, isMap, type Shape } from "../plutus/data.ts";
import { local, procedure, type Steps } from "../plutus/procedure.ts";
import { type Data, define, type List, lambda, type Term } from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { chooseAction } from "./actions.ts";
import { type Continuing, goOn } from "./continuing.ts";
import { hasResult, isDatumOf, positionOf, stateData, V2_LAYOUT } from "./datum.ts";
import { isAgreed, isSignature } from "./settlement.ts";
import { datumOf, hasDatum, openSpend, type Spend, startsAt } from "./spend.ts";
import * as step from "./steps.ts";
import { coinOf, covers, coversAll, isNative, paymentsTo } from "./values.ts";

/** A spend, and the reference signatures of the escrows at the contract after it. */
type V2 = Spend<typeof V2_LAYOUT> & { continuing: Term<List<Data>> };

const isDatum = isDatumOf(V2_LAYOUT);
const MIN_SIGNATURE_BYTES = 16n;

/** A function of the parameters, in the order of `escrowParameters`, and of the script context. */
export const ESCROW_V2 = lambda((required: Term<Data>) =>
  lambda((administrators: Term<Data>) =>
    lambda((cooldownPeriod: Term<Data>) =>
      lambda((context: Term<Data>) =>
        procedure(function* () {
          const spend = yield* openV2(context);
          const continuing: Continuing<typeof V2_LAYOUT> = {
            cooldownPeriod: unIData(cooldownPeriod),
            isOurs: ({ datum }, output) =>
              equalsData(referenceSignature(output), datum.referenceSignature),
          };
          return chooseAction(spend.redeemer, [
            { run: () => withdraw(spend) },
            { run: () => step.requestRefund(spend, continuing) },
            { run: () => authorizeWithdrawal(spend, continuing) },
            { run: () => withdrawRefund(spend) },
            {
              fields: [isMap, isMap, areSignatures],
              run: () => withdrawDisputed(spend, unIData(required), unListData(administrators)),
            },
            { run: () => submitResult(spend, continuing) },
            {
              run: () =>
                step.authorizeRefund(spend, continuing, BEFORE_AUTHORIZATION, "RefundAuthorized"),
            },
          ]);
        }),
      ),
    ),
  ),
);

const BEFORE_AUTHORIZATION = [
  "FundsLocked",
  "ResultSubmitted",
  "RefundRequested",
  "Disputed",
] as const;

const areSignatures: Shape = (of, then) =>
  isList(
    of,
    all(
      every(unListData(of), (each) => isSignature(each)),
      then ?? TRUE,
    ),
  );

/** Several escrows may move in one transaction if each can be told from the others: rules 6 to 8. */
function* openV2(context: Term<Data>): Steps<V2> {
  const spend = yield* openSpend(V2_LAYOUT, isDatum, context);
  const { atContract, spentAtContract, datum } = spend;
  yield* demand(
    "readableOutputs",
    every(atContract, (output) => hasDatum(output, isDatum)),
  );
  // Of one that is spent, its own run demands the rest of its datum.
  const readable = filter(spentAtContract, (output) => hasDatum(output, isConstr));
  const continuing = yield* local(signaturesOf(atContract));
  yield* demand(
    "distinctSignatures",
    all(areDistinct(signaturesOf(readable)), areDistinct(continuing)),
  );
  yield* demand(
    "payableDatum",
    all(
      lessThanEqualsInteger(integer(0n), unIData(datum.collateralReturn)),
      lessThanEqualsInteger(
        integer(MIN_SIGNATURE_BYTES),
        lengthOfByteString(unBData(datum.referenceSignature)),
      ),
    ),
  );
  return { ...spend, continuing };
}

/** The reference signature in an output's datum. */
const referenceSignature = (output: Term<Data>) =>
  fieldAt(datumOf(output), positionOf(V2_LAYOUT, "referenceSignature"));

const signaturesOf = define((outputs: Term<List<Data>>) => map(outputs, referenceSignature));

const areDistinct = define((list: Term<List<Data>>) =>
  withLater(list, (item, later) => not(some(later, (other) => equalsData(other, item)))),
);

/** Nothing of an escrow that ends stays at the contract. */
const hasEnded = ({ continuing, datum }: V2): Steps<void> =>
  demand(
    "ended",
    not(some(continuing, (signature) => equalsData(signature, datum.referenceSignature))),
  );

const holdsCollateral = ({ own, datum }: V2): Steps<void> =>
  demand(
    "collateralLocked",
    lessThanEqualsInteger(unIData(datum.collateralReturn), coinOf(own.value)),
  );

function* submitResult(spend: V2, continuing: Continuing<typeof V2_LAYOUT>): Steps<void> {
  yield* holdsCollateral(spend);
  yield* step.submitResult(spend, continuing);
}

/** The buyer lets the seller withdraw at once, for good. */
function* authorizeWithdrawal(spend: V2, continuing: Continuing<typeof V2_LAYOUT>): Steps<void> {
  yield* step.mayAct(spend, "buyer", ["Disputed"]);
  yield* demand("result", hasResult(spend.datum));
  yield* demand("notBefore", startsAt(spend, spend.datum.buyerCooldownTime));
  const state = stateData("WithdrawAuthorized");
  yield* goOn(spend, continuing, { by: "buyer", state, result: "kept" });
}

/** The address that an option holds, or else another. */
const orElse = define((option: Term<Data>, otherwise: Term<Data>) =>
  when(isSome(option), fieldAt(option, 0), otherwise),
);
const isSome = (option: Term<Data>) => hasIndex(option, 0n);

/** The seller's part is free unless a return address binds it: then all but the collateral. */
function* withdraw(spend: V2): Steps<void> {
  const { datum, outputs, own } = spend;
  yield* step.mayWithdraw(spend);
  yield* hasEnded(spend);
  yield* holdsCollateral(spend);
  yield* step.returnsCollateral(spend, orElse(datum.buyerReturnAddress, datum.buyer));
  const { sellerReturnAddress, collateralReturn } = datum;
  yield* demand(
    "returnAddress",
    when(
      isSome(sellerReturnAddress),
      covers(
        paymentsTo(outputs, fieldAt(sellerReturnAddress, 0), own.reference),
        own.value,
        (policy, quantity) =>
          when(isNative(policy), subtractInteger(quantity, unIData(collateralReturn)), quantity),
      ),
      TRUE,
    ),
  );
}

/** The refund is free unless a return address binds it: then all of it. */
function* withdrawRefund(spend: V2): Steps<void> {
  const { datum, outputs, own } = spend;
  yield* step.mayWithdrawRefund(spend);
  yield* hasEnded(spend);
  const { buyerReturnAddress } = datum;
  yield* demand(
    "returnAddress",
    when(
      isSome(buyerReturnAddress),
      coversAll(paymentsTo(outputs, fieldAt(buyerReturnAddress, 0), own.reference), own.value),
      TRUE,
    ),
  );
}

/** Anybody may submit what the administrators signed; what is left over is free. */
function* withdrawDisputed(
  spend: V2,
  required: Term<"integer">,
  administrators: Term<List<Data>>,
): Steps<void> {
  const { datum, outputs, own, redeemer } = spend;
  yield* step.maySettle(spend);
  yield* hasEnded(spend);
  const toBuyer = yield* local(at(redeemer.fields, 0));
  const toSeller = yield* local(at(redeemer.fields, 1));
  const signatures = yield* local(unListData(at(redeemer.fields, 2)));
  yield* isAgreed({ own: own.reference, toBuyer, toSeller, signatures }, administrators, required);
  const isPaid = (option: Term<Data>, party: Term<Data>, value: Term<Data>) =>
    coversAll(paymentsTo(outputs, orElse(option, party), own.reference), value);
  yield* demand(
    "settlementPaid",
    all(
      isPaid(datum.buyerReturnAddress, datum.buyer, toBuyer),
      isPaid(datum.sellerReturnAddress, datum.seller, toSeller),
    ),
  );
}
