import { formatDate, toEpochMs } from "../ui/format.ts";
import { textAt } from "../ui/path.ts";
import type { PageDefinition } from "../ui/resource.ts";
import { EVENT_KINDS, WEBHOOK_FORMATS } from "./fields/choices.ts";
import { ENDPOINTS, PAYMENT_SOURCES } from "./fields/known-ids.ts";

const endpointFields = [
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

/** Only an endpoint that the service disabled needs a person. */
function describeState(row: unknown): string {
  if (textAt(row, "isActive") === "true") return "Active";
  return textAt(row, "disabledAt") === "" ? "Disabled by hand" : "Disabled";
}

/** The reader's time, and the time as the diffs take it. */
function describeDisabledTime(row: unknown): string {
  const text = textAt(row, "disabledAt");
  const time = toEpochMs(text);
  return time === null ? "" : `${formatDate(time)} (${text})`;
}

const isDisabled = (row: unknown) => textAt(row, "isActive") === "false";

export const webhooksPage: PageDefinition = {
  name: "webhooks",
  title: "Webhooks",
  access: "+PAY",
  tabs: [
    {
      name: "endpoints",
      title: "Endpoints",
      description:
        "Receivers of events. One that fails for too long is disabled. Repair the receiver, test it, revive it here, and replay the failed and cancelled events. No event is stored while an endpoint is disabled.",
      path: "/webhooks",
      rowsMember: "Webhooks",
      emptyText:
        "There is no endpoint yet. Create one to receive events of payments, purchases and errors.",
      columns: [
        { heading: "Name", path: "name", second: "url" },
        { heading: "State", path: "isActive", as: "tag", describe: describeState },
        {
          heading: "Failed or cancelled",
          path: "failureCount",
          counts: {
            path: "/webhooks/deliveries",
            rowsMember: "Deliveries",
            fromRow: { webhookId: "id" },
            selections: [{ status: "Failed" }, { status: "Cancelled" }],
          },
        },
        { heading: "Last success", path: "lastSuccessAt", as: "time" },
        { heading: "Disabled", path: "disabledAt", as: "time" },
        { heading: "Why", path: "disabledReason" },
      ],
      details: [
        { heading: "URL", path: "url", as: "link" },
        { heading: "Format", path: "format", as: "word" },
        { heading: "Events", path: "Events", as: "words" },
      ],
      creates: [
        {
          name: "create",
          label: "Create endpoint",
          description:
            "Sends the chosen events to a URL, signed. The signing secret is shown once.",
          method: "POST",
          path: "/webhooks",
          fields: [
            ...endpointFields,
            {
              name: "paymentSourceId",
              label: "Only of payment source",
              knownIds: PAYMENT_SOURCES,
            },
          ],
          needs: "+PAY",
          shows: [
            { heading: "Signing secret", path: "secret", as: "secret" },
            { heading: "Id", path: "id" },
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
          description: "Changes where events go, which, and in what form.",
          method: "PATCH",
          path: "/webhooks",
          fields: endpointFields,
          fromRow: { webhookId: "id" },
          needs: "+PAY",
        },
        {
          name: "test",
          label: "Send test event",
          description:
            "Sends a test event at once, whether or not the endpoint is active, and shows the receiver's answer.",
          method: "POST",
          path: "/webhooks/test",
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          shows: [
            { heading: "Delivered", path: "success", as: "flag" },
            { heading: "HTTP status", path: "responseCode" },
            { heading: "Problem", path: "errorMessage" },
            { heading: "Milliseconds", path: "durationMs" },
          ],
        },
        {
          name: "revive",
          label: "Revive",
          description:
            "Sends the endpoint new events from now on. Replay events sends failed and cancelled events again. No event is stored while an endpoint is disabled: read the changes of that time from the diffs of the API.",
          reads: [
            { heading: "Disabled since", path: "disabledAt", describe: describeDisabledTime },
          ],
          method: "PATCH",
          path: "/webhooks",
          fixed: { isActive: true },
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          isApplicable: isDisabled,
        },
        {
          name: "pause",
          label: "Disable",
          description: "Sends nothing to the endpoint until it is revived.",
          method: "PATCH",
          path: "/webhooks",
          fixed: { isActive: false },
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          isApplicable: (row) => !isDisabled(row),
        },
        {
          name: "rotate",
          label: "Rotate secret",
          description:
            "Makes a new signing secret, shown once. Deliveries are signed with both until the overlap is over.",
          method: "POST",
          path: "/webhooks/rotate-secret",
          fields: [{ name: "overlapSeconds", label: "Overlap in seconds", as: "number" }],
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          shows: [
            { heading: "New signing secret", path: "secret", as: "secret" },
            { heading: "The former is valid until", path: "previousSecretValidUntil", as: "time" },
          ],
        },
        {
          name: "replay",
          label: "Replay events",
          description:
            "Delivers stored events of the endpoint again, the oldest 1,000, under the same ids. Receivers that dedupe by id take each once.",
          method: "POST",
          path: "/webhooks/deliveries/replay",
          outcome: "queued",
          fields: [
            {
              name: "status",
              label: "Deliveries",
              as: "choice",
              choices: ["Failed", "Cancelled", "Success"],
              noChoice: "Failed and cancelled",
            },
            {
              name: "event",
              label: "Event",
              as: "choice",
              choices: EVENT_KINDS,
              noChoice: "Any event",
            },
            { name: "since", label: "Since", as: "time" },
            { name: "until", label: "Until", as: "time" },
          ],
          fromRow: { webhookId: "id" },
          needs: "+PAY",
          shows: [{ heading: "Deliveries queued", path: "replayed" }],
        },
        {
          name: "delete",
          label: "Delete",
          description: "Deletes the endpoint and its delivery log.",
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
      description:
        "What was sent to one endpoint, or about one payment or purchase, newest event first. Open one to see each attempt.",
      path: "/webhooks/deliveries",
      rowsMember: "Deliveries",
      key: ["id", "webhookId"],
      cursor: { cursorWebhookId: "webhookId" },
      emptyText: "Nothing was sent to this endpoint, or nothing that the filters leave.",
      filters: [
        {
          name: "webhookId",
          label: "Endpoint",
          knownIds: ENDPOINTS,
          isRequired: true,
          unlessGiven: "recordId",
        },
        { name: "recordId", label: "Payment or purchase" },
        {
          name: "status",
          label: "Status",
          as: "choice",
          choices: ["Pending", "Retrying", "Success", "Failed", "Cancelled"],
        },
        { name: "event", label: "Event", as: "choice", choices: EVENT_KINDS },
      ],
      columns: [
        { heading: "Event", path: "event", as: "word", second: "id" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Attempts", path: "attempts" },
        { heading: "HTTP status", path: "responseStatus" },
        { heading: "Problem", path: "error" },
        { heading: "Last attempt", path: "lastAttemptAt", as: "time" },
        { heading: "Next attempt", path: "nextAttemptAt", as: "time" },
      ],
      details: [
        { heading: "Milliseconds", path: "durationMs" },
        { heading: "Each attempt", path: "AttemptLog", as: "records" },
      ],
      actions: [
        {
          name: "again",
          label: "Deliver again",
          description: "Delivers this event once more, under the same id.",
          method: "POST",
          path: "/webhooks/deliveries/replay",
          outcome: "queued",
          fromRow: { webhookId: "webhookId", id: "id" },
          needs: "+PAY",
          isApplicable: (row) => /Success|Failed|Cancelled/.test(textAt(row, "status")),
        },
      ],
    },
  ],
};
