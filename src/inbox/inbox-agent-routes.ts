import * as z from "zod";
import { createRouter, type Router, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { listRegistrationResponses } from "../registrations/list-registration-responses.ts";
import type { InboxAgentProfile } from "../registrations/registration-profile.ts";
import { toInboxAgentResponse } from "../registrations/registration-response.ts";
import {
  removeRegistration,
  requestDeregistrationOnce,
  requestRegistration,
} from "../registrations/request-registration.ts";
import {
  DEREGISTRATION_ERRORS,
  REGISTRATION_ERRORS,
  REGISTRATION_GUARDS,
  registrationListQuery,
} from "../registrations/schemas.ts";
import type { RegistrationRow } from "../registrations/tables.ts";
import {
  deregisterBody,
  type InboxRegistrationBody,
  inboxAgentRecord,
  inboxRegistrationBody,
  inboxRemovalBody,
} from "./schemas.ts";

const TAG = "Inbox agents";
const KIND = "InboxAgent";
const PATH = "/inbox-agents";
/** Alias for clients of similar services. */
const ALIAS_PATH = "/registry-inbox";

/** `/inbox-agents` of the interface: registering and deregistering inbox agents on the chain. */
export function createInboxAgentRoutes() {
  const router = createRouter();
  registerInboxAgentRoutes(router, PATH);
  registerInboxAgentRoutes(router, ALIAS_PATH);
  return router;
}

function registerInboxAgentRoutes(router: Router, path: string): void {
  const operationIdOf = (operationId: string, name: string) =>
    path === ALIAS_PATH ? { operationId: `${operationId}Alias`, aliasOf: name } : { operationId };

  serve(
    router,
    {
      method: "get",
      ...operationIdOf("listInboxAgents", "GET /inbox-agents"),
      isConditional: true,
      path,
      access: "User",
      scope: "wallets",
      tag: TAG,
      summary: "Lists the inbox agents that this service registered, newest first",
      query: registrationListQuery,
      data: z.object({ Assets: described(z.array(inboxAgentRecord), "The registrations.") }),
    },
    async (c, { query }) => ({
      Assets: await listRegistrationResponses(c, KIND, query, toInboxAgentResponse),
    }),
  );

  serve(
    router,
    {
      method: "post",
      ...operationIdOf("registerInboxAgent", "POST /inbox-agents"),
      path,
      access: "+PAY",
      scope: "wallets",
      names: REGISTRATION_GUARDS,
      tag: TAG,
      summary: "Registers an inbox agent",
      description: "The service then mints the token on the chain. `GET` shows the progress.",
      body: inboxRegistrationBody,
      idempotent: true,
      data: inboxAgentRecord,
      errors: REGISTRATION_ERRORS,
    },
    async (c, { body }) =>
      requestRegistration(c, KIND, body, () => toProfile(body), toPendingRecord, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      ...operationIdOf("deregisterInboxAgent", "POST /inbox-agents/deregister"),
      path: `${path}/deregister`,
      access: "+PAY",
      scope: "wallets",
      tag: TAG,
      summary: "Deregisters an inbox agent",
      description: "The service then burns the token on the chain.",
      body: deregisterBody,
      idempotent: true,
      data: inboxAgentRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => requestDeregistrationOnce(c, KIND, body, toPendingRecord, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      ...operationIdOf("deleteInboxAgent", "DELETE /inbox-agents"),
      path,
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Permanently removes the record of an inbox agent",
      description: "The registration must have failed, or the deregistration must be confirmed.",
      body: inboxRemovalBody,
      data: inboxAgentRecord,
      errors: {
        404: "There is no such registration.",
        409: "The registration is in another state.",
      },
    },
    async (c, { body }) => toPendingRecord(await removeRegistration(c, KIND, body.id, Date.now())),
  );
}

/** A new registration has no confirmations. */
const toPendingRecord = (row: RegistrationRow) => toInboxAgentResponse(row, null);

function toProfile({ name, description, agentSlug }: InboxRegistrationBody): InboxAgentProfile {
  return { name, description: description || null, agentSlug, metadataVersion: 1 };
}
