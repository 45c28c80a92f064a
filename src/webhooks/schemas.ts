import { z } from "@hono/zod-openapi";
import { limit, page, text, time } from "../http/parameters.ts";
import { DELIVERY_STATUSES, EVENT_KINDS, WEBHOOK_FORMATS } from "./kinds.ts";

const MAX_URL_LENGTH = 500;
const MAX_NAME_LENGTH = 100;
const MAX_OVERLAP_S = 7 * 24 * 60 * 60;
const DEFAULT_OVERLAP_S = 24 * 60 * 60;

const url = text(MAX_URL_LENGTH).openapi({ format: "uri", description: "An https URL." });
const format = z.enum(WEBHOOK_FORMATS);
const events = z
  .array(z.enum(EVENT_KINDS))
  .min(1)
  .max(EVENT_KINDS.length)
  .openapi({ description: "Kinds of events. FUND_DISTRIBUTION_* are never sent." });
const name = text(MAX_NAME_LENGTH, 0);
const authToken = text(200, 10)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces")
  .nullable()
  .optional()
  .openapi({ description: "Sent as `Authorization: Bearer …` with each delivery." });
const webhookId = text();

export const createBody = z.object({
  url,
  format: format.default("EXTENDED"),
  Events: events,
  name: name.default(""),
  paymentSourceId: text().nullable().optional().openapi({
    description: "Only events of this payment source; left out or null: of all of them.",
  }),
  authToken,
});
export type CreateBody = z.output<typeof createBody>;

export const updateBody = z.object({
  webhookId,
  url: url.optional(),
  format: format.optional(),
  Events: events.optional(),
  name: name.optional(),
  authToken,
  isActive: z
    .boolean()
    .optional()
    .openapi({ description: "`true` revives a disabled endpoint, `false` pauses it." }),
});
export type UpdateBody = z.output<typeof updateBody>;

export const webhookIdBody = z.object({ webhookId });

export const rotateBody = z.object({
  webhookId,
  overlapSeconds: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_S)
    .default(DEFAULT_OVERLAP_S)
    .openapi({ description: "How long the secret so far signs too." }),
  force: z
    .boolean()
    .default(false)
    .openapi({ description: "Rotates although the last rotation still overlaps." }),
});

export const listQuery = z.object({
  ...page,
  limit: limit(50),
  paymentSourceId: text().optional(),
});

export const deliveriesQuery = z.object({
  ...page,
  webhookId,
  status: z.enum(DELIVERY_STATUSES).optional(),
  event: z.enum(EVENT_KINDS).optional(),
  since: time().optional().openapi({ description: "Events of this time or later." }),
  until: time().optional().openapi({ description: "Events before this time." }),
});

export const replayBody = z.object({
  webhookId,
  id: text().optional().openapi({ description: "The event's id, which is the `webhook-id`." }),
  status: z
    .enum(["Success", "Failed", "Cancelled"])
    .optional()
    .openapi({ description: "Of a span of time; default: Failed and Cancelled." }),
  event: z.enum(EVENT_KINDS).optional(),
  since: time().optional(),
  until: time().optional(),
});

const webhookFields = {
  id: z.string(),
  url: z.string(),
  name: z.string(),
  format,
  Events: z.array(z.enum(EVENT_KINDS)),
  isActive: z.boolean(),
  createdAt: z.string(),
  updatedAt: z.string(),
  paymentSourceId: z.string().nullable(),
};

/** What an update answers with, and a creation beside the secret. */
export const webhookRecord = z.object(webhookFields).openapi("Webhook");
export type WebhookRecord = z.infer<typeof webhookRecord>;

export const createdWebhook = z
  .object({
    ...webhookFields,
    secret: z.string().openapi({
      description: "`whsec_…`, by which deliveries are verified. Shown here and never again.",
    }),
  })
  .openapi("CreatedWebhook");

export const listedWebhook = z
  .object({
    ...webhookFields,
    failureCount: z.number(),
    lastSuccessAt: z.string().nullable(),
    disabledAt: z.string().nullable(),
    disabledReason: z.string().nullable(),
    CreatedBy: z.object({ apiKeyId: z.string(), apiKeyToken: z.string() }).nullable(),
  })
  .openapi("ListedWebhook");
export type ListedWebhook = z.infer<typeof listedWebhook>;

export const deletedWebhook = z.object({
  id: z.string(),
  url: z.string(),
  name: z.string(),
  deletedAt: z.string(),
});

export const testResult = z.object({
  webhookId: z.string(),
  success: z.boolean(),
  responseCode: z.number().nullable(),
  errorMessage: z.string().nullable(),
  durationMs: z.number(),
});

export const rotatedSecret = z.object({
  webhookId: z.string(),
  secret: z.string(),
  previousSecretValidUntil: z.string().nullable(),
});

export const deliveryRecord = z
  .object({
    id: z.string().openapi({ description: "The event's id, sent as `webhook-id`." }),
    webhookId: z.string(),
    event: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.number(),
    nextAttemptAt: z.string().nullable(),
    lastAttemptAt: z.string().nullable(),
    responseStatus: z.number().nullable(),
    error: z.string().nullable(),
    durationMs: z.number().nullable(),
    createdAt: z.string(),
  })
  .openapi("WebhookDelivery");

export const replayResult = z.object({ replayed: z.number() });
