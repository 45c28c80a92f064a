import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { valueName } from "../../http/names/table.ts";
import { described, named, TX_HASH } from "../../http/openapi/fields.ts";
import { network } from "../../http/openapi/ledger.ts";
import { time } from "../../http/openapi/parameters.ts";
import { givenIdentifier } from "../queries/next-schemas.ts";
import { paymentRecord, purchaseRecord } from "../queries/record-schemas.ts";
import { recover } from "./recover.ts";
import { requestStep } from "./request-step.ts";
import type { ApiStepName } from "./validate-step.ts";

const stepBody = z.object({ network, blockchainIdentifier: givenIdentifier });

const resultBody = stepBody.extend({
  submitResultHash: described(
    z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, "must be hex of 32 bytes")
      .transform((hex) => hex.toLowerCase()),
    "Hash of the job's result: 32 bytes in hex, kept in lower case.",
    TX_HASH,
  ),
});

const recoveryBody = stepBody.extend({
  updatedAt: described(
    time(),
    "The record's `updatedAt` as you read it. A record that has changed since is refused.",
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

const paymentStep = named(
  "PaymentStep",
  "A payment with a newly requested step.",
  paymentRecord.extend({ Warnings: warnings(OF_A_STEP, TOO_LARGE) }),
);

const purchaseStep = named(
  "PurchaseStep",
  "A purchase with a newly requested step.",
  purchaseRecord.extend({ Warnings: warnings(OF_A_STEP, TOO_LARGE) }),
);

const cancelledRefund = named(
  "CancelledRefundRequest",
  "A purchase whose refund request is being cancelled.",
  purchaseRecord.extend({
    Warnings: warnings(
      `${OF_A_STEP} On Web3ChainV2 also what cancelling means there.`,
      FINAL_CANCEL,
    ),
  }),
);

type PaymentResponse = z.input<typeof paymentRecord>;
type PurchaseResponse = z.input<typeof purchaseRecord>;
type RecordResponse = PaymentResponse & PurchaseResponse;

const errorsOf = (what: string) => ({
  403: `The API key lacks the permission or the network, or the ${what} is another key's.`,
  404: `There is no such ${what}.`,
  409: "The escrow's state does not allow it, or its time has not come or is over: the message names which.",
  502: "The chain provider failed.",
  503: "The chain provider takes no calls or stands still, or the wallet's or source's `drives` is `nothing`.",
  504: "The chain provider did not answer in time.",
});
const WAITS =
  "The answer does not wait for the chain: the record moves once the wallet's transaction is in a block. Asked for again while it is under way, or when the chain shows it already, it answers with the record and does nothing.";

interface Declared {
  name: ApiStepName;
  operationId: string;
  summary: string;
  description: string;
}

const OF_PAYMENTS: Declared[] = [
  {
    name: "authorize-refund",
    operationId: "authorizeRefund",
    summary: "Gives the buyer the refund",
    description:
      "On Web3ChainV1 it takes the result of a disputed escrow back: the buyer can collect from `submitResultTime`. On Web3ChainV2 the buyer can collect at once, whatever the state.",
  },
  {
    name: "withdraw",
    operationId: "withdrawPayment",
    summary: "Pays the seller, now",
    description:
      "It is automatic once `unlockTime` is over, unless `AUTO_WITHDRAW_PAYMENTS` is off or it would cost more than it brings.",
  },
];

const OF_PURCHASES: Declared[] = [
  {
    name: "request-refund",
    operationId: "requestRefund",
    summary: "Asks for the money back, or disputes the result",
    description:
      "Until 2 minutes before `unlockTime`. Without a result the refund can be collected from `submitResultTime`; with one, the escrow is disputed.",
  },
  {
    name: "withdraw-refund",
    operationId: "withdrawRefund",
    summary: "Collects the refund, now",
    description:
      "It is automatic once `submitResultTime` is over without a result, or the refund was authorized, unless `AUTO_WITHDRAW_REFUNDS` is off.",
  },
];

/** The steps of escrows that are asked for. */
export function stepRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "submitResult",
      path: "/payment/submit-result",
      access: "+PAY",
      scope: "wallets",
      tag: "Payments",
      summary: "Has the result's hash written to the chain",
      description: `Until 2 minutes before \`submitResultTime\`; once there is a result, another hash replaces it until \`externalDisputeUnlockTime\`. ${WAITS}`,
      body: resultBody,
      idempotent: true,
      data: paymentStep,
      errors: errorsOf("payment"),
    },
    (c, { body: { submitResultHash: resultHash, ...escrow } }) =>
      requestStep<PaymentResponse>(c, { name: "submit-result", resultHash }, escrow, Date.now()),
  );

  for (const { name, description, ...declared } of OF_PAYMENTS)
    serve(
      router,
      {
        ...declared,
        method: "post",
        path: `/payment/${name}`,
        access: "+PAY",
        scope: "wallets",
        tag: "Payments",
        description: `${description} ${WAITS}`,
        body: stepBody,
        idempotent: true,
        data: paymentStep,
        errors: errorsOf("payment"),
      },
      (c, { body }) =>
        requestStep<PaymentResponse>(c, { name, resultHash: null }, body, Date.now()),
    );

  for (const { name, description, ...declared } of OF_PURCHASES)
    serve(
      router,
      {
        ...declared,
        method: "post",
        path: `/purchase/${name}`,
        access: "+PAY",
        scope: "wallets",
        tag: "Purchases",
        description: `${description} ${WAITS}`,
        body: stepBody,
        idempotent: true,
        data: purchaseStep,
        errors: errorsOf("purchase"),
      },
      (c, { body }) =>
        requestStep<PurchaseResponse>(c, { name, resultHash: null }, body, Date.now()),
    );

  serve(
    router,
    {
      method: "post",
      operationId: "cancelRefundRequest",
      path: "/purchase/cancel-refund-request",
      access: "+PAY",
      scope: "wallets",
      tag: "Purchases",
      summary: "Takes a refund request back; on Web3ChainV2, has the seller paid",
      description: `On Web3ChainV1 the escrow goes back to where it was. Web3ChainV2 has no way back: there a dispute is ended by authorising the withdrawal, **which is final**, and a request before the result cannot be cancelled. ${WAITS}`,
      body: stepBody,
      idempotent: true,
      data: cancelledRefund,
      errors: errorsOf("purchase"),
    },
    async (c, { body }): Promise<z.input<typeof cancelledRefund>> => {
      const step = { name: "cancel-refund-request", resultHash: null } as const;
      const shown = await requestStep<PurchaseResponse>(c, step, body, Date.now());
      const isFinal = shown.PaymentSource.paymentSourceType === valueName("Web3ChainV2");
      return { ...shown, Warnings: [...(isFinal ? [FINAL_CANCEL] : []), ...shown.Warnings] };
    },
  );

  for (const side of ["payment", "purchase"] as const) {
    const shared = {
      method: "post",
      access: "+PAY",
      scope: "wallets",
      tag: side === "payment" ? "Payments" : "Purchases",
      idempotent: true,
      data: side === "payment" ? paymentRecord : purchaseRecord,
      errors: errorsOf(side),
    } as const;
    const Side = side === "payment" ? "Payment" : "Purchase";

    serve(
      router,
      {
        ...shared,
        operationId: `recover${Side}`,
        path: `/${side}/error-state-recovery`,
        summary: `Clears the error of a ${side}, or has what failed tried again`,
        description:
          "A lock stays wanted when its error is cleared: `POST /purchase/cancel` gives it up. Nothing is tried again that could be paid twice.",
        body: recoveryBody,
      },
      (c, { body: { updatedAt, retryPreviousAction: isRetried, ...escrow } }) =>
        recover<RecordResponse>(c, { side, ...escrow }, { isRetried, updatedAt }, Date.now()),
    );

    serve(
      router,
      {
        ...shared,
        operationId: `retry${Side}`,
        path: `/${side}/retry`,
        summary: `Has the step of a ${side} that failed, or that waits to be tried again, tried now`,
        description:
          "While nothing has failed it changes nothing. It is refused where the contract does not allow the step any more.",
        body: stepBody,
      },
      (c, { body }) =>
        recover<RecordResponse>(
          c,
          { side, ...body },
          { isRetried: true, updatedAt: null },
          Date.now(),
        ),
    );
  }

  return router;
}
