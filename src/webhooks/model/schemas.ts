import * as z from "zod";
import { EVENT_KINDS } from "../../events/event-kinds.ts";
import {
  countField,
  described,
  idField,
  named,
  nullableTextField,
  nullableTimestampField,
  textField,
  timestampField,
} from "../../http/openapi/fields.ts";
import {
  booleanParameter,
  limitParameter,
  optionalTextParameter,
  pageParameters,
  textParameter,
  timeParameter,
} from "../../http/openapi/parameters.ts";
import { DELIVERY_STATUSES, WEBHOOK_FORMATS } from "./tables.ts";

const MAX_URL_LENGTH = 500;
const MAX_NAME_LENGTH = 100;
const MAX_OVERLAP_S = 7 * 24 * 60 * 60;
const DEFAULT_OVERLAP_S = 24 * 60 * 60;

const EXAMPLE_WEBHOOK_ID = "01m80ydyrn7fh4bt4hg1xd53zw";
const EXAMPLE_EVENT_ID = "01m80ye14bqk5w2m7d3v0zt9xa";
const EXAMPLE_RECORD_ID = "01m80ye14arhma0jvpxvf6nc73";
const EXAMPLE_URL = "https://receiver.example.com/hook";
const EXAMPLE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const EXAMPLE_TIME = "2026-11-22T06:17:27.492Z";

const url = described(
  textParameter(MAX_URL_LENGTH).meta({ format: "public-https-url" }),
  "An https URL on the default port, whose host is public.",
  EXAMPLE_URL,
);
const format = described(
  named("WebhookFormat", "Format of a delivered event.", z.enum(WEBHOOK_FORMATS)),
  "Format of a delivered event. EXTENDED is JSON with the record; the other formats are chat messages.",
  "EXTENDED",
);
const eventKind = described(
  named("EventKind", "A kind of event.", z.enum(EVENT_KINDS)),
  "Kind of the event.",
  "PAYMENT_ON_CHAIN_STATUS_CHANGED",
);
const events = described(
  z.array(eventKind).min(1).max(EVENT_KINDS.length),
  "Kinds of events that the webhook receives.",
);
const name = described(textParameter(MAX_NAME_LENGTH, 0), "Display name.", "Bookkeeping");
const authToken = described(
  textParameter(200, 10)
    .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces")
    .nullable()
    .optional(),
  "Each delivery sends the token as `Authorization: Bearer …`. Null: none.",
  "4f7Qm2Xc9LrTbV1yHnK8",
);
const webhookId = described(textParameter(), "Id of the webhook.", EXAMPLE_WEBHOOK_ID);

