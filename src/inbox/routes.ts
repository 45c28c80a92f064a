import * as z from "zod";
import type { Database } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { envelope } from "../http/envelope.ts";
import { described } from "../http/openapi/fields.ts";
import { diffPaging } from "../http/parameters.ts";
import { readSession, textAnswer } from "../http/session.ts";
import { inboxDiff, inboxList } from "./list.ts";
import { usualProviders } from "./providers.ts";
import { shownInbox } from "./record.ts";
import { refreshInbox } from "./refresh.ts";
import {
  diffBody,
  inboxRegistrationRecord,
  inboxRegistrations,
  listBody,
  refreshBody,
  searchBody,
} from "./schemas.ts";
import type { InboxRow } from "./verification.ts";

const TAG = "Inbox registrations";

/** `/inbox-agent-registration…` of the interface: the state on the chain and at the providers. */
export function inboxRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "refreshInboxRegistration",
      path: "/inbox-agent-registration-refresh",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Verifies an inbox registration anew",
      description:
        "An invalid one becomes pending first. A provider that does not answer in six seconds changes nothing. The credit is charged before the provider is asked.",
      body: refreshBody,
      data: z.object({
        registration: described(inboxRegistrationRecord, "The registration after it."),
      }),
      errors: {
        402: "The API key has no usage credits left.",
        404: "There is no such registration.",
      },
    },
    async (c, { body }) => {
      const row = await refreshInbox(c, body);
      return { registration: shownInbox(row, usualProviders(c.env)) };
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "listInboxRegistrations",
      isConditional: true,
      takesBookmark: true,
      path: "/inbox-agent-registration",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Lists inbox registrations, newest first",
      body: listBody,
      data: inboxRegistrations,
    },
    async (c, { body }) => {
      const session = readSession(c, body.network);
      return page(c, session, await inboxList(session, body, body.filter ?? {}));
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "searchInboxRegistrations",
      isConditional: true,
      takesBookmark: true,
      path: "/inbox-agent-registration-search",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Searches inbox registrations, newest first",
      body: searchBody,
      data: inboxRegistrations,
    },
    async (c, { body }) => {
      const session = readSession(c, body.network);
      return page(c, session, await inboxList(session, body, body.filter ?? {}, body.query));
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "diffInboxRegistrations",
      isConditional: true,
      takesBookmark: true,
      path: "/inbox-agent-registration-diff",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Returns inbox registrations whose status changed since a point",
      description: diffPaging("statusUpdatedAt", "statusUpdatedAfter", "at"),
      body: diffBody,
      data: inboxRegistrations,
    },
    async (c, { body }) => {
      const session = readSession(c, body.network);
      return page(c, session, await inboxDiff(session, body, body.statusUpdatedAfter, body));
    },
  );

  return router;
}

function page(c: AppContext, session: Database, rows: InboxRow[]): Promise<Response> {
  const providers = usualProviders(c.env);
  const registrations = rows.map((row) => shownInbox(row, providers));
  return textAnswer(c, JSON.stringify(envelope({ registrations })), session);
}
