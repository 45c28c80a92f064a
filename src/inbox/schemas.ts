import { z } from "@hono/zod-openapi";
import { NETWORKS } from "../chain/network.ts";
import { text, time } from "../http/parameters.ts";
import {
  deregisterBody,
  registrationCommon,
  registrationFields,
} from "../registry/registration-schemas.ts";
import { slugProblem } from "./slug.ts";
import { INBOX_STATUSES } from "./tables.ts";

const network = z.enum(NETWORKS);
const timestamp = z.iso.datetime();
const bodyLimit = z.int().min(1).max(50).default(10);
const cursorId = text(75)
  .optional()
  .openapi({ description: "Id of the last item of the last page." });
const statuses = z.array(z.enum(INBOX_STATUSES)).min(1).max(4);
const agentSlug = text(80);

export const registerBody = z.object({
  ...registrationFields,
  name: z.string().trim().min(1).max(120),
  description: z.string().trim().max(500).nullable().default(null),
  agentSlug: agentSlug
    .superRefine((slug, problems) => {
      const problem = slugProblem(slug);
      if (problem !== null) problems.addIssue(problem);
    })
    .openapi({ description: "Words of a-z and 0-9, joined by single hyphens." }),
});

export type RegisterBody = z.output<typeof registerBody>;

export { deregisterBody };
export const removeBody = z.object({ id: text() });

export const inboxAgentRecord = z
  .object({
    ...registrationCommon,
    name: z.string(),
    description: z.string().nullable(),
    agentSlug: z.string(),
    metadataVersion: z.int(),
  })
  .openapi("InboxAgentRegistration");

const filters = {
  status: statuses.optional().openapi({ description: "Default: Pending and Verified." }),
  policyId: text().optional(),
};

export const listBody = z.object({
  network,
  limit: bodyLimit,
  cursorId,
  filter: z.object({ ...filters, agentSlug: agentSlug.optional() }).optional(),
});

export const searchBody = z.object({
  network,
  limit: bodyLimit,
  cursorId,
  query: z.string().trim().min(1).max(120).openapi({
    description: "A part of the slug, the name or the linked e-mail address.",
  }),
  filter: z.object(filters).optional(),
});

export const diffBody = z.object({
  network,
  statusUpdatedAfter: time(),
  limit: bodyLimit,
  cursorId,
  status: statuses.optional(),
  policyId: text().optional(),
  agentSlug: agentSlug.optional(),
});

export const refreshBody = z.object({
  network,
  agentIdentifier: z
    .string()
    .min(57)
    .max(250)
    .transform((hex) => hex.toLowerCase()),
});

export const inboxRegistrationRecord = z
  .object({
    id: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
    status: z.enum(INBOX_STATUSES),
    statusUpdatedAt: timestamp,
    name: z.string(),
    description: z.string().nullable(),
    agentSlug: z.string(),
    agentIdentifier: z.string(),
    providerUrl: z.string().nullable(),
    linkedEmail: z.string().nullable(),
    encryptionPublicKey: z.string().nullable().openapi({
      description: "A JWK is canonical JSON text.",
    }),
    encryptionKeyVersion: z.string().nullable(),
    signingPublicKey: z.string().nullable(),
    signingKeyVersion: z.string().nullable(),
    metadataVersion: z.int(),
    RegistrySource: z.object({ id: z.string(), policyId: z.string(), url: z.string().nullable() }),
  })
  .openapi("InboxRegistration");

export const inboxRegistrations = z.object({ registrations: z.array(inboxRegistrationRecord) });
