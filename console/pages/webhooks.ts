import { textAt } from "../ui/path.ts";
import type { Page } from "../ui/resource.ts";
import { EVENT_KINDS, WEBHOOK_FORMATS } from "./fields/choices.ts";
import { ENDPOINTS, PAYMENT_SOURCES } from "./fields/known-ids.ts";

const fields = [
  {
    name: "url",
    label: "URL",
    from: "url",
    isRequired: true,
    hint: "https, with a public host name.",
  },
  { name: "name", label: "Name", from: "name" },
  {
    name: "format",
    label: "Format",
    as: "choice",
    choices: WEBHOOK_FORMATS,
    from: "format",
    initial: "EXTENDED",
    isRequired: true,
  },
  { name: "Events", label: "Events", as: "choices", choices: EVENT_KINDS, from: "Events" },
  {
    name: "authToken",
    label: "Bearer token",
    as: "secret",
    hint: "Sent to the receiver; left as it is when empty.",
  },
] as const;

const isOff = (row: unknown) => textAt(row, "isActive") === "false";

export const webhooks: Page = {
  name: "webhooks",
  title: "Webhooks",
  needs: "+PAY",
  tabs: [
    {
      name: "endpoints",
      title: "Endpoints",
      about:
        "Receivers of events. One that fails for too long is disabled: mend the receiver, test it, then revive it here and replay what it missed.",
      path: "/webhooks",
      rows: "Webhooks",
      empty:
        "There is no endpoint yet. Create one to receive events of payments, purchases and errors.",
      columns: [
        { head: "Name", at: "name" },
        { head: "URL", at: "url", as: "link" },
        { head: "Format", at: "format" },
        { head: "Active", at: "isActive", as: "flag" },
        { head: "Failures", at: "failureCount" },
        { head: "Last success", at: "lastSuccessAt", as: "time" },
        { head: "Disabled", at: "disabledAt", as: "time" },
        { head: "Why", at: "disabledReason" },
      ],
      creates: [
        {
          name: "create",
          label: "Create endpoint",
          about: "Sends the chosen events to a URL, signed. The signing secret is shown once.",
          method: "POST",
          path: "/webhooks",
          fields: [
            ...fields,
            {
              name: "paymentSourceId",
              label: "Only of payment source (id)",
              known: PAYMENT_SOURCES,
            },
          ],
          needs: "+PAY",
          shows: [
            { head: "Signing secret", at: "secret", as: "secret" },
            { head: "Id", at: "id" },
          ],
        },
      ],
      related: [
        { label: "Delivery log", page: "webhooks", tab: "deliveries", query: { webhookId: "id" } },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          about: "Changes where events go, which, and in what form.",
          method: "PATCH",
          path: "/webhooks",
          fields,
          fromRow: { webhookId: "id" },
          needs: "+PAY",
        },
        {
          name: "test",
          label: "Send test event",
          about:
            "Sends a test event at once, whether or not the endpoint is active, and shows the receiver's answer.",
          method: "POST",
          path: "/webhooks/test",
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          shows: [
            { head: "Delivered", at: "success", as: "flag" },
            { head: "HTTP status", at: "responseCode" },
            { head: "Problem", at: "errorMessage" },
            { head: "Milliseconds", at: "durationMs" },
          ],
        },
        {
          name: "revive",
          label: "Revive",
          about:
            "Makes the endpoint active again. Events from now on are sent; replay sends those that it missed.",
          method: "PATCH",
          path: "/webhooks",
          fixed: { isActive: true },
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          when: isOff,
        },
        {
          name: "pause",
          label: "Disable",
          about: "Sends nothing to the endpoint until it is revived.",
          method: "PATCH",
          path: "/webhooks",
          fixed: { isActive: false },
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          when: (row) => !isOff(row),
        },
        {
          name: "rotate",
          label: "Rotate secret",
          about:
            "Makes a new signing secret, shown once. Deliveries are signed with both until the overlap is over.",
          method: "POST",
          path: "/webhooks/rotate-secret",
          fields: [{ name: "overlapSeconds", label: "Overlap in seconds", as: "number" }],
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          shows: [
            { head: "New signing secret", at: "secret", as: "secret" },
            { head: "The former is valid until", at: "previousSecretValidUntil", as: "time" },
          ],
        },
        {
          name: "replay",
          label: "Replay events",
          about:
            "Delivers events again, under the same ids. Receivers that dedupe by id take each once.",
          method: "POST",
          path: "/webhooks/deliveries/replay",
          fields: [
            {
              name: "status",
              label: "Only deliveries that",
              as: "choice",
              choices: ["Failed", "Cancelled", "Success"],
              initial: "Failed",
            },
            { name: "event", label: "Only this event", as: "choice", choices: EVENT_KINDS },
            {
              name: "since",
              label: "Since",
              as: "time",
              hint: "ISO 8601, such as 2026-11-22T06:00:00Z.",
            },
            { name: "until", label: "Until", as: "time" },
          ],
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          shows: [{ head: "Deliveries queued", at: "replayed" }],
        },
        {
          name: "delete",
          label: "Delete",
          about: "Deletes the endpoint and its delivery log.",
          method: "DELETE",
          path: "/webhooks",
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          isFinal: true,
        },
      ],
    },
    {
      name: "deliveries",
      title: "Delivery log",
      about:
        "What was sent to one endpoint, or about one payment or purchase, newest event first. Open one to see each attempt.",
      path: "/webhooks/deliveries",
      rows: "Deliveries",
      key: ["id", "webhookId"],
      cursor: { cursorWebhookId: "webhookId" },
      empty: "Nothing was sent to this endpoint, or nothing that the filters leave.",
      filters: [
        {
          name: "webhookId",
          label: "Endpoint (id)",
          known: ENDPOINTS,
          isRequired: true,
          unlessGiven: "recordId",
        },
        { name: "recordId", label: "Payment or purchase (id)" },
        {
          name: "status",
          label: "Status",
          as: "choice",
          choices: ["Pending", "Retrying", "Success", "Failed", "Cancelled"],
        },
        { name: "event", label: "Event", as: "choice", choices: EVENT_KINDS },
      ],
      columns: [
        { head: "Event", at: "event" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Attempts", at: "attempts" },
        { head: "Answer", at: "responseStatus" },
        { head: "Problem", at: "error" },
        { head: "Milliseconds", at: "durationMs" },
        { head: "Last attempt", at: "lastAttemptAt", as: "time" },
        { head: "Next attempt", at: "nextAttemptAt", as: "time" },
      ],
      actions: [
        {
          name: "again",
          label: "Deliver again",
          about: "Delivers this event once more, under the same id.",
          method: "POST",
          path: "/webhooks/deliveries/replay",
          fromRow: { webhookId: "webhookId", id: "id" },
          needs: "+PAY",
          when: (row) => /Success|Failed|Cancelled/.test(textAt(row, "status")),
        },
      ],
    },
  ],
};
