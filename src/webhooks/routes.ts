import { z } from "@hono/zod-openapi";
import { db } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { listDeliveries } from "./deliveries.ts";
import { isVisible, listEndpoints } from "./endpoints.ts";
import { createEndpoint, deleteEndpoint, rotateSecret, updateEndpoint } from "./manage.ts";
import { replayDeliveries, testEndpoint } from "./resend.ts";
import {
  createBody,
  createdWebhook,
  deletedWebhook,
  deliveriesQuery,
  deliveryRecord,
  listedWebhook,
  listQuery,
  replayBody,
  replayResult,
  rotateBody,
  rotatedSecret,
  testResult,
  updateBody,
  webhookIdBody,
  webhookRecord,
} from "./schemas.ts";

const COMMON = { access: "+PAY", tag: "Webhooks" } as const;
const NOT_FOUND = { 404: "There is no such webhook." };
const DUPLICATE = { 409: "The API key has a webhook for the same already." };
const KEY_REUSED = { 422: "The Idempotency-Key was used for another request." };

/** `/webhooks` of the interface. */
export function webhookRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      ...COMMON,
      method: "get",
      path: "/webhooks",
      summary: "Lists webhook endpoints, newest first",
      description: "Those that the API key created; an Admin sees all of them.",
      query: listQuery,
      data: z.object({ Webhooks: z.array(listedWebhook) }),
      status: "Success",
    },
    async (c, { query }) => {
      const core = db(c.env, undefined, { deadline: c.var.deadline });
      return { Webhooks: await listEndpoints(c.env, core, c.var.caller, query) };
    },
  );

  serve(
    router,
    {
      ...COMMON,
      method: "post",
      path: "/webhooks",
      summary: "Creates a webhook endpoint",
      description: "The answer holds the secret by which deliveries are verified, only this once.",
      body: createBody,
      idempotent: true,
      data: createdWebhook,
      errors: { 404: "There is no such payment source.", ...DUPLICATE, ...KEY_REUSED },
    },
    (c, { body }) => createEndpoint(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON,
      method: "patch",
      path: "/webhooks",
      summary: "Updates a webhook endpoint",
      description: "What is left out is kept. `isActive: true` revives a disabled endpoint.",
      body: updateBody,
      data: webhookRecord,
      status: "Success",
      errors: {
        ...NOT_FOUND,
        409: "The API key has a webhook for the same already, or others change this one just now.",
      },
    },
    (c, { body }) => updateEndpoint(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON,
      method: "delete",
      path: "/webhooks",
      summary: "Deletes a webhook endpoint and its delivery log",
      body: webhookIdBody,
      data: deletedWebhook,
      errors: NOT_FOUND,
    },
    (c, { body }) => deleteEndpoint(c, body.webhookId, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON,
      method: "post",
      path: "/webhooks/test",
      summary: "Sends a test event to a webhook endpoint",
      body: webhookIdBody,
      data: testResult,
      errors: NOT_FOUND,
    },
    (c, { body }) => testEndpoint(c, body.webhookId, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON,
      method: "post",
      path: "/webhooks/rotate-secret",
      summary: "Gives a webhook endpoint a new signing secret",
      description: "Deliveries carry two signatures while the secret so far is valid too.",
      body: rotateBody,
      idempotent: true,
      data: rotatedSecret,
      errors: {
        ...NOT_FOUND,
        409: "The last rotation still overlaps, or others change this webhook just now.",
        ...KEY_REUSED,
      },
    },
    (c, { body }) => rotateSecret(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON,
      method: "get",
      path: "/webhooks/deliveries",
      summary: "Lists the deliveries of a webhook endpoint, newest event first",
      description: "Deliveries are kept for 30 days. An unknown webhook has none.",
      query: deliveriesQuery,
      data: z.object({ Deliveries: z.array(deliveryRecord) }),
    },
    async (c, { query }) => {
      const core = db(c.env, undefined, { deadline: c.var.deadline });
      const { webhookId, status, event, since, until } = query;
      if (!(await isVisible(core, c.var.caller, webhookId))) return { Deliveries: [] };
      const filter = { status, event, since, until };
      return { Deliveries: await listDeliveries(core, webhookId, filter, query) };
    },
  );

  serve(
    router,
    {
      ...COMMON,
      method: "post",
      path: "/webhooks/deliveries/replay",
      summary: "Delivers events again, under the same ids",
      description:
        "One delivery by `id`, or up to 1,000 of a span of time, oldest first; by default those that failed or were cancelled. Asked again it goes on with the next of those; successes come again, so go on with them by `since` and `until`.",
      body: replayBody,
      data: replayResult,
      errors: {
        404: "There is no such webhook or delivery.",
        409: "The webhook is not active, or the delivery is still open.",
      },
    },
    (c, { body }) => replayDeliveries(c, body, Date.now()),
  );

  return router;
}
