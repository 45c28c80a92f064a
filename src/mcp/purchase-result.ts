import * as z from "zod";
import { ESCROW_TIME_NAMES } from "../escrow/model/escrow-record.ts";
import { requestUnit } from "../http/openapi/chain-fields.ts";
import {
  hasFormat,
  type ResultValue,
  type ToolResult,
  type TrustedText,
  trustFormatted,
  trustLiteral,
  trustTime,
  wrapUntrusted,
} from "./tool-result.ts";

export const funds = z
  .array(
    z.object({
      amount: z
        .string()
        .regex(/^\d{1,25}$/, "must be a whole number in decimal digits")
        .describe("Minor units, decimal text."),
      unit: requestUnit,
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

const STATE_MEANINGS: Record<string, TrustedText> = {
  FundsLocked: trustLiteral(
    "The price is locked in the escrow. The seller must deliver before submitResultTime.",
  ),
  FundsOrDatumInvalid: trustLiteral(
    "The locked funds differ from the agreed terms. A person must check the purchase.",
  ),
  ResultSubmitted: trustLiteral(
    "The seller has delivered. The seller gets the price after unlockTime, unless a refund is requested before.",
  ),
  RefundRequested: trustLiteral(
    "A refund is requested. Without a result, the buyer gets it after submitResultTime.",
  ),
  Disputed: trustLiteral(
    "The buyer requested a refund after the seller delivered. Both sides must agree.",
  ),
  WithdrawAuthorized: trustLiteral("The buyer has authorized the payout to the seller."),
  RefundAuthorized: trustLiteral("The seller has authorized the refund to the buyer."),
  Withdrawn: trustLiteral("Final: the seller has received the price."),
  RefundWithdrawn: trustLiteral("Final: the buyer has received the refund."),
  DisputedWithdrawn: trustLiteral("Final: the dispute divided the price."),
};
const NOT_LOCKED_MEANING = trustLiteral("No funds are locked yet. See nextAction.");

/** A purchase for a model, with what its state means. */
export function toPurchaseResult(purchase: Purchase): ToolResult {
  const { onChainState, CurrentTransaction, NextAction, resultHash, PaidFunds } = purchase;
  const { requestedAction, errorType, errorNote } = NextAction;
  const price = trustFunds(PaidFunds);
  return {
    id: trustFormatted("id", purchase.id),
    blockchainIdentifier: trustFormatted("hex", purchase.blockchainIdentifier),
    agentIdentifier: trustFormatted("hex", purchase.agentIdentifier ?? ""),
    state: onChainState === null ? null : trustFormatted("name", onChainState),
    meaning: onChainState === null ? NOT_LOCKED_MEANING : STATE_MEANINGS[onChainState],
    price,
    nextAction: {
      requestedAction: trustFormatted("name", requestedAction),
      errorType: errorType === null ? null : trustFormatted("name", errorType),
    },
    transaction: CurrentTransaction ? trustFormatted("hex", CurrentTransaction.txHash) : null,
    resultHash: resultHash ? trustFormatted("hex", resultHash) : null,
    ...Object.fromEntries(
      ESCROW_TIME_NAMES.map((name) => [name, trustTime(Number(purchase[name]))]),
    ),
    ...((errorNote !== null || price === null) &&
      wrapUntrusted({ errorNote, ...(price === null && { price: PaidFunds }) })),
  };
}

/** Funds whose units are those of tokens; null where a unit is any other text. */
export function trustFunds(list: Funds): ResultValue {
  if (!list.every(({ unit, amount }) => hasFormat("hex", unit) && hasFormat("digits", amount)))
    return null;
  return list.map(({ amount, unit }) => ({
    amount: trustFormatted("digits", amount),
    unit: trustFormatted("hex", unit),
  }));
}

/** Whether two lists have the same of every unit. */
export function areSameFunds(one: Funds, other: Funds): boolean {
  return [...one, ...other].every(({ unit }) => sumOf(one, unit) === sumOf(other, unit));
}

function sumOf(list: Funds, unit: string): bigint {
  return list.reduce((sum, each) => (each.unit === unit ? sum + BigInt(each.amount) : sum), 0n);
}
