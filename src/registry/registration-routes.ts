import { z } from "@hono/zod-openapi";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import type { OpenSource } from "../sources/managed.ts";
import type { AgentProfile } from "./profile.ts";
import { listShown } from "./registration-list.ts";
import { shownAgent } from "./registration-record.ts";
import {
  removeRegistration,
  requestDeregistration,
  requestRegistration,
} from "./registration-requests.ts";
import {
  agentRegistrationRecord,
  DEREGISTRATION_ERRORS,
  deregisterBody,
  REGISTRATION_ERRORS,
  type RegisterBody,
  registerBody,
  registrationListQuery,
  removeBody,
} from "./registration-schemas.ts";
import type { RegistrationRow } from "./registration-tables.ts";

const TAG = "Agents";
const KIND = "Agent";

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
    async (c, { query }) => ({ Assets: await listShown(c, KIND, query, shownAgent) }),
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
      const profile = (source: OpenSource) => profileOf(body, source);
      return requestRegistration(c, KIND, body, profile, show, Date.now());
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
    async (c, { body }) => requestDeregistration(c, KIND, body, show, Date.now()),
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
