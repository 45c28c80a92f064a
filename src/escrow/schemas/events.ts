/** What events about payments and purchases carry. */
import * as z from "zod";
import { described, named, timestamp } from "../../http/openapi/fields.ts";
import { onChainState } from "../../http/openapi/ledger.ts";
import { paymentActionName, purchaseActionName, stepName } from "./next.ts";
import { paymentRecord, purchaseRecord } from "./records.ts";

/** Shown with a record where its deadline is told of. */
export const nearDeadline = described(
  named(
    "NearDeadline",
    "A time before which a step must be done.",
    z.object({
      step: described(
        stepName,
        "What is undone; `requestedAction` begins with it.",
        "SubmitResult",
      ),
      time: timestamp("The time, after which the contract does not allow it."),
    }),
  ),
  "What is near.",
);

function changeOf<Shape extends z.ZodRawShape>(
  record: z.ZodObject<Shape>,
  requestedAction: z.ZodType<string, string>,
) {
  return record.extend({
    previous: described(
      z
        .object({
          onChainState: described(onChainState.nullable(), "State of the escrow before."),
          requestedAction: described(requestedAction, "What was to be done next before."),
        })
        .nullable(),
      "What the record was before the change; null: there was none.",
    ),
  });
}

/** What an event about a payment or a purchase carries. */
export const paymentChange = named(
  "PaymentChange",
  "A payment after a change of it.",
  changeOf(paymentRecord, paymentActionName),
);
export const purchaseChange = named(
  "PurchaseChange",
  "A purchase after a change of it.",
  changeOf(purchaseRecord, purchaseActionName),
);
