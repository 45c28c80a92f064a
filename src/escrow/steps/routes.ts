import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { toWireValueName } from "../../http/names/wire-names.ts";
import { network } from "../../http/openapi/chain-fields.ts";
import { described, EXAMPLE_TX_HASH, named, PROVIDER_FAILURES } from "../../http/openapi/fields.ts";
import { timeParameter } from "../../http/openapi/parameters.ts";
import type { Side } from "../model/escrow-record.ts";
import { hexParameter, requestBlockchainIdentifier } from "../queries/next-step-schemas.ts";
import { paymentRecord, purchaseRecord } from "../queries/record-schemas.ts";
import { recoverRecord } from "./recover-record.ts";
import { requestStep } from "./request-step.ts";
import { API_STEPS, type ApiStepName } from "./validate-step.ts";

const stepBody = z.object({ network, blockchainIdentifier: requestBlockchainIdentifier });

const resultBody = stepBody.extend({
  submitResultHash: described(
    hexParameter(32),
    "Hash of the job's result: 32 bytes in hex, stored in lower case.",
    EXAMPLE_TX_HASH,
  ),
});

const recoveryBody = stepBody.extend({
  updatedAt: described(
    timeParameter(),
    "`updatedAt` of the record as you read it. The service refuses the call if the record has changed since.",
    "2026-11-22T06:17:26.922Z",
  ),
  retryPreviousAction: described(
    z.boolean().default(false),
    "Whether to retry the failed step. Otherwise, the service clears the error and gives up the step.",
    true,
  ),
});

/** What it means to cancel a refund request where that cannot be taken back. */
export const FINAL_CANCEL_WARNING =
  "cancel-refund-request: on Web3ChainV2, this authorizes the withdrawal: the seller gets the funds after its cooldown, which is final";

const warningListField = (what: string, example: string) =>
  described(z.array(z.string()), what, [example]);

const EXAMPLE_SIZE_WARNING =
  "request-refund: the escrow is so large that the step may need the contract's script on the chain; a wallet of the payment source publishes it within minutes";
const STEP_WARNINGS_DESCRIPTION =
  "Risks of the step, such as an escrow that the other party has made too large.";

const stepWarnings = {
  Warnings: warningListField(STEP_WARNINGS_DESCRIPTION, EXAMPLE_SIZE_WARNING),
};
const paymentStep = named(
  "PaymentStep",
  "A payment with a newly requested step.",
  paymentRecord.extend(stepWarnings),
);
const purchaseStep = named(
  "PurchaseStep",
  "A purchase with a newly requested step.",
  purchaseRecord.extend(stepWarnings),
);

const cancelledRefund = named(
  "CancelledRefundRequest",
  "A purchase whose refund request is being cancelled.",
  purchaseRecord.extend({
    Warnings: warningListField(
      `${STEP_WARNINGS_DESCRIPTION} On Web3ChainV2, also the effect of cancelling.`,
      FINAL_CANCEL_WARNING,
    ),
  }),
);

type PaymentResponse = z.input<typeof paymentRecord>;
type PurchaseResponse = z.input<typeof purchaseRecord>;
type RecordResponse = PaymentResponse & PurchaseResponse;

/** What all steps of a side declare alike. */
const sharedOf = (side: Side) =>
  ({
    method: "post",
    access: "+PAY",
    scope: "wallets",
    tag: side === "payment" ? "Payments" : "Purchases",
    idempotent: true,
    errors: {
      ...PROVIDER_FAILURES,
      403: `The API key lacks the permission or the network, or another key owns the ${side}.`,
      404: `There is no such ${side}.`,
      409: "The escrow's state does not allow the step, or the step is too early or too late: the message says which.",
      503: "The chain provider accepts no calls or shows no new blocks, or the wallet's or source's `drives` is `nothing`.",
    },
  }) as const;
const ASYNC_STEP_DESCRIPTION =
  "The response does not wait for the chain: the record changes when the wallet's transaction is in a block. A repeated request for a pending or finished step returns the record and does nothing.";

/** A step that its name alone asks for. */
interface StepRoute {
  name: ApiStepName;
  operationId: string;
  summary: string;
  description: string;
}

