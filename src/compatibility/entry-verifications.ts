import * as z from "zod";
import { described } from "../http/openapi/fields.ts";
import { type AgentVerification, agentVerification } from "../registry/entries/verification.ts";

const { method, schemaVersion, issuer, schema, credential, holder, baseUrl } =
  agentVerification.shape;

/** The credentials about an agent, as the registry service lists them. */
export const entryVerifications = described(
  z.array(
    z.object({
      method,
      schemaVersion: schemaVersion.unwrap().nullable(),
      issuerAid: issuer.shape.aid,
      issuerOobi: issuer.shape.oobi,
      schemaSaid: schema.shape.said,
      schemaOobi: schema.shape.oobi,
      credentialSaid: credential.shape.said,
      credentialOobi: credential.shape.oobi,
      credentialRegistry: credential.shape.registry.unwrap().nullable(),
      holderAid: holder.shape.aid,
      holderOobi: holder.shape.oobi,
      baseUrl: baseUrl.unwrap().nullable(),
    }),
  ),
  "Credentials about an agent of Web3ChainV2. Null: the credential does not name it.",
);

/** @param found - `Verifications` of an entry */
export function toEntryVerifications(found: unknown): z.input<typeof entryVerifications> {
  return (found as AgentVerification[]).map(({ issuer, schema, credential, holder, ...rest }) => ({
    method: rest.method,
    schemaVersion: rest.schemaVersion ?? null,
    issuerAid: issuer.aid,
    issuerOobi: issuer.oobi,
    schemaSaid: schema.said,
    schemaOobi: schema.oobi,
    credentialSaid: credential.said,
    credentialOobi: credential.oobi,
    credentialRegistry: credential.registry ?? null,
    holderAid: holder.aid,
    holderOobi: holder.oobi,
    baseUrl: rest.baseUrl ?? null,
  }));
}
