import * as z from "zod";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import type { AgentProfile } from "../registry/entries/profile.ts";
import { prepareAgentProfile } from "./prepare-agent-profile.ts";
import { agentRegistrationRecord, requestedAgent } from "./record-schemas.ts";
import { toAgentResponse } from "./registration-response.ts";
import {
  removeRegistration,
  requestDeregistration,
  requestDeregistrationOnce,
  requestRegistration,
} from "./request-registration.ts";
import {
  AGENT_REGISTRATION_ERRORS,
  DEREGISTRATION_ERRORS,
  deregistrationBody,
  REGISTRATION_GUARDS,
  type RegistrationBody,
  registrationBody,
  registrationRemovalBody,
  UPDATE_ERRORS,
  UPDATE_GUARDS,
  updateBody,
} from "./request-schemas.ts";
import { requestUpdate } from "./request-update.ts";
import { serveRegistrations } from "./serve-registrations.ts";
import type { RegistrationRow } from "./tables.ts";

const TAG = "Agents";
const KIND = "Agent";

const agentRegistrations = z.object({
  Assets: described(z.array(agentRegistrationRecord), "The registrations."),
});

/** The operations that register and update agents. */
export const AGENT_ENDPOINTS = {
  register: {
    method: "post",
    operationId: "registerAgent",
    path: "/registry",
    access: "+PAY",
    scope: "wallets",
    names: REGISTRATION_GUARDS,
    tag: TAG,
    summary: "Registers an agent",
    description: "The service then mints the token on the chain. `GET` shows the progress.",
    body: registrationBody,
    idempotent: true,
    data: requestedAgent,
    errors: AGENT_REGISTRATION_ERRORS,
  },
  update: {
    method: "post",
    operationId: "updateAgent",
    path: "/registry/update",
    access: "+PAY",
    scope: "wallets",
    names: UPDATE_GUARDS,
    tag: TAG,
    summary: "Updates an agent of Web3ChainV2",
    description:
      "One transaction then burns the token and mints its next version, which has another `agentIdentifier`. All fields are replaced but omitted prices and credentials. `GET` shows the progress.",
    body: updateBody,
    idempotent: true,
    data: requestedAgent,
    errors: UPDATE_ERRORS,
  },
} as const;

/** The part of `/registry` that registers, updates and deregisters agents. */
export function createRegistrationRoutes() {
  const router = createRouter();

  serveRegistrations(router, {
    kind: KIND,
    path: "/registry",
    tag: TAG,
    plural: "agents",
    identify: (verb) => ({ operationId: `${verb}Agents` }),
    data: agentRegistrations,
    show: toAgentResponse,
  });

  serve(router, AGENT_ENDPOINTS.register, (c, { body }) => registerAgent(c, body));
  serve(router, AGENT_ENDPOINTS.update, (c, { body }) => updateAgent(c, body));

  serve(
    router,
    {
      method: "post",
      operationId: "deregisterAgentByPost",
      aliasOf: "DELETE /registry",
      path: "/registry/deregister",
      access: "+PAY",
      scope: "wallets",
      tag: TAG,
      summary: "Deregisters an agent",
      description: "The service then burns the token on the chain.",
      body: deregistrationBody,
      idempotent: true,
      data: agentRegistrationRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => requestDeregistrationOnce(c, KIND, body, toPendingResponse, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      operationId: "deregisterAgent",
      path: "/registry",
      access: "+PAY",
      scope: "wallets",
      tag: TAG,
      summary: "Deregisters an agent, or removes its record",
      description:
        "With `agentIdentifier` and `network`, the service then burns the token on the chain. With `id` alone, the service permanently removes the record.",
      body: registrationRemovalBody,
      data: agentRegistrationRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => removeOrDeregister(c, body),
  );

  return router;
}

async function removeOrDeregister(c: AppContext, body: z.output<typeof registrationRemovalBody>) {
  const { id, network, agentIdentifier, smartContractAddress } = body;
  if (id !== undefined) return toPendingResponse(await removeRegistration(c, KIND, id, Date.now()));
  if (network === undefined || agentIdentifier === undefined) throw new Error("not validated");
  const requested = { network, agentIdentifier, smartContractAddress };
  return requestDeregistration(c, KIND, requested, toPendingResponse, Date.now());
}

/** Registers an agent. @throws ApiError 400, 402, 403, 404, 422, 502, 504; ProviderError */
export function registerAgent(c: AppContext, body: RegistrationBody) {
  const now = Date.now();
  return requestRegistration(
    c,
    KIND,
    body,
    (source, row) => prepareAgentProfile(c, body, source, row, null, now),
    toRequestedResponse,
    now,
  );
}

/** Updates an agent. @throws ApiError 400, 402, 403, 404, 409, 422, 502, 504; ProviderError */
export function updateAgent(c: AppContext, body: z.output<typeof updateBody>) {
  const now = Date.now();
  return requestUpdate(
    c,
    body,
    (source, row) => prepareAgentProfile(c, body, source, row, row.profile as AgentProfile, now),
    toRequestedResponse,
    now,
  );
}

const toRequestedResponse = (row: RegistrationRow, warnings: string[]) => ({
  ...toPendingResponse(row),
  Warnings: warnings,
});

/** Nothing is in a block yet, so there are no confirmations. */
const toPendingResponse = (row: RegistrationRow) => toAgentResponse(row, null);
