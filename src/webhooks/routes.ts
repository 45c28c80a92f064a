import * as z from "zod";
import { openDb } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { listDeliveries } from "./delivery/list-deliveries.ts";
import { replayDeliveries, testEndpoint } from "./delivery/replay-deliveries.ts";
import { createEndpoint } from "./endpoints/create-endpoint.ts";
import { isWebhookVisible, listEndpoints } from "./endpoints/find-endpoint.ts";
import { deleteEndpoint, rotateSecret, updateEndpoint } from "./endpoints/update-endpoint.ts";
import {
  createdWebhook,
  createWebhookBody,
  deletedWebhook,
  deliveriesQuery,
  deliveryRecord,
  listedWebhook,
  replayDeliveriesBody,
  replayResult,
  rotatedSecret,
  rotateSecretBody,
  testEvent,
  testResult,
  updateWebhookBody,
  webhookIdBody,
  webhookListQuery,
  webhookRecord,
} from "./model/schemas.ts";
import { TEST_EVENT_KIND } from "./model/tables.ts";

const COMMON_OPTIONS = { access: "+PAY", scope: "owner", tag: "Webhooks" } as const;
const NOT_FOUND_ERROR = { 404: "There is no such webhook." };

/** The operation that changes a webhook. */
export const UPDATE_WEBHOOK_ENDPOINT = {
  ...COMMON_OPTIONS,
  method: "patch",
  operationId: "updateWebhook",
  path: "/webhooks",
  summary: "Updates a webhook endpoint",
  description: "The update keeps omitted fields. `isActive: true` re-enables a disabled endpoint.",
  body: updateWebhookBody,
  data: webhookRecord,
  status: "Success",
  errors: {
    ...NOT_FOUND_ERROR,
    409: "The API key already has the same webhook, or another request changes this webhook.",
  },
} as const;

/** `/webhooks` of the interface. */
export function createWebhookRoutes() {
  const router = createRouter();
  router.events.push({
    kind: TEST_EVENT_KIND,
    summary: "A test event, requested with `POST /webhooks/test`",
    data: testEvent,
  });

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "get",
      operationId: "listWebhooks",
      isConditional: true,
      path: "/webhooks",
      summary: "Lists webhook endpoints, newest first",
      description: "A key that is no Admin sees the webhooks that it created.",
      query: webhookListQuery,
      data: z.object({ Webhooks: described(z.array(listedWebhook), "The webhooks.") }),
      status: "Success",
    },
    async (c, { query }) => {
      const core = openDb(c.env, undefined, { deadline: c.var.deadline });
      return { Webhooks: await listEndpoints(c.env, core, c.var.caller, query) };
    },
  );

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "post",
      operationId: "createWebhook",
      path: "/webhooks",
      summary: "Creates a webhook endpoint",
      description: "Only this response contains the secret that verifies deliveries.",
      body: createWebhookBody,
      idempotent: true,
      data: createdWebhook,
      errors: {
        404: "There is no such payment source.",
        409: "The API key already has the same webhook or the maximum number of webhooks, or the Idempotency-Key belongs to a deleted webhook.",
      },
    },
    (c, { body }) => createEndpoint(c, body, Date.now()),
  );

  serve(router, UPDATE_WEBHOOK_ENDPOINT, (c, { body }) => updateEndpoint(c, body, Date.now()));

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "delete",
      operationId: "deleteWebhook",
      path: "/webhooks",
      summary: "Deletes a webhook endpoint and its delivery log",
      body: webhookIdBody,
      data: deletedWebhook,
      errors: NOT_FOUND_ERROR,
    },
    (c, { body }) => deleteEndpoint(c, body.webhookId, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "post",
      operationId: "testWebhook",
      path: "/webhooks/test",
      summary: "Sends a test event to a webhook endpoint",
      body: webhookIdBody,
      data: testResult,
      errors: NOT_FOUND_ERROR,
    },
    (c, { body }) => testEndpoint(c, body.webhookId, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "post",
      operationId: "rotateWebhookSecret",
      path: "/webhooks/rotate-secret",
      summary: "Rotates the signing secret of a webhook endpoint",
      description: "Deliveries carry two signatures while the previous secret is still valid.",
      body: rotateSecretBody,
      idempotent: true,
      data: rotatedSecret,
      errors: {
        ...NOT_FOUND_ERROR,
        409: "The last rotation still overlaps, or another request changes this webhook.",
      },
    },
    (c, { body }) => rotateSecret(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "get",
      operationId: "listWebhookDeliveries",
      isConditional: true,
      path: "/webhooks/deliveries",
      summary: "Lists the deliveries of a webhook endpoint or about a record, newest event first",
      description:
        "The service keeps deliveries for seven days, unless the operator sets another time. An unknown webhook or record has no deliveries. With `recordId`, the list has the deliveries of all webhooks that the API key created; an Admin sees the deliveries of all webhooks.",
      query: deliveriesQuery,
      data: z.object({ Deliveries: described(z.array(deliveryRecord), "The deliveries.") }),
    },
    async (c, { query }) => {
      const core = openDb(c.env, undefined, { deadline: c.var.deadline });
      const { webhookId, cursorId, cursorWebhookId, limit, ...filter } = query;
      const { caller } = c.var;
      if (webhookId !== undefined && !(await isWebhookVisible(core, caller, webhookId)))
        return { Deliveries: [] };
      const createdById = caller.permission === "Admin" ? undefined : caller.id;
      const which = { ...filter, endpointId: webhookId, createdById };
      const page = { limit, cursorId, cursorWebhookId };
      return { Deliveries: await listDeliveries(core, which, page) };
    },
  );

  serve(
    router,
    {
      ...COMMON_OPTIONS,
      method: "post",
      operationId: "replayWebhookDeliveries",
      path: "/webhooks/deliveries/replay",
      summary: "Delivers events again, under the same ids",
      description:
        "Replays one delivery by `id`, or up to 1,000 deliveries of a time span, oldest first. By default, the call selects failed and cancelled deliveries, and a repeated call continues with the next ones. A repeated call sends successes again: page through them by `since` and `until`.",
      body: replayDeliveriesBody,
      data: replayResult,
      errors: {
        404: "There is no such webhook or delivery.",
        409: "The webhook is not active, or the delivery is still open.",
        410: "The service has deleted the deliveries: they are older than it keeps them.",
      },
    },
    (c, { body }) => replayDeliveries(c, body, Date.now()),
  );

  return router;
}
