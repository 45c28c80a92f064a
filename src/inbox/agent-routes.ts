import * as z from "zod";
import { createRouter, type Router, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { listShown } from "../registrations/list.ts";
import { shownInboxAgent } from "../registrations/record.ts";
import {
  removeRegistration,
  requestDeregistrationOnce,
  requestRegistration,
} from "../registrations/requests.ts";
import {
  DEREGISTRATION_ERRORS,
  REGISTRATION_ERRORS,
  REGISTRATION_GUARDS,
  registrationListQuery,
} from "../registrations/schemas.ts";
import type { RegistrationRow } from "../registrations/tables.ts";
import type { InboxAgentProfile } from "../registrations/token.ts";
import {
  deregisterBody,
  inboxAgentRecord,
  type RegisterBody,
  registerBody,
  removeBody,
} from "./schemas.ts";

const TAG = "Inbox agents";
const KIND = "InboxAgent";
const PATH = "/inbox-agents";
/** Another name of it, of clients of similar services. */
const ALIAS = "/registry-inbox";

/** `/inbox-agents` of the interface: registering and deregistering inbox agents on the chain. */
export function inboxAgentRoutes() {
  const router = createRouter();
  serveInboxAgents(router, PATH);
  serveInboxAgents(router, ALIAS);
  return router;
}

function serveInboxAgents(router: Router, path: string): void {
  const called = (operationId: string, name: string) =>
    path === ALIAS ? { operationId: `${operationId}Alias`, aliasOf: name } : { operationId };

  serve(
    router,
    {
      method: "get",
      ...called("listInboxAgents", "GET /inbox-agents"),
      isConditional: true,
      path,
      access: "User",
      scope: "wallets",
      tag: TAG,
      summary: "Lists the inbox agents that were registered here, newest first",
      query: registrationListQuery,
      data: z.object({ Assets: described(z.array(inboxAgentRecord), "The registrations.") }),
    },
    async (c, { query }) => ({ Assets: await listShown(c, KIND, query, shownInboxAgent) }),
  );

  serve(
    router,
    {
      method: "post",
      ...called("registerInboxAgent", "POST /inbox-agents"),
      path,
      access: "+PAY",
      scope: "wallets",
      names: REGISTRATION_GUARDS,
      tag: TAG,
      summary: "Registers an inbox agent",
      description: "Its token is minted on the chain afterwards; GET shows the progress.",
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
      ...called("deregisterInboxAgent", "POST /inbox-agents/deregister"),
      path: `${path}/deregister`,
      access: "+PAY",
      scope: "wallets",
      tag: TAG,
      summary: "Deregisters an inbox agent",
      description: "Its token is burned on the chain afterwards.",
      body: deregisterBody,
      idempotent: true,
      data: inboxAgentRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => requestDeregistrationOnce(c, KIND, body, show, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      ...called("deleteInboxAgent", "DELETE /inbox-agents"),
      path,
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Permanently removes the record of an inbox agent",
      description: "Only if its registration failed or its deregistration is confirmed.",
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

/** Nothing is in a block yet, so there are no confirmations. */
const show = (row: RegistrationRow) => shownInboxAgent(row, null);

function profileOf({ name, description, agentSlug }: RegisterBody): InboxAgentProfile {
  return { name, description: description || null, agentSlug, metadataVersion: 1 };
}
