/** The escrow contract Web3ChainV2. */
import {
  bData,
  equalsByteString,
  equalsData,
  lengthOfByteString,
  lessThanEqualsInteger,
  subtractInteger,
  unBData,
  unIData,
  unListData,
  unMapData,
} from "../plutus/builtins.ts";
import { FALSE, integer, TRUE } from "../plutus/constants.ts";
import {
  all,
  every,
  filter,
  idleOver,
  map,
  not,
  some,
  when,
  withLater,
} from "../plutus/control.ts";
import { at, fieldAt, hasIndex, isList, isMap, type Shape } from "../plutus/data.ts";
import { local, procedure, type Steps } from "../plutus/procedure.ts";
import { type Bytes, type Data, define, type List, lambda, type Term } from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { chooseAction } from "./actions.ts";
import { type Continuing, goOn } from "./continuing.ts";
import { hasResult, isDatumOf, openWhole, positionOf, stateData, V2_LAYOUT } from "./datum.ts";
import { isAgreed, isSignature, isValue } from "./settlement.ts";
import { datumOf, hasDatum, hasNoScript, openSpend, type Spend, startsAt } from "./spend.ts";
import * as step from "./steps.ts";
import {
  addValues,
  coinOf,
  coins,
  covers,
  INLINE,
  OUTPUT,
  paymentsTo,
  sorted,
  sumOf,
} from "./values.ts";

/** A spend, and the reference signatures of the escrows at the contract after it. */
type V2 = Spend<typeof V2_LAYOUT> & { continuing: Term<List<Data>> };

const isDatum = isDatumOf(V2_LAYOUT);
const MIN_SIGNATURE_BYTES = 16n;

/** A function of the parameters, in the order of `encodeEscrowParameters`, and of the script context. */
export const ESCROW_V2 = lambda((required: Term<Data>) =>
  lambda((administrators: Term<Data>) =>
    lambda((cooldownPeriod: Term<Data>) =>
      lambda((context: Term<Data>) =>
        procedure(function* () {
          const spend = yield* openV2(context);
          const continuing: Continuing<typeof V2_LAYOUT> = {
            cooldownPeriod: unIData(cooldownPeriod),
            isOurs: ({ datum }, output) =>
              when(
                equalsByteString(unBData(referenceSignature(output)), datum.referenceSignature),
                idleOver(datumOf(output), idleOver(datumOf(output), TRUE)),
                FALSE,
              ),
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

/** Several escrows may move in one transaction if their signatures differ: rules 6 to 8. */
function* openV2(context: Term<Data>): Steps<V2> {
  const opened = yield* openSpend(V2_LAYOUT, context);
  const atContract = yield* local(opened.atContract);
  const spend = { ...opened, atContract };
  const { spentAtContract, datum } = spend;
  const continuing = yield* local(map(atContract, signatureIn));
  const readable = filter(spentAtContract, (output) => hasDatum(output, isDatum));
  yield* demand(
    "distinctSignatures",
    all(areDistinct(map(readable, referenceSignature)), areDistinct(continuing)),
  );
  yield* demand(
    "payableDatum",
    all(
      lessThanEqualsInteger(integer(0n), datum.collateralReturn),
      isLong(datum.referenceSignature),
    ),
  );
  return { ...spend, continuing };
}

/** The reference signature of an output at the contract. Demands a complete datum and no script. */
const signatureIn = (output: Term<Data>): Term<Data> =>
  procedure(function* () {
    yield* demand("noReferenceScript", hasNoScript(output));
    yield* demand("readableOutputs", hasIndex(fieldAt(output, OUTPUT.datum), INLINE));
    const { fields, isWhole } = yield* openWhole(V2_LAYOUT, datumOf(output));
    yield* demand("readableOutputs", isWhole);
    yield* demand("payableDatum", isLong(fields.referenceSignature));
    return bData(fields.referenceSignature);
  });

/** Whether a reference signature has enough bytes. */
const isLong = define((signature: Term<Bytes>) =>
  lessThanEqualsInteger(integer(MIN_SIGNATURE_BYTES), lengthOfByteString(signature)),
);

/** The reference signature in an output's datum. */
const referenceSignature = (output: Term<Data>) =>
  fieldAt(datumOf(output), positionOf(V2_LAYOUT, "referenceSignature"));

const areDistinct = define((list: Term<List<Data>>) =>
  withLater(list, (item, later) => not(some(later, (other) => equalsData(other, item)))),
);

/** Demands that no output at the contract continues the escrow. */
const hasEnded = ({ continuing, datum }: V2): Steps<void> =>
  demand(
    "ended",
    not(
      some(continuing, (signature) =>
        equalsByteString(unBData(signature), datum.referenceSignature),
      ),
    ),
  );

const holdsCollateral = ({ own, datum }: V2): Steps<void> =>
  demand("collateralLocked", lessThanEqualsInteger(datum.collateralReturn, coinOf(own.value)));

function* submitResult(spend: V2, continuing: Continuing<typeof V2_LAYOUT>): Steps<void> {
  yield* holdsCollateral(spend);
  yield* step.submitResult(spend, continuing, BEFORE_AUTHORIZATION);
}

/** The buyer allows the seller to withdraw at once. This is final. */
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

/** The seller's return address, if there is one, gets everything but the collateral. */
function* withdraw(spend: V2): Steps<void> {
  const { datum, outputs, own } = spend;
  yield* step.mayWithdraw(spend, "WithdrawAuthorized");
  yield* hasEnded(spend);
  yield* holdsCollateral(spend);
  yield* step.returnsCollateral(spend, orElse(datum.buyerReturnAddress, datum.buyer));
  const { sellerReturnAddress, collateralReturn } = datum;
  yield* demand(
    "returnAddress",
    when(
      isSome(sellerReturnAddress),
      covers(
        sumOf(paymentsTo(outputs, fieldAt(sellerReturnAddress, 0), own.reference)),
        addValues(unMapData(own.value), coins(subtractInteger(integer(0n), collateralReturn))),
      ),
      TRUE,
    ),
  );
}

/** The buyer's return address, if there is one, gets the whole refund. */
function* withdrawRefund(spend: V2): Steps<void> {
  const { datum, outputs, own } = spend;
  yield* step.mayWithdrawRefund(spend, "RefundAuthorized");
  yield* hasEnded(spend);
  const { buyerReturnAddress } = datum;
  yield* demand(
    "returnAddress",
    when(
      isSome(buyerReturnAddress),
      covers(
        sumOf(paymentsTo(outputs, fieldAt(buyerReturnAddress, 0), own.reference)),
        unMapData(own.value),
      ),
      TRUE,
    ),
  );
}

/** Anybody may submit a settlement that the administrators signed. The rest is free. */
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
  yield* demand("settledValues", all(isValue(toBuyer), isValue(toSeller)));
  const dueToBuyer = yield* local(sorted(unMapData(toBuyer)));
  const dueToSeller = yield* local(sorted(unMapData(toSeller)));
  yield* isAgreed({ own: own.reference, toBuyer, toSeller, signatures }, administrators, required);
  const paidTo = (option: Term<Data>, party: Term<Data>) =>
    sumOf(paymentsTo(outputs, orElse(option, party), own.reference));
  yield* demand(
    "settlementPaid",
    all(
      covers(paidTo(datum.buyerReturnAddress, datum.buyer), dueToBuyer),
      covers(paidTo(datum.sellerReturnAddress, datum.seller), dueToSeller),
    ),
  );
}
