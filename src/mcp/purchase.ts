import * as z from "zod";
import { givenUnit } from "../http/openapi/ledger.ts";
import {
  type AnswerObject,
  type AnswerValue,
  fixed,
  formed,
  hasForm,
  type TrustedText,
  timeText,
} from "./answer-value.ts";
import { untrusted } from "./untrusted.ts";

export const funds = z
  .array(
    z.object({
      amount: z
        .string()
        .regex(/^\d{1,25}$/, "must be a whole number in decimal digits")
        .describe("Minor units, decimal text."),
      unit: givenUnit,
    }),
  )
  .max(7);
export type Funds = z.infer<typeof funds>;

/** A purchase, as far as tools read it. */
export interface Purchase {
  id: string;
  blockchainIdentifier: string;
  agentIdentifier: string | null;
  onChainState: string | null;
  resultHash: string;
  PaidFunds: Funds;
  NextAction: { requestedAction: string; errorType: string | null; errorNote: string | null };
  CurrentTransaction: { txHash: string; status: string } | null;
  [field: string]: unknown;
}

const MEANINGS: Record<string, TrustedText> = {
  FundsLocked: fixed(
    "The price is locked in the escrow; the seller has to deliver before submitResultTime.",
  ),
  FundsOrDatumInvalid: fixed("What was locked is not what was agreed; a person has to look at it."),
  ResultSubmitted: fixed(
    "The seller has delivered; from unlockTime the price is the seller's, unless a refund is requested before.",
  ),
  RefundRequested: fixed(
    "A refund is requested; without a result it can be collected from submitResultTime.",
  ),
  Disputed: fixed("A refund is requested although there is a result: the two sides have to agree."),
  WithdrawAuthorized: fixed("The buyer has let the seller have the price."),
  RefundAuthorized: fixed("The seller has let the buyer have the refund."),
  Withdrawn: fixed("Over: the seller has the price."),
  RefundWithdrawn: fixed("Over: the buyer has the price back."),
  DisputedWithdrawn: fixed("Over: the price was divided as a dispute was settled."),
};
const NOT_LOCKED = fixed("Nothing is locked yet; NextAction says what happens next.");

/** A purchase for a model, with what its state means. */
export function shownPurchase(purchase: Purchase): AnswerObject {
  const { onChainState, CurrentTransaction, NextAction, resultHash, PaidFunds } = purchase;
  const { requestedAction, errorType, errorNote } = NextAction;
  const price = ownFunds(PaidFunds);
  const times = ["payByTime", "submitResultTime", "unlockTime", "externalDisputeUnlockTime"];
  return {
    id: formed("id", purchase.id),
    blockchainIdentifier: formed("hex", purchase.blockchainIdentifier),
    agentIdentifier: formed("hex", purchase.agentIdentifier ?? ""),
    state: onChainState === null ? null : formed("name", onChainState),
    meaning: onChainState === null ? NOT_LOCKED : MEANINGS[onChainState],
    price,
    nextAction: {
      requestedAction: formed("name", requestedAction),
      errorType: errorType === null ? null : formed("name", errorType),
    },
    transaction: CurrentTransaction ? formed("hex", CurrentTransaction.txHash) : null,
    resultHash: resultHash ? formed("hex", resultHash) : null,
    ...Object.fromEntries(times.map((name) => [name, timeText(Number(purchase[name]))])),
    ...((errorNote !== null || price === null) &&
      untrusted({ errorNote, ...(price === null && { price: PaidFunds }) })),
  };
}

/** Funds whose units are those of tokens; null where a unit is any other text. */
export function ownFunds(list: Funds): AnswerValue {
  if (!list.every(({ unit, amount }) => hasForm("hex", unit) && hasForm("digits", amount)))
    return null;
  return list.map(({ amount, unit }) => ({
    amount: formed("digits", amount),
    unit: formed("hex", unit),
  }));
}

/** Whether two lists have the same of every unit. */
export function sameFunds(one: Funds, other: Funds): boolean {
  return [...one, ...other].every(({ unit }) => sumOf(one, unit) === sumOf(other, unit));
}

function sumOf(list: Funds, unit: string): bigint {
  return list.reduce((sum, each) => (each.unit === unit ? sum + BigInt(each.amount) : sum), 0n);
}
