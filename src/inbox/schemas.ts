import * as z from "zod";
import { network } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_POLICY_ID,
  idField,
  named,
  nullableTextField,
  textField,
  timestampField,
} from "../http/openapi/fields.ts";
import {
  bodyLimit,
  cursorParameter,
  diffCursorParameter,
  optionalTextParameter,
  textParameter,
  timeParameter,
} from "../http/openapi/parameters.ts";
import { commonRegistrationFields } from "../registrations/record-schemas.ts";
import { deregistrationBody, registrationFields } from "../registrations/request-schemas.ts";
import {
  agentIdentifier,
  metadataVersion,
  policyIdText,
  tokenFields,
} from "../registry/entries/schemas.ts";
import { findSlugProblem, SLUG_PATTERN } from "./slug.ts";
import { INBOX_STATUSES } from "./tables.ts";

const status = named(
  "InboxStatus",
  "Whether an inbox works. `Pending`: the provider was not asked yet, or did not answer.",
  z.enum(INBOX_STATUSES),
);
const statuses = z
  .array(described(status, "A status.", "Verified"))
  .min(1)
  .max(4);
const agentSlug = textParameter(80);
const inboxFilters = {
  status: described(
    statuses.optional(),
    "Only registrations in one of these statuses. Default: Pending and Verified.",
  ),
  policyId: optionalTextParameter("Only under this minting policy.", EXAMPLE_POLICY_ID),
};
const slugFilter = described(agentSlug.optional(), "Only the inbox with this slug.", "demo-inbox");

export const inboxRegistrationBody = z.object({
  ...registrationFields,
  name: described(
    z.string().trim().min(1).max(120).meta({ pattern: "\\S" }),
    "Name of the inbox agent.",
    "Demo inbox",
  ),
  description: described(
    z.string().trim().max(500).nullable().default(null),
    "Purpose of the inbox agent.",
    "An inbox agent.",
  ),
  agentSlug: described(
    agentSlug
      .superRefine((slug, problems) => {
        const problem = findSlugProblem(slug);
        if (problem !== null) problems.addIssue(problem);
      })
      .meta({ pattern: SLUG_PATTERN }),
    "Words of a-z and 0-9, joined by single hyphens.",
    "demo-inbox",
  ),
});

export type InboxRegistrationBody = z.output<typeof inboxRegistrationBody>;

export { deregistrationBody as deregisterBody };
export const inboxRemovalBody = z.object({
  id: described(textParameter(), "Id of the registration.", "01m80ydzm4rfh4vwz521emta0z"),
});

const name = textField("Name of the inbox agent.", "Demo inbox");
const description = nullableTextField("Purpose of the inbox agent. Null: none.", "An inbox agent.");
const slugField = textField("Slug of the inbox.", "demo-inbox");

export const inboxAgentRecord = named(
  "InboxAgentRegistration",
  "An inbox agent that this service registered.",
  z.object({
    ...commonRegistrationFields,
    name,
    description,
    agentSlug: slugField,
    metadataVersion,
  }),
);

/** An inbox agent on the chain, as its token describes it. */
export const inboxAsset = named(
  "WalletInboxAgent",
  "An inbox agent whose token a wallet holds.",
  z.object({
    ...tokenFields,
    Metadata: described(
      named(
        "InboxAgentMetadata",
        "Metadata of an inbox agent, from its token.",
        z.object({ name, description, agentSlug: slugField, metadataVersion }),
      ),
      "Metadata of the inbox agent.",
    ),
  }),
);

export const inboxListBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: cursorParameter(75),
  filter: described(
    z.object({ ...inboxFilters, agentSlug: slugFilter }).optional(),
    "Filters. An inbox must meet all of them.",
  ),
});

export const inboxSearchBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: cursorParameter(75),
  query: described(
    z.string().trim().min(1).max(120).meta({ pattern: "\\S" }),
    "A part of the slug, the name or the linked e-mail address.",
    "demo",
  ),
  filter: described(z.object(inboxFilters).optional(), "Filters. An inbox must meet all of them."),
});

export const inboxDiffBody = z.object({
  network,
  statusUpdatedAfter: described(timeParameter(), "Stamp from which to return changes."),
  limit: bodyLimit,
  cursorId: diffCursorParameter("statusUpdatedAfter", 75),
  status: described(
    statuses.optional(),
    "Only registrations in one of these statuses. Default: any status.",
  ),
  policyId: inboxFilters.policyId,
  agentSlug: slugFilter,
});

export const inboxRefreshBody = z.object({
  network,
  agentIdentifier: described(
    z
      .string()
      .min(57)
      .max(250)
      .transform((hex) => hex.toLowerCase()),
    "Policy id and asset name, in hex.",
    EXAMPLE_AGENT_IDENTIFIER,
  ),
});

/** What the provider says; null until it names this agent, and after the end. */
function providerField(what: string, example: string) {
  return described(z.string().nullable(), `${what}. Null: not verified yet.`, example);
}

export const inboxRegistrationRecord = named(
  "InboxRegistration",
  "An inbox agent on the chain, with the data of its provider.",
  z.object({
    id: idField("the inbox registration", "01m80ye10275ccxj3nvx734k6a"),
    createdAt: timestampField("Time of discovery."),
    updatedAt: timestampField("Time of the last change."),
    status: described(status, "Whether the inbox works.", "Verified"),
    statusUpdatedAt: timestampField("Stamp of the last change of the status."),
    name,
    description,
    agentSlug: slugField,
    agentIdentifier,
    providerUrl: nullableTextField(
      "URL of the inbox provider. Null: neither the token nor the network names a provider.",
      "https://inbox.example.com",
    ),
    linkedEmail: providerField("E-mail address of the inbox", "inbox@example.com"),
    encryptionPublicKey: providerField(
      "Public key for encryption; a JWK is canonical JSON text",
      '{"crv":"X25519","kty":"OKP","x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"}',
    ),
    encryptionKeyVersion: providerField("Version of the key", "1"),
    signingPublicKey: providerField(
      "Public key that verifies messages; a JWK is canonical JSON text",
      '{"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
    ),
    signingKeyVersion: providerField("Version of the key", "1"),
    metadataVersion,
    RegistrySource: described(
      named(
        "InboxRegistrySource",
        "The registry of an inbox.",
        z.object({
          id: idField("the registry source", "01m80ydyh764k620mzqgxwshp9"),
          policyId: policyIdText,
          url: nullableTextField(
            "URL of the registry. Null: unknown.",
            "https://registry.example.com",
          ),
        }),
      ),
      "The registry of the inbox.",
    ),
  }),
);

export const inboxRegistrations = z.object({
  registrations: described(z.array(inboxRegistrationRecord), "The inbox registrations."),
});