export const createWebhookBody = z.strictObject({
  url,
  format: format.default("EXTENDED"),
  Events: events,
  name: name.default(""),
  paymentSourceId: described(
    textParameter().nullable().optional(),
    "Only events of this payment source. Omitted or null: all sources.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
  authToken,
});
export type CreateWebhookBody = z.output<typeof createWebhookBody>;

export const updateWebhookBody = z.strictObject({
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
export type UpdateWebhookBody = z.output<typeof updateWebhookBody>;

export const webhookIdBody = z.object({ webhookId });

export const rotateSecretBody = z.object({
  webhookId,
  overlapSeconds: described(
    z.int().min(0).max(MAX_OVERLAP_S).default(DEFAULT_OVERLAP_S),
    "Seconds for which the previous secret also signs.",
    DEFAULT_OVERLAP_S,
  ),
  force: described(
    z.boolean().default(false),
    "Whether to rotate during the overlap of the last rotation.",
    false,
  ),
});

export const webhookListQuery = z.object({
  ...pageParameters,
  limit: limitParameter(50),
  paymentSourceId: optionalTextParameter(
    "Only webhooks for this payment source.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
  filterDisabled: described(
    booleanParameter(false),
    "Whether to list only webhooks that the service disabled after failures.",
  ),
});

const deliveryStatus = named(
  "DeliveryStatus",
  "Status of a delivery. `Pending` and `Retrying` are open.",
  z.enum(DELIVERY_STATUSES),
);
const since = described(timeParameter().optional(), "Events at or after this time.");
const until = described(timeParameter().optional(), "Events before this time.");
const event = described(eventKind.optional(), "Only events of this kind.");

export const deliveriesQuery = z
  .object({
    ...pageParameters,
    cursorWebhookId: optionalTextParameter(
      "`webhookId` of the last item of the previous page. Without `cursorWebhookId`, the page begins after all deliveries of the event.",
      EXAMPLE_WEBHOOK_ID,
    ),
    status: described(deliveryStatus.optional(), "Only deliveries in this status.", "Failed"),
    event,
    since,
    until,
    webhookId: optionalTextParameter(
      "Id of the webhook. Required without `recordId`.",
      EXAMPLE_WEBHOOK_ID,
    ),
    recordId: optionalTextParameter(
      "Only events about the payment or purchase with this id. Required without `webhookId`.",
      EXAMPLE_RECORD_ID,
    ),
  })
  .refine(({ webhookId, recordId }) => (webhookId ?? recordId) !== undefined, {
    path: ["webhookId"],
    message: "is required, or recordId",
  });

export const replayDeliveriesBody = z.object({
  webhookId,
  id: optionalTextParameter("Id of the event, sent as `webhook-id`.", EXAMPLE_EVENT_ID),
  status: described(
    named(
      "EndedDeliveryStatus",
      "Status of a delivery that has ended.",
      z.enum(["Success", "Failed", "Cancelled"]),
    ).optional(),
    "Status of the deliveries in a time span. Default: Failed and Cancelled.",
    "Failed",
  ),
  event,
  since,
  until,
});

const webhookFields = {
  id: idField("the webhook", EXAMPLE_WEBHOOK_ID),
  url: textField("URL of the receiver.", EXAMPLE_URL),
  name: textField("Display name.", "Bookkeeping"),
  format,
  Events: described(z.array(eventKind), "Kinds of events that the webhook receives."),
  isActive: described(z.boolean(), "Whether the service sends events.", true),
  createdAt: timestampField("Time of creation."),
  updatedAt: timestampField("Time of the last change."),
  paymentSourceId: nullableTextField(
    "The only payment source whose events the webhook receives. Null: all sources.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
};

/** The answer of an update, and of a creation along with the secret. */
export const webhookRecord = named("Webhook", "A webhook endpoint.", z.object(webhookFields));
export type WebhookRecord = z.infer<typeof webhookRecord>;

export const createdWebhook = named(
  "CreatedWebhook",
  "A new endpoint, with the secret that verifies its deliveries.",
  z.object({
    ...webhookFields,
    secret: textField(
      "Secret that verifies deliveries. Only this response contains the secret.",
      EXAMPLE_SECRET,
    ),
  }),
);

/** A time that may not have come. */
function nullableTime(what: string) {
  return nullableTimestampField(what, EXAMPLE_TIME);
}

export const listedWebhook = named(
  "ListedWebhook",
  "A webhook endpoint and its health.",
  z.object({
    ...webhookFields,
    failureCount: countField("Failed deliveries since the last success.", 0),
    lastSuccessAt: nullableTime("Time of the last successful delivery. Null: none yet."),
    disabledAt: nullableTime(
      "Time at which the service disabled the webhook after failures. Null: not disabled.",
    ),
    disabledReason: nullableTextField(
      "Reason of the disabling. Null: not disabled.",
      "answered 500",
    ),
    pausedUntil: nullableTime(
      "Time until which the service sends nothing, since the receiver timed out. Null: no pause.",
    ),
    CreatedBy: described(
      z
        .object({
          apiKeyId: idField("the API key", "env-admin"),
          apiKeyToken: textField("Masked token of the API key.", "*****N-_8"),
        })
        .nullable(),
      "The API key that created the webhook. Null: the key was deleted.",
    ),
  }),
);
export type ListedWebhook = z.infer<typeof listedWebhook>;

export const deletedWebhook = z.object({
  id: idField("the webhook", EXAMPLE_WEBHOOK_ID),
  url: textField("URL of the receiver.", EXAMPLE_URL),
  name: textField("Display name.", "Bookkeeping"),
  deletedAt: timestampField("Time of deletion."),
});

const responseStatus = (example: number) =>
  described(z.number().nullable(), "HTTP status of the response. Null: no response.", example);
const failureReason = nullableTextField("Reason of the failure. Null: no failure.", "answered 500");
const durationMs = described(z.number(), "Milliseconds until the response or the failure.", 42);

export const testResult = z.object({
  webhookId: idField("the webhook", EXAMPLE_WEBHOOK_ID),
  success: described(z.boolean(), "Whether the receiver answered 2xx.", true),
  responseCode: responseStatus(204),
  errorMessage: failureReason,
  durationMs,
});

export const rotatedSecret = z.object({
  webhookId: idField("the webhook", EXAMPLE_WEBHOOK_ID),
  secret: textField("The new secret. Only this response contains the secret.", EXAMPLE_SECRET),
  previousSecretValidUntil: nullableTime(
    "Time until which the previous secret also signs. Null: the previous secret no longer signs.",
  ),
});

const deliveryAttempt = named(
  "WebhookAttempt",
  "An attempt to deliver an event.",
  z.object({
    number: described(z.int().min(1), "Number of the attempt within the delivery, from 1.", 1),
    at: timestampField("Start of the attempt."),
    durationMs,
    responseStatus: responseStatus(500),
    error: failureReason,
  }),
);

export const deliveryRecord = named(
  "WebhookDelivery",
  "A delivery of an event to a webhook.",
  z.object({
    id: idField("the event, sent as `webhook-id`", EXAMPLE_EVENT_ID),
    webhookId: idField("the webhook", EXAMPLE_WEBHOOK_ID),
    recordId: idField("what the event is about", EXAMPLE_RECORD_ID),
    event: textField("Kind of the event.", "PAYMENT_ON_CHAIN_STATUS_CHANGED"),
    status: described(deliveryStatus, "Status.", "Success"),
    attempts: described(z.number(), "Number of attempts.", 1),
    nextAttemptAt: nullableTime("Time of the next attempt. Null: the delivery is not open."),
    lastAttemptAt: nullableTime("Time of the last attempt. Null: none yet."),
    responseStatus: responseStatus(204),
    error: failureReason,
    durationMs: described(
      z.number().nullable(),
      "Duration of the last attempt in milliseconds.",
      42,
    ),
    AttemptLog: described(
      z.array(deliveryAttempt),
      "The newest 20 attempts, oldest first. The list omits an attempt whose outcome was lost.",
    ),
    createdAt: timestampField("Time of the event."),
  }),
);

export const replayResult = z.object({
  replayed: described(z.number(), "Number of deliveries that the service sends again.", 3),
});

/** `data` of WEBHOOK_TEST. */
export const testEvent = named(
  "WebhookTest",
  "Data of a test event.",
  z.object({
    message: textField("Text of the test event.", "This is a test."),
    webhookName: textField("Display name of the webhook.", "Bookkeeping"),
    webhookFormat: format,
    paymentSourceId: webhookFields.paymentSourceId,
    triggeredByApiKeyId: idField("the API key that made the request", "env-admin"),
  }),
);
