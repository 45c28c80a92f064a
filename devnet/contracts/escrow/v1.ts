/** The escrow contract Web3ChainV1. */
import {
  divideInteger,
  equalsData,
  multiplyInteger,
  nullList,
  tailList,
  unIData,
  unListData,
} from "../plutus/builtins.ts";
import { integer } from "../plutus/constants.ts";
import { any, some, sum, when } from "../plutus/control.ts";
import { procedure, type Steps } from "../plutus/procedure.ts";
import { type Data, lambda, type Term } from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { chooseAction } from "./actions.ts";
import { type Continuing, goOn } from "./continuing.ts";
import { hasResult, isDatumOf, stateData, V1_LAYOUT } from "./datum.ts";
import { hasDatum, openSpend, type Spend, startsAt } from "./spend.ts";
import * as step from "./steps.ts";
import { covers, paymentsTo } from "./values.ts";

type V1 = Spend<typeof V1_LAYOUT>;

const isDatum = isDatumOf(V1_LAYOUT);

/** A function of the parameters, in the order of `escrowParameters`, and of the script context. */
export const ESCROW_V1 = lambda((required: Term<Data>) =>
  lambda((administrators: Term<Data>) =>
    lambda((feeAddress: Term<Data>) =>
      lambda((feePermille: Term<Data>) =>
        lambda((cooldownPeriod: Term<Data>) =>
          lambda((context: Term<Data>) =>
            procedure(function* () {
              const spend = yield* openSpend(V1_LAYOUT, isDatum, context);
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
                { run: () => step.submitResult(spend, continuing) },
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

/** One escrow a transaction, and at most one output at the contract. */
function* isAlone({ spentAtContract, atContract }: V1): Steps<void> {
  yield* demand("alone", nullList(tailList(spentAtContract)));
  yield* demand("alone", any(nullList(atContract), nullList(tailList(atContract))));
}

/** The buyer is content again. */
function* cancelRefund(spend: V1, continuing: Continuing<typeof V1_LAYOUT>): Steps<void> {
  const { datum } = spend;
  yield* step.mayAct(spend, "buyer", ["RefundRequested", "Disputed"]);
  yield* demand("notBefore", startsAt(spend, datum.buyerCooldownTime));
  const state = when(hasResult(datum), stateData("ResultSubmitted"), stateData("FundsLocked"));
  yield* goOn(spend, continuing, { by: "buyer", state, result: "kept" });
}

/** The fee is counted on everything that was locked, of each asset, and rounded down. */
function* withdraw(spend: V1, feeAddress: Term<Data>, feePermille: Term<Data>): Steps<void> {
  const { datum, outputs, own } = spend;
  yield* step.mayWithdraw(spend);
  yield* demand(
    "fee",
    covers(paymentsTo(outputs, feeAddress, own.reference), own.value, (_, quantity) =>
      divideInteger(multiplyInteger(quantity, unIData(feePermille)), integer(1000n)),
    ),
  );
  yield* step.returnsCollateral(spend, datum.buyer);
}

/** The administrators sign the transaction, and it pays to whom it will. */
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
  yield* demand("administrators", step.isEnough(agreeing, unIData(required)));
}
