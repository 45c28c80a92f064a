import * as z from "zod";
import { type Router, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { registrationBody, updateBody } from "../registrations/request-schemas.ts";
import { AGENT_ENDPOINTS, registerAgent, updateAgent } from "../registrations/routes.ts";

const kind = described(z.literal("Standard").optional(), "The agent has an `apiBaseUrl`.");

const externalRegistrationBody = registrationBody.extend({
  type: kind,
  supportedPaymentSources: registrationBody.shape.SupportedPaymentSources,
  verifications: registrationBody.shape.Verifications,
});
const externalUpdateBody = updateBody.extend({
  type: kind,
  supportedPaymentSources: updateBody.shape.SupportedPaymentSources,
  verifications: updateBody.shape.Verifications,
});

/** A body with our names of the fields. */
function toOwnBody<Body extends Partial<z.output<typeof externalUpdateBody>>>({
  type: _,
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
  serve(router, { ...AGENT_ENDPOINTS.register, body: externalRegistrationBody }, (c, { body }) =>
    registerAgent(c, toOwnBody(body)),
  );
  serve(router, { ...AGENT_ENDPOINTS.update, body: externalUpdateBody }, (c, { body }) =>
    updateAgent(c, toOwnBody(body)),
  );
}
