import type * as z from "zod";
import { type Router, serve } from "../http/endpoint.ts";
import { requestedAgent } from "../registrations/record-schemas.ts";
import {
  AGENT_REGISTRATION_ERRORS,
  REGISTRATION_GUARDS,
  registrationBody,
  UPDATE_ERRORS,
  UPDATE_GUARDS,
  updateBody,
} from "../registrations/request-schemas.ts";
import { registerAgent, updateAgent } from "../registrations/routes.ts";

const RULES = { access: "+PAY", scope: "wallets", tag: "Agents" } as const;

const externalRegistrationBody = registrationBody.extend({
  supportedPaymentSources: registrationBody.shape.SupportedPaymentSources,
  verifications: registrationBody.shape.Verifications,
});
const externalUpdateBody = updateBody.extend({
  supportedPaymentSources: updateBody.shape.SupportedPaymentSources,
  verifications: updateBody.shape.Verifications,
});

type AgentFields = Pick<
  z.output<typeof externalUpdateBody>,
  "supportedPaymentSources" | "verifications" | "SupportedPaymentSources" | "Verifications"
>;

/** A body with our names of the fields. */
function toOwnBody<Body extends AgentFields>({
  supportedPaymentSources: SupportedPaymentSources,
  verifications: Verifications,
  ...body
}: Body) {
  return {
    ...body,
    ...(SupportedPaymentSources && { SupportedPaymentSources }),
    ...(Verifications && { Verifications }),
  };
}

/** Registrations and updates of agents with the names that clients of other services have for fields. */
export function registerAgentRoutes(router: Router): void {
  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "registerAgent",
      path: "/registry",
      names: REGISTRATION_GUARDS,
      summary: "Registers an agent",
      description: "The service then mints the token on the chain. `GET` shows the progress.",
      body: externalRegistrationBody,
      idempotent: true,
      data: requestedAgent,
      errors: AGENT_REGISTRATION_ERRORS,
    },
    (c, { body }) => registerAgent(c, toOwnBody(body)),
  );

  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "updateAgent",
      path: "/registry/update",
      names: UPDATE_GUARDS,
      summary: "Updates an agent of Web3ChainV2",
      description:
        "One transaction then burns the token and mints its next version, which has another `agentIdentifier`. All fields are replaced but omitted prices and credentials. `GET` shows the progress.",
      body: externalUpdateBody,
      idempotent: true,
      data: requestedAgent,
      errors: UPDATE_ERRORS,
    },
    (c, { body }) => updateAgent(c, toOwnBody(body)),
  );
}
