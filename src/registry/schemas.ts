import { z } from "@hono/zod-openapi";
import { NETWORKS } from "../chain/network.ts";
import { text, time } from "../http/parameters.ts";
import { ENTRY_STATUSES } from "./entry.ts";
import { PAYMENT_TYPES } from "./profile.ts";

const timestamp = z.iso.datetime();
const network = z.enum(NETWORKS);
/** Whole, and within bounds; the body has it as a number. */
const bodyLimit = z.int().min(1).max(50).default(10);

export const diffBody = z.object({
  network,
  statusUpdatedAfter: time(),
  limit: bodyLimit,
  cursorId: text(75).optional().openapi({ description: "Id of the last item of the last page." }),
});

export const listBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: text(75).optional().openapi({ description: "Id of the last item of the last page." }),
  minHealthCheckDate: time().optional().openapi({
    description: "Only agents that were checked at or after it.",
  }),
  filter: z
    .object({
      paymentTypes: z.array(z.enum(PAYMENT_TYPES)).max(5).optional(),
      status: z.array(z.enum(ENTRY_STATUSES)).max(5).optional().openapi({
        description: "Default: Online.",
      }),
      policyId: text().optional(),
      assetIdentifier: text().optional(),
      tags: z.array(text(150)).max(50).optional().openapi({ description: "Any of them." }),
      capability: z.object({ name: text(150), version: text(150, 0).optional() }).optional(),
    })
    .optional(),
});

export const searchBody = listBody.extend({
  query: z.string().trim().min(1).max(120).openapi({
    description: "A part of name, description, author, URL, identifier, tag or capability.",
  }),
});

const pricing = z.union([
  z.object({
    pricingType: z.literal("Fixed"),
    FixedPricing: z.object({
      Amounts: z.array(z.object({ amount: z.string(), unit: z.string() })),
    }),
  }),
  z.object({ pricingType: z.enum(["Free", "Dynamic"]) }),
]);
const capability = z.object({ name: z.string(), version: z.string() });
const exampleOutput = z.object({ name: z.string(), mimeType: z.string(), url: z.string() });

export const registryEntryRecord = z
  .object({
    id: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(ENTRY_STATUSES),
    statusUpdatedAt: timestamp,
    statusReason: z.string().nullable().openapi({
      description: "Why the agent's metadata cannot be read; null when it can.",
    }),
    authorName: z.string().nullable(),
    authorContactEmail: z.string().nullable(),
    authorContactOther: z.string().nullable(),
    authorOrganization: z.string().nullable(),
    image: z.string(),
    otherLegal: z.string().nullable(),
    privacyPolicy: z.string().nullable(),
    termsAndCondition: z.string().nullable(),
    tags: z.array(z.string()).nullable(),
    uptimeCheckCount: z.int(),
    uptimeCount: z.int(),
    lastUptimeCheck: timestamp.nullable(),
    apiBaseUrl: z.string(),
    paymentType: z.enum(PAYMENT_TYPES),
    agentIdentifier: z.string(),
    metadataVersion: z.int(),
    RegistrySource: z.object({
      id: z.string(),
      policyId: z.string(),
      type: z.literal("Web3ChainV1"),
      url: z.string().nullable(),
    }),
    Capability: capability.nullable(),
    AgentPricing: pricing,
    ExampleOutput: z.array(exampleOutput),
  })
  .openapi("RegistryEntry");

export const entries = z.object({ entries: z.array(registryEntryRecord) });

export const paymentInformation = registryEntryRecord
  .extend({
    sellerWallet: z.object({ address: z.string(), vkey: z.string() }),
  })
  .openapi("PaymentInformation");

export const agentMetadata = z
  .object({
    name: z.string(),
    description: z.string().nullable(),
    apiBaseUrl: z.string(),
    image: z.string(),
    Tags: z.array(z.string()),
    Capability: capability.nullable(),
    ExampleOutputs: z.array(exampleOutput),
    Author: z.object({
      name: z.string(),
      organization: z.string().nullable(),
      contactEmail: z.string().nullable(),
      contactOther: z.string().nullable(),
    }),
    Legal: z.object({
      privacyPolicy: z.string().nullable(),
      terms: z.string().nullable(),
      other: z.string().nullable(),
    }),
    AgentPricing: z.object({
      pricingType: z.enum(["Fixed", "Free", "Dynamic"]),
      Pricing: z.array(z.object({ unit: z.string(), amount: z.string() })),
    }),
    metadataVersion: z.int(),
  })
  .openapi("AgentMetadata");

const policyId = z
  .string()
  .regex(/^[0-9a-fA-F]{56}$/, "must be 56 hex digits")
  .transform((hex) => hex.toLowerCase())
  .openapi({ type: "string", pattern: "^[0-9a-fA-F]{56}$" });

// It travels in a header.
const providerKey = text().regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces");

export const createSourceBody = z.object({
  network,
  policyId,
  url: z.url().max(250).nullable().default(null),
  note: text(250, 0).nullable().default(null),
  rpcProviderApiKey: providerKey,
});

export const updateSourceBody = z.object({
  id: text(),
  note: text(250, 0).nullable().optional(),
  rpcProviderApiKey: providerKey.optional(),
});

export const registrySourceRecord = z
  .object({
    id: z.string(),
    type: z.literal("Web3ChainV1").optional(),
    network,
    url: z.string().nullable(),
    policyId: z.string(),
    note: z.string().nullable(),
    rpcProviderApiKey: z.string(),
    latestPage: z.int(),
    latestIdentifier: z.string().nullable(),
  })
  .openapi("RegistrySource");
