import * as z from "zod";
import { EVENT_KINDS } from "../events/kinds.ts";
import { answerText, described, named, recordId, timestamp } from "../http/openapi/fields.ts";
import { flag, limit, page, text, time } from "../http/parameters.ts";
import { DELIVERY_STATUSES, WEBHOOK_FORMATS } from "./kinds.ts";

const MAX_URL_LENGTH = 500;
const MAX_NAME_LENGTH = 100;
const MAX_OVERLAP_S = 7 * 24 * 60 * 60;
const DEFAULT_OVERLAP_S = 24 * 60 * 60;

const ID = "01m80ydyrn7fh4bt4hg1xd53zw";
const EVENT_ID = "01m80ye14bqk5w2m7d3v0zt9xa";
const RECORD_ID = "01m80ye14arhma0jvpxvf6nc73";
const URL = "https://receiver.example.com/hook";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const AT = "2026-11-22T06:17:27.492Z";

const url = described(
  text(MAX_URL_LENGTH).meta({ format: "public-https-url" }),
  "An https URL on the default port, whose host is public.",
  URL,
);
const format = described(
  named("WebhookFormat", "How an event is written.", z.enum(WEBHOOK_FORMATS)),
  "How an event is written: EXTENDED is JSON with the record, the others are chat messages.",
  "EXTENDED",
);
const eventKind = described(
  named("EventKind", "A kind of event.", z.enum(EVENT_KINDS)),
  "Kind of the event.",
  "PAYMENT_ON_CHAIN_STATUS_CHANGED",
);
const events = described(
  z.array(eventKind).min(1).max(EVENT_KINDS.length),
  "Kinds of events to be told of.",
);
const name = described(text(MAX_NAME_LENGTH, 0), "What people call it.", "Bookkeeping");
const authToken = described(
  text(200, 10)
    .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces")
    .nullable()
    .optional(),
  "Sent as `Authorization: Bearer …` with each delivery; null: none.",
  "4f7Qm2Xc9LrTbV1yHnK8",
);
const webhookId = described(text(), "Id of the webhook.", ID);

