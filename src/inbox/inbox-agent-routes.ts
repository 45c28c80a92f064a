import * as z from "zod";
import { createRouter, type Router, serve } from "../http/endpoint.ts";
import { described, PROVIDER_ERRORS } from "../http/openapi/fields.ts";
import { toInboxAgentResponse } from "../registrations/registration-response.ts";
import {
  type PreparedProfile,
  removeRegistration,
  requestDeregistrationOnce,
  requestRegistration,
} from "../registrations/request-registration.ts";
import {
  DEREGISTRATION_ERRORS,
  REGISTRATION_ERRORS,
  REGISTRATION_GUARDS,
} from "../registrations/request-schemas.ts";
import { serveRegistrations } from "../registrations/serve-registrations.ts";
import type { RegistrationRow } from "../registrations/tables.ts";
import { listTokens, loadToken } from "../registry/assets.ts";
import {
  agentQuery,
  OUT_OF_CREDITS_ERROR,
  TOKEN_ERRORS,
  walletQuery,
} from "../registry/entries/schemas.ts";
import {
  deregisterBody,
  type InboxRegistrationBody,
  inboxAgentRecord,
  inboxAsset,
  inboxRegistrationBody,
  inboxRemovalBody,
} from "./schemas.ts";
import { readInboxMetadata } from "./write-inbox-mints.ts";

const TAG = "Inbox agents";
const KIND = "InboxAgent";
const PATH = "/inbox-agents";
/** Alias for clients of similar services. */
const ALIAS_PATH = "/registry-inbox";

const inboxAgentRegistrations = z.object({
  Assets: described(z.array(inboxAgentRecord), "The registrations."),
});

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

  serveRegistrations(router, {
    kind: KIND,
    path,
    tag: TAG,
    plural: "inbox agents",
    identify: (verb, suffix) => operationIdOf(`${verb}InboxAgents`, `GET ${PATH}${suffix}`),
    data: inboxAgentRegistrations,
    show: toInboxAgentResponse,
  });

  serve(
    router,
    {
      method: "get",
      ...operationIdOf("listWalletInboxAgents", "GET /inbox-agents/wallet"),
      path: `${path}/wallet`,
      access: "User",
      scope: "network",
      names: { walletVKey: "ledgerData", walletVkey: "ledgerData" },
      tag: TAG,
      summary: "Returns the inbox agents whose tokens a managed wallet holds",
      query: walletQuery,
      data: z.object({ Assets: described(z.array(inboxAsset), "The inbox agents.") }),
      errors: { ...PROVIDER_ERRORS, ...OUT_OF_CREDITS_ERROR, 404: "There is no such wallet." },
    },
    async (c, { query: { walletVKey, walletVkey, ...query } }) => {
      const vkey = (walletVKey ?? walletVkey ?? "").toLowerCase();
      return { Assets: await listTokens(c, { ...query, vkey }, readMetadata) };
    },
  );

  serve(
    router,
    {
      method: "get",
      ...operationIdOf("getInboxAgentMetadata", "GET /inbox-agents/agent-identifier"),
      path: `${path}/agent-identifier`,
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Returns the metadata of an inbox agent's token",
      query: agentQuery,
      data: inboxAsset,
      errors: TOKEN_ERRORS,
    },
    (c, { query }) => loadToken(c, query, readMetadata),
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
      requestRegistration(c, KIND, body, () => prepareProfile(body), toPendingRecord, Date.now()),
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

function readMetadata(value: unknown) {
  const found = readInboxMetadata(value);
  if (found === null) return { ok: false, reason: "it is no inbox agent's" } as const;
  const { providerUrl: _, ...metadata } = found;
  return { ok: true, metadata } as const;
}

/** A new registration has no confirmations. */
const toPendingRecord = (row: RegistrationRow) => toInboxAgentResponse(row, null);

function prepareProfile({ name, description, agentSlug }: InboxRegistrationBody): PreparedProfile {
  const profile = {
    name,
    description: description || null,
    agentSlug,
    metadataVersion: 1,
  } as const;
  return { profile, statements: [], warnings: [] };
}
