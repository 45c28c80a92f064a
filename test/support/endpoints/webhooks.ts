import { EVENT_KINDS } from "../../../src/events/event-kinds.ts";
import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];

const webhookId: Field = {
  name: "webhookId",
  required: true,
  refused: ["", long(250), ...NOT_TEXT],
};
const url = (required: { required?: true }): Field => ({
  name: "url",
  ...required,
  refused: ["", "receiver", `https://receiver.dev/${long(500)}`, ...NOT_TEXT],
});
const events = (required: { required?: true }): Field => ({
  name: "Events",
  ...required,
  refused: [
    [],
    ["WEBHOOK_TEST"],
    [5],
    "PAYMENT_ON_ERROR",
    {},
    null,
    Array(EVENT_KINDS.length + 1).fill("PAYMENT_ON_ERROR"),
  ],
});
const COMMON: Field[] = [
  { name: "format", refused: ["", "slack", "chat", ...NOT_TEXT] },
  { name: "name", refused: [long(100), ...NOT_TEXT] },
  {
    name: "authToken",
    refused: ["", "too short", long(200), "with two words", "line\nbreak-line", 5, true, {}],
  },
];
const since: Field = { name: "since", refused: ["", "yesterday", "2024-01-01T00:00:00"] };
const until: Field = { name: "until", refused: ["", "now", "2024-02-30"] };
const event: Field = { name: "event", refused: ["", "WEBHOOK_TEST"] };

/** The endpoints under `/webhooks`. */
export const WEBHOOK_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "GET",
    path: "/webhooks",
    access: "+PAY",
    valid: { paymentSourceId: "source", limit: "50" },
    fields: [
      { name: "paymentSourceId", refused: ["", long(250)] },
      { name: "filterDisabled", refused: ["", "yes", "1", "TRUE"] },
      { name: "cursorId", refused: ["", long(250)] },
      { name: "limit", refused: ["0", "51", "-1", "1.5", "ten", ""] },
    ],
  },
  {
    method: "POST",
    path: "/webhooks",
    access: "+PAY",
    valid: {
      url: "https://receiver.dev/hook",
      format: "EXTENDED",
      Events: ["PAYMENT_ON_ERROR"],
      name: "mine",
      paymentSourceId: null,
      authToken: null,
    },
    fields: [
      url({ required: true }),
      events({ required: true }),
      ...COMMON,
      { name: "paymentSourceId", refused: ["", long(250), 5, true, {}] },
    ],
  },
  {
    method: "PATCH",
    path: "/webhooks",
    access: "+PAY",
    valid: { webhookId: "webhook" },
    fields: [
      webhookId,
      // What is no URL at all is found out only once there is a webhook to change.
      { name: "url", refused: ["", `https://receiver.dev/${long(500)}`, ...NOT_TEXT] },
      events({}),
      ...COMMON,
      { name: "isActive", refused: ["true", 1, null, {}] },
    ],
  },
  {
    method: "DELETE",
    path: "/webhooks",
    access: "+PAY",
    valid: { webhookId: "webhook" },
    fields: [webhookId],
  },
  {
    method: "POST",
    path: "/webhooks/test",
    access: "+PAY",
    valid: { webhookId: "webhook" },
    fields: [webhookId],
  },
  {
    method: "POST",
    path: "/webhooks/rotate-secret",
    access: "+PAY",
    valid: { webhookId: "webhook", overlapSeconds: 60, force: true },
    fields: [
      webhookId,
      { name: "overlapSeconds", refused: [-1, 604_801, 0.5, "60", null, {}] },
      { name: "force", refused: ["true", 1, null, {}] },
    ],
  },
  {
    method: "GET",
    path: "/webhooks/deliveries",
    access: "+PAY",
    valid: { webhookId: "webhook", status: "Failed", limit: "100", since: "2024-01-01" },
    fields: [
      { name: "webhookId", required: true, refused: ["", long(250)] },
      { name: "recordId", refused: ["", long(250)] },
      { name: "cursorId", refused: ["", long(250)] },
      { name: "cursorWebhookId", refused: ["", long(250)] },
      { name: "limit", refused: ["0", "101", "-1", "1.5", "ten", ""] },
      { name: "status", refused: ["", "failed"] },
      event,
      since,
      until,
    ],
  },
  {
    method: "POST",
    path: "/webhooks/deliveries/replay",
    access: "+PAY",
    valid: { webhookId: "webhook" },
    fields: [
      webhookId,
      { name: "id", refused: ["", long(250), ...NOT_TEXT] },
      { name: "status", refused: ["", "Pending", "Retrying", ...NOT_TEXT] },
      event,
      since,
      until,
    ],
  },
];
