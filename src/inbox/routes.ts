import { z } from "@hono/zod-openapi";
import { permitNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { readSession } from "../http/session.ts";
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

/** `/inbox-agent-registration…` of the interface: what the chain and the providers say. */
export function inboxRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      path: "/inbox-agent-registration-refresh",
      access: "User",
      tag: TAG,
      summary: "Verifies an inbox registration anew",
      description:
        "One that was invalid becomes pending first. A provider that does not answer in six seconds changes nothing.",
      body: refreshBody,
      data: z.object({ registration: inboxRegistrationRecord }),
      errors: {
        402: "The API key has no usage credits left.",
        404: "There is no such registration.",
      },
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const row = await refreshInbox(c, body);
      return { registration: shownInbox(row, usualProviders(c.env)) };
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/inbox-agent-registration",
      access: "User",
      tag: TAG,
      summary: "Lists inbox registrations, newest first",
      body: listBody,
      data: inboxRegistrations,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const session = readSession(c, body.network);
      return shown(c, await inboxList(session, body, body.filter ?? {}));
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/inbox-agent-registration-search",
      access: "User",
      tag: TAG,
      summary: "Searches inbox registrations, newest first",
      body: searchBody,
      data: inboxRegistrations,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const session = readSession(c, body.network);
      return shown(c, await inboxList(session, body, body.filter ?? {}, body.query));
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/inbox-agent-registration-diff",
      access: "User",
      tag: TAG,
      summary: "Returns inbox registrations whose status changed since a point",
      description: "Pages as POST /registry-diff does.",
      body: diffBody,
      data: inboxRegistrations,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const session = readSession(c, body.network);
      return shown(c, await inboxDiff(session, body, body.statusUpdatedAfter, body));
    },
  );

  return router;
}

function shown(c: AppContext, rows: InboxRow[]) {
  const providers = usualProviders(c.env);
  return { registrations: rows.map((row) => shownInbox(row, providers)) };
}
