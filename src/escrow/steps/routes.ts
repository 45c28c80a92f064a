import type * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { valueName } from "../../http/names/table.ts";
import { paymentRecord, purchaseRecord } from "../schemas/records.ts";
import type { AskedName } from "./asked.ts";
import { recover } from "./recover.ts";
import {
  cancelledRefund,
  FINAL_CANCEL,
  paymentStep,
  purchaseStep,
  recoveryBody,
  resultBody,
  type ShownPayment,
  type ShownPurchase,
  type ShownRecord,
  stepBody,
} from "./schemas.ts";
import { takeStep } from "./take.ts";

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
  name: AskedName;
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
      "It comes by itself once `unlockTime` is over, unless `AUTO_WITHDRAW_PAYMENTS` is off or it would cost more than it brings.",
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
      "It comes by itself once `submitResultTime` is over without a result, or the refund was authorised, unless `AUTO_WITHDRAW_REFUNDS` is off.",
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
      takeStep<ShownPayment>(c, { name: "submit-result", resultHash }, escrow, Date.now()),
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
      (c, { body }) => takeStep<ShownPayment>(c, { name, resultHash: null }, body, Date.now()),
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
      (c, { body }) => takeStep<ShownPurchase>(c, { name, resultHash: null }, body, Date.now()),
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
      const asked = { name: "cancel-refund-request", resultHash: null } as const;
      const shown = await takeStep<ShownPurchase>(c, asked, body, Date.now());
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
        recover<ShownRecord>(c, { side, ...escrow }, { isRetried, updatedAt }, Date.now()),
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
        recover<ShownRecord>(
          c,
          { side, ...body },
          { isRetried: true, updatedAt: null },
          Date.now(),
        ),
    );
  }

  return router;
}
