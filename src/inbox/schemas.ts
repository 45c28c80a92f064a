import * as z from "zod";
import {
  AGENT_IDENTIFIER,
  answerText,
  described,
  named,
  POLICY_ID,
  recordId,
  timestamp,
} from "../http/openapi/fields.ts";
import { network } from "../http/openapi/ledger.ts";
import { bodyLimit, cursorId, diffCursor, text, time } from "../http/parameters.ts";
import {
  deregisterBody,
  registrationCommon,
  registrationFields,
} from "../registrations/schemas.ts";
import { agentIdentifier, metadataVersion, policyIdShown } from "../registry/schemas.ts";
import { SLUG_PATTERN, slugProblem } from "./slug.ts";
import { INBOX_STATUSES } from "./tables.ts";

const status = named(
  "InboxStatus",
  "Whether an inbox works. `Pending`: its provider was not asked, or did not answer.",
  z.enum(INBOX_STATUSES),
);
const statuses = z
  .array(described(status, "A status.", "Verified"))
  .min(1)
  .max(4);
const agentSlug = text(80);
const filters = {
  status: described(statuses.optional(), "Only in one of these; default: Pending and Verified."),
  policyId: described(text().optional(), "Only under this minting policy.", POLICY_ID),
};
const slugFilter = described(agentSlug.optional(), "Only the inbox with this slug.", "demo-inbox");

export const registerBody = z.object({
  ...registrationFields,
  name: described(
    z.string().trim().min(1).max(120).meta({ pattern: "\\S" }),
    "Name of the inbox agent.",
    "Demo inbox",
  ),
  description: described(
    z.string().trim().max(500).nullable().default(null),
    "What it is for.",
    "An inbox agent.",
  ),
  agentSlug: described(
    agentSlug
      .superRefine((slug, problems) => {
        const problem = slugProblem(slug);
        if (problem !== null) problems.addIssue(problem);
      })
      .meta({ pattern: SLUG_PATTERN }),
    "Words of a-z and 0-9, joined by single hyphens.",
    "demo-inbox",
  ),
});

export type RegisterBody = z.output<typeof registerBody>;

export { deregisterBody };
export const removeBody = z.object({
  id: described(text(), "Id of the registration.", "01m80ydzm4rfh4vwz521emta0z"),
});

const name = answerText("Name of the inbox agent.", "Demo inbox");
const description = described(
  z.string().nullable(),
  "What it is for; null when nothing was said.",
  "An inbox agent.",
);
const shownSlug = answerText("Its slug.", "demo-inbox");

export const inboxAgentRecord = named(
  "InboxAgentRegistration",
  "An inbox agent that was registered here.",
  z.object({ ...registrationCommon, name, description, agentSlug: shownSlug, metadataVersion }),
);

export const listBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: cursorId(75),
  filter: described(
    z.object({ ...filters, agentSlug: slugFilter }).optional(),
    "What inboxes must meet; all of what is given.",
  ),
});

export const searchBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: cursorId(75),
  query: described(
    z.string().trim().min(1).max(120).meta({ pattern: "\\S" }),
    "A part of the slug, the name or the linked e-mail address.",
    "demo",
  ),
  filter: described(z.object(filters).optional(), "What inboxes must meet; all of what is given."),
});

export const diffBody = z.object({
  network,
  statusUpdatedAfter: described(time(), "Stamp from which changes are returned."),
  limit: bodyLimit,
  cursorId: diffCursor("statusUpdatedAfter", 75),
  status: described(statuses.optional(), "Only in one of these; without it, in any."),
  policyId: filters.policyId,
  agentSlug: slugFilter,
});

export const refreshBody = z.object({
  network,
  agentIdentifier: described(
    z
      .string()
      .min(57)
      .max(250)
      .transform((hex) => hex.toLowerCase()),
    "Policy id and asset name, in hex.",
    AGENT_IDENTIFIER,
  ),
});

/** What the provider says; null until it names this agent, and after the end. */
function provided(what: string, example: string) {
  return described(z.string().nullable(), `${what}; null until it is verified.`, example);
}

export const inboxRegistrationRecord = named(
  "InboxRegistration",
  "An inbox agent that was found on the chain, with what its provider says.",
  z.object({
    id: recordId("the inbox registration", "01m80ye10275ccxj3nvx734k6a"),
    createdAt: timestamp("When it was found."),
    updatedAt: timestamp("When it was last changed."),
    status: described(status, "Whether the inbox works.", "Verified"),
    statusUpdatedAt: timestamp("Stamp of the last change of the status."),
    name,
    description,
    agentSlug: shownSlug,
    agentIdentifier,
    providerUrl: described(
      z.string().nullable(),
      "Where the inbox is; null when neither the token nor the network names a provider.",
      "https://inbox.example.com",
    ),
    linkedEmail: provided("E-mail address of the inbox", "inbox@example.com"),
    encryptionPublicKey: provided(
      "Key to encrypt for it; a JWK is canonical JSON text",
      '{"crv":"X25519","kty":"OKP","x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"}',
    ),
    encryptionKeyVersion: provided("Version of that key", "1"),
    signingPublicKey: provided(
      "Key that its messages verify with; a JWK is canonical JSON text",
      '{"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
    ),
    signingKeyVersion: provided("Version of that key", "1"),
    metadataVersion,
    RegistrySource: described(
      named(
        "InboxRegistrySource",
        "The registry that an inbox was found in.",
        z.object({
          id: recordId("the registry source", "01m80ydyh764k620mzqgxwshp9"),
          policyId: policyIdShown,
          url: described(
            z.string().nullable(),
            "Where the registry is; null when unknown.",
            "https://registry.example.com",
          ),
        }),
      ),
      "The registry that it was found in.",
    ),
  }),
);

export const inboxRegistrations = z.object({
  registrations: described(z.array(inboxRegistrationRecord), "The inbox registrations."),
});
