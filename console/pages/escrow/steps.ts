/**
 * The steps of an escrow that this version and state allow, by the table that the service itself takes
 * them by. The API judges anew when one is asked for.
 */

import type { Step } from "../../../src/escrow/model/intent.ts";
import { ruleOf, type TimeBound, transitionOf } from "../../../src/escrow/model/step-rules.ts";
import { toEpochMs } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";
import type { Action } from "../../ui/resource.ts";
import type { EscrowRow, Side } from "./sides.ts";

/** A step is refused when its transaction could come too late. */
const DEADLINE_MARGIN_MS = 2 * 60_000;

type StepAction = Action & {
  /** What it is on the chain; the first that the version has. */
  steps: readonly Step[];
};

const ESCROW_ACTION = {
  fromRow: { blockchainIdentifier: "blockchainIdentifier" },
  hasNetwork: true,
} as const;

const createStepAction = (
  path: string,
  label: string,
  steps: readonly Step[],
  about: string,
): StepAction => ({
  ...ESCROW_ACTION,
  name: path.split("/").at(-1) ?? path,
  label,
  description: about,
  method: "POST",
  path,
  outcome: "requested",
  needs: "+PAY",
  steps,
});

const STEP_ACTIONS: Record<Side, readonly StepAction[]> = {
  payment: [
    {
      ...createStepAction(
        "/payment/submit-result",
        "Submit result",
        ["SubmitResult"],
        "Writes the result's hash to the chain. Once there is a result, another hash replaces it.",
      ),
      fields: [
        {
          name: "submitResultHash",
          label: "Result hash",
          isRequired: true,
          hint: "32 bytes in hex.",
        },
      ],
    },
    {
      ...createStepAction(
        "/payment/authorize-refund",
        "Authorize refund",
        ["AuthorizeRefund"],
        "Gives the money back to the buyer, and takes the result back.",
      ),
      isFinal: true,
    },
    createStepAction(
      "/payment/withdraw",
      "Collect payout",
      ["Withdraw"],
      "Pays the seller now. The service also does this by itself.",
    ),
  ],
  purchase: [
    createStepAction(
      "/purchase/request-refund",
      "Request refund",
      ["SetRefundRequested"],
      "Asks for the money back. With a result, this starts a dispute. Without one, the refund comes after the seller's time.",
    ),
    createStepAction(
      "/purchase/cancel-refund-request",
      "Cancel refund request",
      ["UnSetRefundRequested"],
      "Takes the request back. The escrow returns to its state before.",
    ),
    {
      ...createStepAction(
        "/purchase/cancel-refund-request",
        "Authorize payout",
        ["AuthorizeWithdrawal"],
        "Ends the dispute in the seller's favor: the seller is paid at once.",
      ),
      name: "authorize-withdrawal",
      isFinal: true,
    },
    createStepAction(
      "/purchase/withdraw-refund",
      "Collect refund",
      ["WithdrawRefund"],
      "Collects the refund now. The service also does this by itself.",
    ),
  ],
};

const CANCEL_ACTION: Action = {
  ...ESCROW_ACTION,
  name: "cancel",
  label: "Cancel purchase",
  description:
    "Gives the purchase up before its funds are locked, and returns what it charged to the key.",
  method: "POST",
  path: "/purchase/cancel",
  needs: "+PAY",
  isFinal: true,
};

const createRetryAction = (side: Side): Action => ({
  ...ESCROW_ACTION,
  name: "retry",
  label: "Try again",
  description: "Tries the failed step again now. Nothing is paid twice.",
  method: "POST",
  path: `/${side}/retry`,
  outcome: "requested",
  needs: "+PAY",
});

const createClearAction = (
  side: Side,
  about = "Gives the failed step up. The service then does what the escrow's present state calls for, or waits for the other side.",
): Action => ({
  name: "clear",
  label: "Clear error",
  description: about,
  method: "POST",
  path: `/${side}/error-state-recovery`,
  hasNetwork: true,
  fromRow: { blockchainIdentifier: "blockchainIdentifier", updatedAt: "updatedAt" },
  fixed: { retryPreviousAction: false },
  needs: "+PAY",
});

/** Of funds that differ from their quote no step has failed: they are noted, and left alone. */
function listRecoveryActions(side: Side, { onChainState, NextAction }: EscrowRow): Action[] {
  if (NextAction.errorType === null) return [];
  return onChainState === "FundsOrDatumInvalid"
    ? [
        createClearAction(
          side,
          "Notes that you have seen the difference. The escrow needs a person no more. Its funds stay where they are, and the service makes no transaction for them.",
        ),
      ]
    : [createRetryAction(side), createClearAction(side)];
}

/** When a step may be asked for, epoch milliseconds; null: nothing binds it. */
export interface OfferedStep {
  action: Action;
  notBefore: number | null;
  deadline: number | null;
}

/** All that may be done with a record now or later: what recovers from an error, then its steps. */
export function listOfferedSteps(side: Side, row: EscrowRow): OfferedStep[] {
  const recovering = listRecoveryActions(side, row).map((action) => ({
    action,
    notBefore: null,
    deadline: null,
  }));
  return [...recovering, ...listChainSteps(side, row)];
}

/** All actions on escrows of a side, for a test that holds them against the API. */
export function listAllActions(side: Side): readonly Action[] {
  return [
    createRetryAction(side),
    createClearAction(side),
    ...STEP_ACTIONS[side],
    ...(side === "purchase" ? [CANCEL_ACTION] : []),
  ];
}

/** The steps out of a record's state, whether or not their time has come. */
function listChainSteps(side: Side, row: EscrowRow): OfferedStep[] {
  const { onChainState } = row;
  const isUnderWay = /(Requested|Initiated)$/.test(row.NextAction.requestedAction);
  if (onChainState === null || isUnderWay) return listCancelSteps(side, row);
  return STEP_ACTIONS[side].flatMap(({ steps: [step], ...action }) => {
    const rule = step && ruleOf(step, row.PaymentSource.paymentSourceType);
    const transition = transitionOf(rule, onChainState);
    // The contract lets a buyer renew a dispute, which changes nothing: the API does not.
    const isRenewal = step === "SetRefundRequested" && onChainState === "Disputed";
    if (transition === undefined || isRenewal) return [];
    const notBefore = boundTimeOf(side, row, transition.notBefore);
    const deadline = boundTimeOf(side, row, transition.deadline);
    // It could begin only after its end: never.
    if (deadline !== null && (notBefore ?? 0) >= deadline) return [];
    return [
      { action, notBefore, deadline: deadline === null ? null : deadline - DEADLINE_MARGIN_MS },
    ];
  });
}

function listCancelSteps(side: Side, row: EscrowRow): OfferedStep[] {
  const isUnlocked = side === "purchase" && row.onChainState === null;
  if (!isUnlocked || row.NextAction.requestedAction === "None") return [];
  return [{ action: CANCEL_ACTION, notBefore: null, deadline: null }];
}

/** Whether a step's time has come and is not over. */
export function isStepOpen({ notBefore, deadline }: OfferedStep, now: number): boolean {
  return (notBefore ?? 0) <= now && now < (deadline ?? Number.POSITIVE_INFINITY);
}

function boundTimeOf(side: Side, row: EscrowRow, bound: TimeBound): number | null {
  if (bound === null) return null;
  if (bound !== "buyerCooldown" && bound !== "sellerCooldown") return toEpochMs(textAt(row, bound));
  const isOurs = (bound === "buyerCooldown") === (side === "purchase");
  return toEpochMs(textAt(row, isOurs ? "cooldownTime" : "cooldownTimeOtherParty"));
}
