import * as z from "zod";
import { described, named, TX_HASH } from "../../http/openapi/fields.ts";
import { network } from "../../http/openapi/ledger.ts";
import { time } from "../../http/parameters.ts";
import { givenIdentifier } from "../schemas/names.ts";
import { paymentRecord, purchaseRecord } from "../schemas/records.ts";

export const stepBody = z.object({ network, blockchainIdentifier: givenIdentifier });
export type StepBody = z.output<typeof stepBody>;

export const resultBody = stepBody.extend({
  submitResultHash: described(
    z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, "must be hex of 32 bytes")
      .transform((hex) => hex.toLowerCase()),
    "Hash of the job's result: 32 bytes in hex, kept in lower case.",
    TX_HASH,
  ),
});

export const recoveryBody = stepBody.extend({
  updatedAt: described(
    time(),
    "The record's `updatedAt` as you read it: what was changed since is decided on anew.",
    "2026-11-22T06:17:26.922Z",
  ),
  retryPreviousAction: described(
    z.boolean().default(false),
    "Whether the step that failed is tried again; else the error is cleared, and the step not wanted any more.",
    true,
  ),
});

/** What it means to cancel a refund request where that cannot be taken back. */
export const FINAL_CANCEL =
  "cancel-refund-request: on Web3ChainV2 this authorises the withdrawal: the seller is paid at once, and that cannot be taken back";

const warnings = (what: string, example: string) => described(z.array(z.string()), what, [example]);

const TOO_LARGE =
  "request-refund: the escrow is so large that the step may need the contract's script on the chain; a wallet of its payment source publishes it within minutes";
const OF_A_STEP = "What may hold the step up: an escrow that the other party has made too large.";

export const paymentStep = named(
  "PaymentStep",
  "A payment of which a step was asked for.",
  paymentRecord.extend({ Warnings: warnings(OF_A_STEP, TOO_LARGE) }),
);

export const purchaseStep = named(
  "PurchaseStep",
  "A purchase of which a step was asked for.",
  purchaseRecord.extend({ Warnings: warnings(OF_A_STEP, TOO_LARGE) }),
);

export const cancelledRefund = named(
  "CancelledRefundRequest",
  "A purchase whose refund request is being cancelled.",
  purchaseRecord.extend({
    Warnings: warnings(
      `${OF_A_STEP} On Web3ChainV2 also what cancelling means there.`,
      FINAL_CANCEL,
    ),
  }),
);

export type ShownPayment = z.input<typeof paymentRecord>;
export type ShownPurchase = z.input<typeof purchaseRecord>;
export type ShownRecord = ShownPayment & ShownPurchase;
