/** What is done next for a record, and what went wrong with it. */
import * as z from "zod";
import { described, named, timestamp } from "../../http/openapi/fields.ts";
import { reasonCode } from "../../http/openapi/ledger.ts";
import { text } from "../../http/openapi/parameters.ts";
import { STEPS } from "../model/intent.ts";
import {
  PAYMENT_ACTIONS,
  PAYMENT_ERROR_TYPES,
  PURCHASE_ACTIONS,
  PURCHASE_ERROR_TYPES,
} from "../model/transitions.ts";

export const IDENTIFIER = `198160860cc106c01cb5081580a6e027004c046c7401802669a7d355825611b6${"0".repeat(64)}`;
export const AGENT = `7ea72154ce3a4156d425458cbe898f63da9b1799d2506049ea5f61e6${"a0681c8e2ba4095b".repeat(4)}`;

/** The identifier of an escrow in a request. */
export const givenIdentifier = described(
  text(8000),
  "The escrow's identifier, as its quote has it.",
  IDENTIFIER,
);

/** A side, where one list has both. */
export const escrowKind = named(
  "EscrowKind",
  "A side of an escrow.",
  z.enum(["Payment", "Purchase"]),
);

const ERROR_NOTE = "A note for the operator; null: all is well.";

function action(requestedAction: z.ZodType<string, string>, errorType: z.ZodType<string, string>) {
  return {
    requestedAction: described(requestedAction, "What is to be done next."),
    errorType: described(errorType.nullable(), "Kind of what went wrong; null: all is well."),
    errorNote: described(
      z.string().nullable(),
      ERROR_NOTE,
      "The result hash is not the stored one",
    ),
  };
}

export const paymentActionName = named(
  "PaymentAction",
  "What a seller's side does next.",
  z.enum(PAYMENT_ACTIONS),
);
export const purchaseActionName = named(
  "PurchaseAction",
  "What a buyer's side does next.",
  z.enum(PURCHASE_ACTIONS),
);
export const paymentAction = action(
  paymentActionName,
  named("PaymentErrorType", "What went wrong with a payment.", z.enum(PAYMENT_ERROR_TYPES)),
);
export const purchaseErrorType = named(
  "PurchaseErrorType",
  "What went wrong with a purchase.",
  z.enum(PURCHASE_ERROR_TYPES),
);
export const purchaseAction = action(purchaseActionName, purchaseErrorType);

/** What is done next on either side. */
export const requestedAction = named(
  "RequestedAction",
  "What is done next, of a payment or of a purchase.",
  z.enum([...new Set([...PAYMENT_ACTIONS, ...PURCHASE_ACTIONS])]),
);

const time = (what: string, example: string | null) =>
  described(timestamp("").nullable(), what, example);

export const stepName = named("Step", "A step that a wallet takes for an escrow.", z.enum(STEPS));

export const next = named(
  "NextStep",
  "What is done for a record next.",
  z.object({
    action: described(
      stepName.nullable(),
      "The step that a wallet of this service takes; null: none, as far as is known.",
      "Withdraw",
    ),
    notBefore: time(
      "When it may begin, by the chain's time; null: now.",
      "2026-11-22T14:17:26.922Z",
    ),
    deadline: time("Until when it can be done, by the chain's time; null: it always may be.", null),
    waitsFor: described(
      z.string().nullable(),
      "What it waits for beside its time, or what the other party may do; null: nothing is known.",
      "waits for the chain provider: no answer in time",
    ),
    code: described(
      reasonCode.nullable(),
      "The kind of `waitsFor`; null: it waits for nothing. `chain` includes other parties, whose steps appear there.",
      "provider",
    ),
  }),
);
