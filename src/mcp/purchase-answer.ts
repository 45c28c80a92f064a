import * as z from "zod";
import { givenUnit } from "../http/openapi/ledger.ts";
import {
  type AnswerObject,
  type AnswerValue,
  hasForm,
  type TrustedText,
  trustFixed,
  trustForm,
  trustTime,
} from "./answer-value.ts";
import { wrapUntrusted } from "./untrusted.ts";

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
  FundsLocked: trustFixed(
    "The price is locked in the escrow. The seller must deliver before submitResultTime.",
  ),
  FundsOrDatumInvalid: trustFixed(
    "The locked funds differ from the agreed terms. A person must check the purchase.",
  ),
  ResultSubmitted: trustFixed(
    "The seller has delivered. The seller gets the price after unlockTime, unless a refund is requested before.",
  ),
  RefundRequested: trustFixed(
    "A refund is requested. Without a result, the buyer gets it after submitResultTime.",
  ),
  Disputed: trustFixed(
    "The buyer requested a refund after the seller delivered. Both sides must agree.",
  ),
  WithdrawAuthorized: trustFixed("The buyer has authorized the payout to the seller."),
  RefundAuthorized: trustFixed("The seller has authorized the refund to the buyer."),
  Withdrawn: trustFixed("Final: the seller has received the price."),
  RefundWithdrawn: trustFixed("Final: the buyer has received the refund."),
  DisputedWithdrawn: trustFixed("Final: the dispute divided the price."),
};
const NOT_LOCKED = trustFixed("No funds are locked yet. See nextAction.");

/** A purchase for a model, with what its state means. */
export function toPurchaseAnswer(purchase: Purchase): AnswerObject {
  const { onChainState, CurrentTransaction, NextAction, resultHash, PaidFunds } = purchase;
  const { requestedAction, errorType, errorNote } = NextAction;
  const price = trustFunds(PaidFunds);
  const times = ["payByTime", "submitResultTime", "unlockTime", "externalDisputeUnlockTime"];
  return {
    id: trustForm("id", purchase.id),
    blockchainIdentifier: trustForm("hex", purchase.blockchainIdentifier),
    agentIdentifier: trustForm("hex", purchase.agentIdentifier ?? ""),
    state: onChainState === null ? null : trustForm("name", onChainState),
    meaning: onChainState === null ? NOT_LOCKED : MEANINGS[onChainState],
    price,
    nextAction: {
      requestedAction: trustForm("name", requestedAction),
      errorType: errorType === null ? null : trustForm("name", errorType),
    },
    transaction: CurrentTransaction ? trustForm("hex", CurrentTransaction.txHash) : null,
    resultHash: resultHash ? trustForm("hex", resultHash) : null,
    ...Object.fromEntries(times.map((name) => [name, trustTime(Number(purchase[name]))])),
    ...((errorNote !== null || price === null) &&
      wrapUntrusted({ errorNote, ...(price === null && { price: PaidFunds }) })),
  };
}

/** Funds whose units are those of tokens; null where a unit is any other text. */
export function trustFunds(list: Funds): AnswerValue {
  if (!list.every(({ unit, amount }) => hasForm("hex", unit) && hasForm("digits", amount)))
    return null;
  return list.map(({ amount, unit }) => ({
    amount: trustForm("digits", amount),
    unit: trustForm("hex", unit),
  }));
}

/** Whether two lists have the same of every unit. */
export function areSameFunds(one: Funds, other: Funds): boolean {
  return [...one, ...other].every(({ unit }) => sumOf(one, unit) === sumOf(other, unit));
}

function sumOf(list: Funds, unit: string): bigint {
  return list.reduce((sum, each) => (each.unit === unit ? sum + BigInt(each.amount) : sum), 0n);
}