const STEP_ROUTES: StepRoute[] = [
  {
    name: "authorize-refund",
    operationId: "authorizeRefund",
    summary: "Authorizes a refund to the buyer",
    description:
      "On Web3ChainV1, this removes the result of a disputed escrow: the buyer can collect the refund from `submitResultTime`. On Web3ChainV2, the buyer can collect the refund at once, in any state.",
  },
  {
    name: "withdraw",
    operationId: "withdrawPayment",
    summary: "Withdraws the payment to the seller now",
    description:
      "The withdrawal is automatic after `unlockTime`, unless `AUTO_WITHDRAW_PAYMENTS` is off or the withdrawal costs more than it pays.",
  },
  {
    name: "request-refund",
    operationId: "requestRefund",
    summary: "Requests a refund, or disputes the result",
    description:
      "Allowed until 2 minutes before `unlockTime`. Without a result, the buyer can collect the refund from `submitResultTime`. With a result, the escrow is disputed.",
  },
  {
    name: "withdraw-refund",
    operationId: "withdrawRefund",
    summary: "Collects the refund now",
    description:
      "The refund is automatic after `submitResultTime` without a result, or once authorized, unless `AUTO_WITHDRAW_REFUNDS` is off.",
  },
];

/** The steps of escrows that are asked for. */
export function createStepRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      ...sharedOf("payment"),
      operationId: "submitResult",
      path: "/payment/submit-result",
      summary: "Submits the result hash to the chain",
      description: `Allowed until 2 minutes before \`submitResultTime\`. After a first result, another hash can replace it until \`externalDisputeUnlockTime\`. ${ASYNC_STEP_DESCRIPTION}`,
      body: resultBody,
      data: paymentStep,
    },
    (c, { body: { submitResultHash: resultHash, ...escrow } }) =>
      requestStep<PaymentResponse>(c, { name: "submit-result", resultHash }, escrow, Date.now()),
  );

  for (const { name, description, ...declared } of STEP_ROUTES) {
    const { side } = API_STEPS[name];
    serve(
      router,
      {
        ...sharedOf(side),
        ...declared,
        path: `/${side}/${name}`,
        description: `${description} ${ASYNC_STEP_DESCRIPTION}`,
        body: stepBody,
        data: side === "payment" ? paymentStep : purchaseStep,
      },
      (c, { body }) => requestStep<RecordResponse>(c, { name, resultHash: null }, body, Date.now()),
    );
  }

  serve(
    router,
    {
      ...sharedOf("purchase"),
      operationId: "cancelRefundRequest",
      path: "/purchase/cancel-refund-request",
      summary: "Cancels a refund request; on Web3ChainV2, pays the seller",
      description: `On Web3ChainV1, the escrow returns to its earlier state. On Web3ChainV2, this ends a dispute by authorizing the withdrawal, **which is final**. There, a request from before the result cannot be cancelled. ${ASYNC_STEP_DESCRIPTION}`,
      body: stepBody,
      data: cancelledRefund,
    },
    async (c, { body }): Promise<z.input<typeof cancelledRefund>> => {
      const step = { name: "cancel-refund-request", resultHash: null } as const;
      const shown = await requestStep<PurchaseResponse>(c, step, body, Date.now());
      const isFinal = shown.PaymentSource.paymentSourceType === toWireValueName("Web3ChainV2");
      return {
        ...shown,
        Warnings: [...(isFinal ? [FINAL_CANCEL_WARNING] : []), ...shown.Warnings],
      };
    },
  );

  for (const side of ["payment", "purchase"] as const) {
    const data = side === "payment" ? paymentRecord : purchaseRecord;
    const Side = side === "payment" ? "Payment" : "Purchase";

    serve(
      router,
      {
        ...sharedOf(side),
        data,
        operationId: `recover${Side}`,
        path: `/${side}/error-state-recovery`,
        summary: `Clears the error of a ${side}, or retries the failed step`,
        description:
          "Clearing the error of a lock does not cancel the lock: `POST /purchase/cancel` does. The service retries nothing that could pay twice.",
        body: recoveryBody,
      },
      (c, { body: { updatedAt, retryPreviousAction: isRetried, ...escrow } }) =>
        recoverRecord<RecordResponse>(c, { side, ...escrow }, { isRetried, updatedAt }, Date.now()),
    );

    serve(
      router,
      {
        ...sharedOf(side),
        data,
        operationId: `retry${Side}`,
        path: `/${side}/retry`,
        summary: `Retries the failed step of a ${side} now`,
        description:
          "Without a failed step, nothing changes. The service refuses a step that the contract no longer allows.",
        body: stepBody,
      },
      (c, { body }) =>
        recoverRecord<RecordResponse>(
          c,
          { side, ...body },
          { isRetried: true, updatedAt: null },
          Date.now(),
        ),
    );
  }

  return router;
}
