import { env } from "cloudflare:workers";
import { freshPath } from "../../support/webhooks/receivers.ts";
import { type Probes, probeWith } from "./probe.ts";

const path = freshPath();
const Events = ["PAYMENT_ON_CHAIN_STATUS_CHANGED"];

/** Requests about webhooks and their deliveries. */
export const WEBHOOK_PROBES: Probes = {
  "GET /webhooks": probeWith(
    () => ({}),
    ({ sourceId }) => ({ paymentSourceId: sourceId }),
  ),
  "POST /webhooks": probeWith(
    () => ({ url: `${env.RECEIVER_URL}${path}`, Events }),
    ({ sourceId }) => ({ url: `${env.RECEIVER_URL}${path}`, Events, paymentSourceId: sourceId }),
  ),
  "PATCH /webhooks": probeWith(({ webhookId }) => ({ webhookId, name: "changed" })),
  "DELETE /webhooks": probeWith(({ webhookId }) => ({ webhookId })),
  "POST /webhooks/test": [
    {
      fields: ({ webhookId }) => ({ webhookId }),
      reveals: { audience: "owner", isRevealed: (body) => body.includes('"success":true') },
    },
  ],
  "POST /webhooks/rotate-secret": probeWith(({ webhookId }) => ({ webhookId })),
  "GET /webhooks/deliveries": probeWith(
    ({ webhookId }) => ({ webhookId }),
    ({ webhookId, lockedPaymentId }) => ({ webhookId, recordId: lockedPaymentId }),
    ({ lockedPaymentId }) => ({ recordId: lockedPaymentId }),
  ),
  "POST /webhooks/deliveries/replay": probeWith(({ webhookId, deliveryId }) => ({
    webhookId,
    id: deliveryId,
  })),
};
