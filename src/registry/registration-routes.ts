import { z } from "@hono/zod-openapi";
import { permitNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { readSession } from "../http/session.ts";
import type { OpenSource } from "../sources/managed.ts";
import type { AgentProfile } from "./profile.ts";
import { type RegistrationRow, shownAgent } from "./registration.ts";
import { listFilters } from "./registration-filters.ts";
import {
  removeRegistration,
  requestDeregistration,
  requestRegistration,
} from "./registration-requests.ts";
import {
  agentRegistrationRecord,
  deregisterBody,
  type RegisterBody,
  registerBody,
  registrationListQuery,
  removeBody,
} from "./registration-schemas.ts";
import { listRegistrations, tipHeight } from "./registration-store.ts";

const TAG = "Agents";
const KIND = "Agent";

/** What deregistering and removing can answer beyond the usual. */
export const DEREGISTRATION_ERRORS = {
  404: "There is no such registration, or nobody holds its token.",
  409: "The state does not allow it, or the token is held by a wallet that is not managed.",
  422: "The Idempotency-Key was used for another request.",
  502: "The chain provider failed.",
  504: "The chain provider did not answer in time.",
};
export const REGISTRATION_ERRORS = {
  404: "No payment source sells with this wallet.",
  422: "The Idempotency-Key was used for another request.",
};

/** `/registry` of the interface, as far as it registers and deregisters agents. */
export function registrationRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/registry",
      access: "User",
      tag: TAG,
      summary: "Lists the agents that were registered here, newest first",
      query: registrationListQuery,
      data: z.object({ Assets: z.array(agentRegistrationRecord) }),
    },
    async (c, { query }) => {
      permitNetwork(c.var.caller, query.network);
      const session = readSession(c, query.network);
      const rows = await listRegistrations(session, KIND, listFilters(query));
      const tip = await tipHeight(session, query.network);
      return { Assets: rows.map((row) => shownAgent(row, tip)) };
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/registry",
      access: "+PAY",
      tag: TAG,
      summary: "Registers an agent",
      description: "Its token is minted on the chain afterwards; GET shows how far that has come.",
      body: registerBody,
      idempotent: true,
      data: agentRegistrationRecord,
      errors: REGISTRATION_ERRORS,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      return requestRegistration(
        c,
        KIND,
        body,
        (source) => profileOf(body, source),
        show,
        Date.now(),
      );
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/registry/deregister",
      access: "+PAY",
      tag: TAG,
      summary: "Deregisters an agent",
      description: "Its token is burned on the chain afterwards; the same as DELETE /registry.",
      body: deregisterBody,
      idempotent: true,
      data: agentRegistrationRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      return requestDeregistration(c, KIND, body, show, Date.now());
    },
  );

  serve(
    router,
    {
      method: "delete",
      path: "/registry",
      access: "+PAY",
      tag: TAG,
      summary: "Deregisters an agent, or removes its record",
      body: removeBody,
      data: agentRegistrationRecord,
      errors: DEREGISTRATION_ERRORS,
    },
    async (c, { body }) => remove(c, body),
  );

  return router;
}

async function remove(c: AppContext, body: z.output<typeof removeBody>) {
  const { id, network, agentIdentifier, smartContractAddress } = body;
  if (id !== undefined) return show(await removeRegistration(c, KIND, id, Date.now()));
  if (network === undefined || agentIdentifier === undefined) throw new Error("not validated");
  permitNetwork(c.var.caller, network);
  const wanted = { network, agentIdentifier, smartContractAddress };
  return requestDeregistration(c, KIND, wanted, show, Date.now());
}

/** Where nothing is in a block yet, confirmations do not matter. */
const show = (row: RegistrationRow) => shownAgent(row, null);

function profileOf(body: RegisterBody, { type }: OpenSource): AgentProfile {
  const { AgentPricing: pricing } = body;
  return {
    name: body.name,
    description: body.description,
    apiBaseUrl: body.apiBaseUrl,
    image: body.image,
    tags: body.Tags,
    capability: body.Capability,
    author: body.Author,
    legal: body.Legal,
    exampleOutputs: body.ExampleOutputs,
    pricing: {
      type: pricing.pricingType,
      amounts: pricing.pricingType === "Fixed" ? pricing.Pricing : [],
    },
    paymentType: pricing.pricingType === "Free" ? "None" : type,
    metadataVersion: type === "Web3ChainV1" ? 1 : 2,
  };
}
