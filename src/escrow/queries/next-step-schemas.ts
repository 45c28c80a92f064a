/** What is done next for a record, and what went wrong with it. */
import * as z from "zod";
import { reasonCode } from "../../http/openapi/chain-fields.ts";
import { described, named, nullableTimestampField, textField } from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import { STEPS } from "../model/intent.ts";
import {
  PAYMENT_ACTIONS,
  PAYMENT_ERROR_TYPES,
  PURCHASE_ACTIONS,
  PURCHASE_ERROR_TYPES,
} from "../model/transitions.ts";

export const EXAMPLE_BLOCKCHAIN_IDENTIFIER = `198160860cc106c01cb5081580a6e027004c046c7401802669a7d355825611b6${"0".repeat(64)}`;
export const EXAMPLE_ESCROW_AGENT_IDENTIFIER = `7ea72154ce3a4156d425458cbe898f63da9b1799d2506049ea5f61e6${"a0681c8e2ba4095b".repeat(4)}`;

/** The identifier of an escrow in a request. */
export const requestBlockchainIdentifier = described(
  textParameter(8000),
  "Identifier of the escrow, from its quote.",
  EXAMPLE_BLOCKCHAIN_IDENTIFIER,
);

/** Bytes in hex in a request, taken in lower case. */
export function hexParameter(bytes: number) {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${2 * bytes}}$`), `must be hex of ${bytes} bytes`)
    .transform((hex) => hex.toLowerCase());
}

/** The agent of an escrow, as answers name it. */
export const agentFields = {
  agentIdentifier: textField(
    "Policy id and asset name of the agent, in hex.",
    EXAMPLE_ESCROW_AGENT_IDENTIFIER,
  ),
  agentName: described(
    z.string().nullable(),
    "Name of the agent in its token at the time of the request. Null: unknown.",
    "Translator",
  ),
};

/** A side, where one list has both. */
export const escrowKind = named(
  "EscrowKind",
  "A side of an escrow.",
  z.enum(["Payment", "Purchase"]),
);

const ERROR_NOTE_DESCRIPTION = "Explanation of the error, for the operator. Null: no error.";

function createActionFields(
  requestedAction: z.ZodType<string, string>,
  errorType: z.ZodType<string, string>,
) {
  return {
    requestedAction: described(requestedAction, "Next action."),
    errorType: described(errorType.nullable(), "Kind of the error. Null: no error."),
    errorNote: described(
      z.string().nullable(),
      ERROR_NOTE_DESCRIPTION,
      "The result hash is not the stored one",
    ),
  };
}

export const paymentActionName = named(
  "PaymentAction",
  "Next action of the seller's side.",
  z.enum(PAYMENT_ACTIONS),
);
export const purchaseActionName = named(
  "PurchaseAction",
  "Next action of the buyer's side.",
  z.enum(PURCHASE_ACTIONS),
);
export const paymentAction = createActionFields(
  paymentActionName,
  named("PaymentErrorType", "Kind of error of a payment.", z.enum(PAYMENT_ERROR_TYPES)),
);
export const purchaseErrorType = named(
  "PurchaseErrorType",
  "Kind of error of a purchase.",
  z.enum(PURCHASE_ERROR_TYPES),
);
export const purchaseAction = createActionFields(purchaseActionName, purchaseErrorType);

/** What is done next on either side. */
export const requestedAction = named(
  "RequestedAction",
  "Next action of a payment or a purchase.",
  z.enum([...new Set([...PAYMENT_ACTIONS, ...PURCHASE_ACTIONS])]),
);

export const stepName = named("Step", "A step that a wallet takes for an escrow.", z.enum(STEPS));

export const nextStep = named(
  "NextStep",
  "Next step for a record.",
  z.object({
    action: described(
      stepName.nullable(),
      "Step that a wallet of this service takes. Null: none known.",
      "Withdraw",
    ),
    notBefore: nullableTimestampField(
      "Earliest time of the step, by the chain's time. Null: now.",
      "2026-11-22T14:17:26.922Z",
    ),
    deadline: nullableTimestampField(
      "Latest time of the step, by the chain's time. Null: no limit.",
      null,
    ),
    waitsFor: described(
      z.string().nullable(),
      "What the step waits for besides its time, or what the other party may do. Null: nothing known.",
      "waits for the chain provider: no answer in time",
    ),
    code: described(
      reasonCode.nullable(),
      "Kind of `waitsFor`. Null: nothing. `chain` includes steps of other parties.",
      "provider",
    ),
  }),
);