export const createBody = z.strictObject({
  url,
  format: format.default("EXTENDED"),
  Events: events,
  name: name.default(""),
  paymentSourceId: described(
    text().nullable().optional(),
    "Only events of this payment source; omitted or null: of all.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
  authToken,
});
export type CreateBody = z.output<typeof createBody>;

export const updateBody = z.strictObject({
  webhookId,
  url: url.optional(),
  format: format.optional(),
  Events: events.optional(),
  name: name.optional(),
  authToken,
  isActive: described(
    z.boolean().optional(),
    "`true` re-enables a disabled endpoint, `false` pauses it.",
    true,
  ),
});
export type UpdateBody = z.output<typeof updateBody>;

export const webhookIdBody = z.object({ webhookId });

export const rotateBody = z.object({
  webhookId,
  overlapSeconds: described(
    z.int().min(0).max(MAX_OVERLAP_S).default(DEFAULT_OVERLAP_S),
    "How long the previous secret also signs.",
    DEFAULT_OVERLAP_S,
  ),
  force: described(
    z.boolean().default(false),
    "Rotates even during the last rotation's overlap.",
    false,
  ),
});

export const listQuery = z.object({
  ...page,
  limit: limit(50),
  paymentSourceId: described(
    text().optional(),
    "Only webhooks for this payment source.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
  filterDisabled: described(
    flag(false),
    "Whether to leave out the webhooks that were not disabled for their failures.",
  ),
});

const deliveryStatus = named(
  "DeliveryStatus",
  "What became of a delivery. `Pending` and `Retrying` are open.",
  z.enum(DELIVERY_STATUSES),
);
const since = described(time().optional(), "Events at or after this time.");
const until = described(time().optional(), "Events before this time.");
const event = described(eventKind.optional(), "Only events of this kind.");

export const deliveriesQuery = z
  .object({
    ...page,
    cursorWebhookId: described(
      text().optional(),
      "`webhookId` of the last item of the previous page. Without it the page begins after the whole event: an event that went to several webhooks may be split between pages only with it.",
      ID,
    ),
    status: described(deliveryStatus.optional(), "Only deliveries in this status.", "Failed"),
    event,
    since,
    until,
    webhookId: described(text().optional(), "Id of the webhook; required without `recordId`.", ID),
    recordId: described(
      text().optional(),
      "Only of events about the payment or purchase with this id; required without `webhookId`.",
      RECORD_ID,
    ),
  })
  .refine(({ webhookId, recordId }) => (webhookId ?? recordId) !== undefined, {
    path: ["webhookId"],
    message: "is required, or recordId",
  });

export const replayBody = z.object({
  webhookId,
  id: described(text().optional(), "The event's id, which is the `webhook-id`.", EVENT_ID),
  status: described(
    named(
      "EndedDeliveryStatus",
      "What became of a delivery that has ended.",
      z.enum(["Success", "Failed", "Cancelled"]),
    ).optional(),
    "In a time span; default: Failed and Cancelled.",
    "Failed",
  ),
  event,
  since,
  until,
});

const webhookFields = {
  id: recordId("the webhook", ID),
  url: answerText("Where events are sent.", URL),
  name: answerText("What people call it.", "Bookkeeping"),
  format,
  Events: described(z.array(eventKind), "Kinds of events that it is told of."),
  isActive: described(z.boolean(), "Whether events are sent.", true),
  createdAt: timestamp("When it was made."),
  updatedAt: timestamp("When it was last changed."),
  paymentSourceId: described(
    z.string().nullable(),
    "The only payment source whose events it gets; null: of all.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
};

/** The answer of an update, and of a creation along with the secret. */
export const webhookRecord = named(
  "Webhook",
  "An endpoint that events are sent to.",
  z.object(webhookFields),
);
export type WebhookRecord = z.infer<typeof webhookRecord>;

export const createdWebhook = named(
  "CreatedWebhook",
  "A new endpoint, with the secret that verifies its deliveries.",
  z.object({
    ...webhookFields,
    secret: answerText("Verifies deliveries. Shown here and never again.", SECRET),
  }),
);

/** A time that may not have come. */
function moment(what: string) {
  return described(timestamp("").nullable(), what, AT);
}

export const listedWebhook = named(
  "ListedWebhook",
  "An endpoint that events are sent to, and how it does.",
  z.object({
    ...webhookFields,
    failureCount: described(z.int().min(0), "Deliveries that failed since the last success.", 0),
    lastSuccessAt: moment("When a delivery last succeeded; null before the first."),
    disabledAt: moment("When it was disabled after too many failures; null: it was not."),
    disabledReason: described(
      z.string().nullable(),
      "Why it was disabled; null: it was not.",
      "answered 500",
    ),
    pausedUntil: moment(
      "Nothing is sent until then, since the receiver timed out; null: it did not.",
    ),
    CreatedBy: described(
      z
        .object({
          apiKeyId: recordId("the API key", "env-admin"),
          apiKeyToken: answerText("Its token, masked.", "*****N-_8"),
        })
        .nullable(),
      "The API key that made it; null when that is gone.",
    ),
  }),
);
export type ListedWebhook = z.infer<typeof listedWebhook>;

export const deletedWebhook = z.object({
  id: recordId("the webhook", ID),
  url: answerText("Where events were sent.", URL),
  name: answerText("What people called it.", "Bookkeeping"),
  deletedAt: timestamp("When it was deleted."),
});

export const testResult = z.object({
  webhookId: recordId("the webhook", ID),
  success: described(z.boolean(), "Whether the receiver answered 2xx.", true),
  responseCode: described(z.number().nullable(), "What it answered; null: nothing.", 204),
  errorMessage: described(
    z.string().nullable(),
    "Why it failed; null when it did not.",
    "answered 500",
  ),
  durationMs: described(z.number(), "Milliseconds until then.", 42),
});

export const rotatedSecret = z.object({
  webhookId: recordId("the webhook", ID),
  secret: answerText("The new secret, shown here and never again.", SECRET),
  previousSecretValidUntil: moment("Until when the previous one also signs; null: it does not."),
});

const deliveryAttempt = named(
  "WebhookAttempt",
  "An event sent to an endpoint once.",
  z.object({
    number: described(z.int().min(1), "Which attempt of the delivery it was, from 1.", 1),
    at: timestamp("When it was begun."),
    durationMs: described(z.number(), "Milliseconds until it was answered or given up.", 42),
    responseStatus: described(z.number().nullable(), "What was answered; null: nothing.", 500),
    error: described(z.string().nullable(), "Why it failed; null when it did not.", "answered 500"),
  }),
);

export const deliveryRecord = named(
  "WebhookDelivery",
  "An event on its way to an endpoint.",
  z.object({
    id: recordId("the event, sent as `webhook-id`", EVENT_ID),
    webhookId: recordId("the webhook", ID),
    recordId: described(
      z.string().nullable(),
      "Id of what the event is about; null of events from before this was kept.",
      RECORD_ID,
    ),
    event: answerText("Kind of the event.", "PAYMENT_ON_CHAIN_STATUS_CHANGED"),
    status: described(deliveryStatus, "What became of it.", "Success"),
    attempts: described(z.number(), "How often it was sent.", 1),
    nextAttemptAt: moment("When it will be sent next; null when it is not open."),
    lastAttemptAt: moment("When it was last sent; null before."),
    responseStatus: described(z.number().nullable(), "What was answered; null: nothing.", 204),
    error: described(z.string().nullable(), "Why it failed; null when it did not.", "answered 500"),
    durationMs: described(z.number().nullable(), "Milliseconds that the last attempt took.", 42),
    AttemptLog: described(
      z.array(deliveryAttempt),
      "The newest 20 attempts, oldest first. One whose outcome was lost is left out, as are those from before this was kept.",
    ),
    createdAt: timestamp("When the event happened."),
  }),
);

export const replayResult = z.object({
  replayed: described(z.number(), "Deliveries that will be sent again.", 3),
});

/** `data` of WEBHOOK_TEST. */
export const testEvent = named(
  "WebhookTest",
  "What a test says.",
  z.object({
    message: answerText("For people.", "This is a test."),
    webhookName: answerText("What people call the webhook.", "Bookkeeping"),
    webhookFormat: format,
    paymentSourceId: webhookFields.paymentSourceId,
    triggeredByApiKeyId: recordId("the API key that asked for it", "env-admin"),
  }),
);
