import * as z from "zod";
import { answerText, described, named, recordId, timestamp } from "../http/openapi/fields.ts";
import { network } from "../http/openapi/ledger.ts";
import type { DeclaredEvent } from "../http/router.ts";

const sourceStuck = named(
  "StuckSource",
  "A source that is not followed.",
  z.object({
    sourceId: recordId("the source", "01m80ydym8b5krj5k5mrnn0w9r"),
    kind: described(
      named("SourceKind", "What a source is of.", z.enum(["payment", "registry"])),
      "Whether it is a payment source or a registry source.",
      "payment",
    ),
    network,
    lastSyncAt: described(
      timestamp("").nullable(),
      "When it was last read up to the tip; null: never.",
      "2026-11-22T06:17:26.922Z",
    ),
    error: described(
      z.string().nullable(),
      "Why its last sync did not complete; null: nobody has tried.",
      "The chain provider failed",
    ),
  }),
);

const walletStuck = named(
  "StuckWallet",
  "A wallet that does not do what it shall.",
  z.object({
    network,
    walletVkey: described(
      z.string().nullable(),
      "Payment key hash, hex; null: no wallet of the source can do it.",
      "5c7d0ba14bbd3ad0d1b5b4b3a6ecb9bb9ae6c7d5c4c3e1d5a3d6e5b0",
    ),
    paymentSourceId: described(
      z.string().nullable(),
      "The payment source that requested it; null: unknown.",
      "01m80ydym8b5krj5k5mrnn0w9r",
    ),
    waiting: described(z.number(), "Tasks that are known not to be done.", 1),
    reason: answerText("Why one of them is not.", "the wallet lacks 5000000 units"),
  }),
);

const endpointDisabled = named(
  "DisabledWebhook",
  "A webhook that nothing is sent to any more.",
  z.object({
    webhookId: recordId("the webhook", "01m80ydyrn7fh4bt4hg1xd53zw"),
    name: answerText("What people call it.", "Bookkeeping"),
    apiKeyId: recordId("the API key that made it", "env-admin"),
    disabledAt: timestamp("When it was disabled."),
    disabledReason: answerText("Why.", "10 deliveries in a row failed"),
  }),
);

const queueDead = named(
  "DeadMessages",
  "Messages that failed for good. The cron does their work.",
  z.object({
    queue: answerText("The dead-letter queue.", "agent-payment-events-dead"),
    messages: described(z.number(), "How many died together.", 3),
  }),
);

/** Events of the service itself, which only Admins' webhooks are sent: one each time that it begins. */
export const SERVICE_EVENTS: readonly DeclaredEvent[] = [
  {
    kind: "SOURCE_STUCK",
    summary: "For Admins: a payment source or a registry source is not followed any more",
    data: sourceStuck,
  },
  {
    kind: "WALLET_STUCK",
    summary: "For Admins: a wallet does not do what it shall, such as for lack of funds",
    data: walletStuck,
  },
  {
    kind: "ENDPOINT_DISABLED",
    summary: "For Admins: a webhook was disabled, since its receiver failed for too long",
    data: endpointDisabled,
  },
  {
    kind: "QUEUE_DEAD",
    summary: "For Admins: messages of a queue failed for good",
    data: queueDead,
  },
];
