import * as z from "zod";
import { EVENT_KINDS, type EventKind, SERVICE_EVENT_KINDS } from "../events/event-kinds.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { requireManagedEndpoint } from "../webhooks/endpoints/find-endpoint.ts";
import { openCoreDatabase, updateEndpoint } from "../webhooks/endpoints/update-endpoint.ts";
import { UPDATE_WEBHOOK_ENDPOINT } from "../webhooks/routes.ts";

/** Kinds that the clients' schemas refuse. */
const OWN_KINDS = [...SERVICE_EVENT_KINDS, "PURCHASE_DEADLINE_NEAR", "PAYMENT_DEADLINE_NEAR"];
const isOwnKind = (kind: EventKind) => OWN_KINDS.includes(kind);

const OtherEvents = described(z.array(z.enum(EVENT_KINDS)), "Kinds that clients elsewhere lack.");

export const WEBHOOK_FIELDS = {
  schema: { OtherEvents },
  fieldsOf(record: Record<string, unknown>) {
    const kinds = record.Events as EventKind[];
    return { Events: kinds.filter((one) => !isOwnKind(one)), OtherEvents: kinds.filter(isOwnKind) };
  },
};

/** Changes of webhooks by clients that know the kinds of the payment service alone: the others stay. */
export function registerWebhookRoutes(router: Router): void {
  const body = UPDATE_WEBHOOK_ENDPOINT.body.extend({ OtherEvents: OtherEvents.optional() });
  serve(router, { ...UPDATE_WEBHOOK_ENDPOINT, body }, async (c, { body }) => {
    const { OtherEvents: others, ...changes } = body;
    if (!changes.Events && !others) return updateEndpoint(c, changes, Date.now());
    const { events } = await requireManagedEndpoint(c, openCoreDatabase(c), body.webhookId);
    const stored = JSON.parse(events) as EventKind[];
    const named = changes.Events ?? stored.filter((kind) => !isOwnKind(kind));
    const remaining = named.some(isOwnKind) ? [] : stored.filter(isOwnKind);
    const Events = [...named, ...(others ?? remaining)];
    return updateEndpoint(c, { ...changes, Events }, Date.now());
  });
}
