import { z } from "@hono/zod-openapi";
import { createRouter, serve } from "../http/endpoint.ts";
import type { InboxAgentProfile } from "../registry/registration.ts";
import { listShown } from "../registry/registration-list.ts";
import { shownInboxAgent } from "../registry/registration-record.ts";
import {
  removeRegistration,
  requestDeregistration,
  requestRegistration,
} from "../registry/registration-requests.ts";
import {
  DEREGISTRATION_ERRORS,
  REGISTRATION_ERRORS,
  registrationListQuery,
} from "../registry/registration-schemas.ts";
import type { RegistrationRow } from "../registry/registration-tables.ts";
import {
  deregisterBody,
  inboxAgentRecord,
  type RegisterBody,
  registerBody,
  removeBody,
} from "./schemas.ts";

const TAG = "Inbox agents";
const KIND = "InboxAgent";
/** Both names mean the same. */
const PATHS = ["/inbox-agents", "/registry-inbox"] as const;

/** `/inbox-agents` of the interface: registering and deregistering them on the chain. */
export function inboxAgentRoutes() {
  const router = createRouter();
  for (const path of PATHS) serveInboxAgents(router, path);
  return router;
}

function serveInboxAgents(router: ReturnType<typeof createRouter>, path: string): void {
  serve(
    router,
    {
      method: "get",
      path,
      access: "User",
      tag: TAG,
      summary: "Lists the inbox agents that were registered here, newest first",
      query: registrationListQuery,
      data: z.object({ Assets: z.array(inboxAgentRecord) }),
    },
    async (c, { query }) => ({ Assets: await listShown(c, KIND, query, shownInboxAgent) }),
  );

  serve(
    router,
    {
      method: "post",
      path,
      access: "+PAY",
      tag: TAG,
      summary: "Registers an inbox agent",
      description: "Its token is minted on the chain afterwards; GET shows how far that has come.",
      body: registerBody,
      idempotent: true,
      data: inboxAgentRecord,
      errors: REGISTRATION_ERRORS,
    },
    async (c, { body }) =>
      requestRegistration(c, KIND, body, () => profileOf(body), show, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      path: `${path}/deregister`,
      access: "+PAY",
      tag: TAG,
      summary: "Deregisters an inbox agent",
      description: "Its token is burned on the chain afterwards.",
      body: deregisterBody,
      idempotent: true,
      data: inboxAgentRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => requestDeregistration(c, KIND, body, show, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      path,
      access: "Admin",
      tag: TAG,
      summary: "Removes the record of an inbox agent for ever",
      description: "Only of one whose registration failed or whose deregistration is confirmed.",
      body: removeBody,
      data: inboxAgentRecord,
      errors: {
        404: "There is no such registration.",
        409: "The registration is in another state.",
      },
    },
    async (c, { body }) => show(await removeRegistration(c, KIND, body.id, Date.now())),
  );
}

/** Where nothing is in a block yet, confirmations do not matter. */
const show = (row: RegistrationRow) => shownInboxAgent(row, null);

function profileOf({ name, description, agentSlug }: RegisterBody): InboxAgentProfile {
  return { name, description: description || null, agentSlug, metadataVersion: 1 };
}
