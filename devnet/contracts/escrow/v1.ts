/** The escrow contract Web3ChainV1. */
import {
  divideInteger,
  equalsData,
  lessThanEqualsInteger,
  multiplyInteger,
  nullList,
  tailList,
  unIData,
  unListData,
  unMapData,
} from "../plutus/builtins.ts";
import { integer } from "../plutus/constants.ts";
import { any, every, idle, idleOver, not, some, sum, when } from "../plutus/control.ts";
import { local, procedure, type Steps } from "../plutus/procedure.ts";
import { type Data, lambda, type Term } from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { chooseAction } from "./actions.ts";
import { type Continuing, goOn } from "./continuing.ts";
import { hasResult, isDatumOf, stateData, V1_LAYOUT } from "./datum.ts";
import { hasDatum, hasNoScript, isAt, openSpend, type Spend, startsAt } from "./spend.ts";
import * as step from "./steps.ts";
import { everyAsset, paymentsTo, quantityOf, sumOf } from "./values.ts";

type V1 = Spend<typeof V1_LAYOUT>;

const isDatum = isDatumOf(V1_LAYOUT);

/** A function of the parameters, in the order of `encodeEscrowParameters`, and of the script context. */
export const ESCROW_V1 = lambda((required: Term<Data>) =>
  lambda((administrators: Term<Data>) =>
    lambda((feeAddress: Term<Data>) =>
      lambda((feePermille: Term<Data>) =>
        lambda((cooldownPeriod: Term<Data>) =>
          lambda((context: Term<Data>) =>
            procedure(function* () {
              const spend = yield* openSpend(V1_LAYOUT, context);
              yield* isAlone(spend);
              const continuing: Continuing<typeof V1_LAYOUT> = {
                cooldownPeriod: unIData(cooldownPeriod),
                isOurs: (_, output) => hasDatum(output, isDatum),
              };
              return chooseAction(spend.redeemer, [
                { run: () => withdraw(spend, feeAddress, feePermille) },
                { run: () => step.requestRefund(spend, continuing) },
                { run: () => cancelRefund(spend, continuing) },
                { run: () => step.mayWithdrawRefund(spend) },
                { run: () => withdrawDisputed(spend, required, administrators) },
                { run: () => step.submitResult(spend, continuing, null) },
                {
                  run: () =>
                    step.authorizeRefund(spend, continuing, ["Disputed"], "RefundRequested"),
                },
              ]);
            }),
          ),
        ),
      ),
    ),
  ),
);

/** One escrow a transaction, and at most one output at the contract, without a script. */
function* isAlone(spend: V1): Steps<void> {
  const { spentAtContract, outputs } = spend;
  yield* demand("alone", nullList(tailList(spentAtContract)));
  const atContract = yield* local(spend.atContract);
  yield* demand("alone", any(nullList(atContract), nullList(tailList(atContract))));
  yield* demand(
    "noReferenceScript",
    every(outputs, (output) => any(not(isAt(output, spend)), hasNoScript(output))),
  );
}

/** The buyer takes back the request for a refund. */
function* cancelRefund(spend: V1, continuing: Continuing<typeof V1_LAYOUT>): Steps<void> {
  const { datum } = spend;
  yield* step.mayAct(spend, "buyer", ["RefundRequested", "Disputed"]);
  yield* demand("notBefore", startsAt(spend, datum.buyerCooldownTime));
  const state = when(hasResult(datum), stateData("ResultSubmitted"), stateData("FundsLocked"));
  yield* goOn(spend, continuing, { by: "buyer", state, result: "kept" });
}

/** The fee is a part of each locked asset, rounded down. */
function* withdraw(spend: V1, feeAddress: Term<Data>, feePermille: Term<Data>): Steps<void> {
  const { datum, outputs, own } = spend;
  yield* step.mayWithdraw(spend);
  const paid = yield* local(sumOf(paymentsTo(outputs, feeAddress, own.reference)));
  yield* demand(
    "fee",
    idleOver(
      own.value,
      everyAsset(unMapData(own.value), (policy, name, quantity) =>
        idle(
          6,
          lessThanEqualsInteger(
            divideInteger(multiplyInteger(quantity, unIData(feePermille)), integer(1000n)),
            quantityOf(paid, policy, name),
          ),
        ),
      ),
    ),
  );
  yield* step.returnsCollateral(spend, datum.buyer);
}

/** The administrators sign the transaction. Its payments are free. */
function* withdrawDisputed(
  spend: V1,
  required: Term<Data>,
  administrators: Term<Data>,
): Steps<void> {
  yield* step.maySettle(spend);
  const isSigner = (keyHash: Term<Data>) =>
    some(spend.signatories, (signer) => equalsData(signer, keyHash));
  const agreeing = sum(unListData(administrators), (keyHash) =>
    when(isSigner(keyHash), integer(1n), integer(0n)),
  );
  yield* demand("administrators", idle(10, step.isEnough(agreeing, unIData(required))));
}
