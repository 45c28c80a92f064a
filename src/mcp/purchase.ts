import * as z from "zod";
import { givenUnit } from "../http/openapi/ledger.ts";

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
  agentIdentifier: string;
  onChainState: string | null;
  resultHash: string;
  PaidFunds: Funds;
  NextAction: { requestedAction: string; errorType: string | null; errorNote: string | null };
  CurrentTransaction: { txHash: string; status: string } | null;
  [field: string]: unknown;
}

const MEANINGS: Record<string, string> = {
  FundsLocked:
    "The price is locked in the escrow; the seller has to deliver before submitResultTime.",
  FundsOrDatumInvalid: "What was locked is not what was agreed; a person has to look at it.",
  ResultSubmitted:
    "The seller has delivered; from unlockTime the price is the seller's, unless a refund is requested before.",
  RefundRequested:
    "A refund is requested; without a result it can be collected from submitResultTime.",
  Disputed: "A refund is requested although there is a result: the two sides have to agree.",
  WithdrawAuthorized: "The buyer has let the seller have the price.",
  RefundAuthorized: "The seller has let the buyer have the refund.",
  Withdrawn: "Over: the seller has the price.",
  RefundWithdrawn: "Over: the buyer has the price back.",
  DisputedWithdrawn: "Over: the price was divided as a dispute was settled.",
};
const NOT_LOCKED = "Nothing is locked yet; NextAction says what happens next.";

/** A purchase for a model, with what its state means. */
export function shownPurchase(purchase: Purchase): object {
  const { onChainState, CurrentTransaction, NextAction } = purchase;
  const times = ["payByTime", "submitResultTime", "unlockTime", "externalDisputeUnlockTime"];
  return {
    id: purchase.id,
    blockchainIdentifier: purchase.blockchainIdentifier,
    agentIdentifier: purchase.agentIdentifier,
    state: onChainState,
    meaning: onChainState === null ? NOT_LOCKED : MEANINGS[onChainState],
    price: purchase.PaidFunds,
    nextAction: NextAction,
    transaction: CurrentTransaction?.txHash ?? null,
    resultHash: purchase.resultHash === "" ? null : purchase.resultHash,
    ...Object.fromEntries(
      times.map((name) => [name, new Date(Number(purchase[name])).toISOString()]),
    ),
  };
}

/** Whether two lists have the same of every unit. */
export function sameFunds(one: Funds, other: Funds): boolean {
  return [...one, ...other].every(({ unit }) => sumOf(one, unit) === sumOf(other, unit));
}

function sumOf(list: Funds, unit: string): bigint {
  return list.reduce((sum, each) => (each.unit === unit ? sum + BigInt(each.amount) : sum), 0n);
}
