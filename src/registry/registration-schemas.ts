import { z } from "@hono/zod-openapi";
import { LONGEST_TEXT } from "../chain/metadata.ts";
import { NETWORKS, PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import { page, text } from "../http/parameters.ts";
import { REGISTRATION_STATES, STATUS_FILTERS } from "./registration-states.ts";
import { agentMetadata } from "./schemas.ts";

const timestamp = z.iso.datetime();
const network = z.enum(NETWORKS);
const hexOf = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `must be ${digits} hex digits`)
    .transform((hex) => hex.toLowerCase())
    .openapi({ type: "string", pattern: `^[0-9a-fA-F]{${digits}}$` });
/** At most as many digits as the chain's supply has. */
const amount = z.string().regex(/^[1-9]\d{0,18}$/, "must be a whole number above 0");
const agentUrl = text()
  .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), "must be an http or https URL")
  .refine((url) => !/[?#]/.test(url), "must not have a query or a fragment")
  .openapi({ format: "uri" });
const optional = () => text().nullable().default(null);

/** Policy id and asset name. */
export const identifier = z
  .string()
  .regex(/^(?:[0-9a-fA-F]{2})*$/, "must be hex")
  .min(57)
  .max(250)
  .transform((hex) => hex.toLowerCase())
  .openapi({ type: "string", minLength: 57, maxLength: 250 });

/** What registering an agent and an inbox agent have in common. */
export const registrationFields = {
  network,
  sellingWalletVkey: hexOf(56).openapi({
    description: "Payment key hash of the managed selling wallet that pays for the registration.",
  }),
  recipientWalletAddress: text().nullable().default(null).openapi({
    description: "Who gets the token; null: the selling wallet, which alone can deregister.",
  }),
  sendFundingMinorUnit: amount.nullable().default(null).openapi({
    description: "Native coin that goes with the token; raised to 5000000.",
  }),
};

/** A tag is one text of the metadata, and readers know no pieces of it. */
const tag = text(63).refine(
  (tag) => new TextEncoder().encode(tag).length <= LONGEST_TEXT,
  `must have at most ${LONGEST_TEXT} bytes in UTF-8`,
);

const price = z.object({ amount, unit: text(120, 0) });

export const registerBody = z.object({
  ...registrationFields,
  name: text(),
  description: text(250, 0).nullable().default(null),
  apiBaseUrl: agentUrl,
  image: text().default("ipfs://QmXXW7tmBgpQpXoJMAMEXXFe9dyQcrLFKGuzxnHDnbKC7f"),
  Tags: z.array(tag).min(1).max(15),
  ExampleOutputs: z
    .array(z.object({ name: text(60), mimeType: text(60), url: text() }))
    .max(25)
    .default([]),
  Capability: z.object({ name: text(), version: text() }),
  Author: z.object({
    name: text(),
    organization: optional(),
    contactEmail: optional(),
    contactOther: optional(),
  }),
  Legal: z
    .object({ privacyPolicy: optional(), terms: optional(), other: optional() })
    .default({ privacyPolicy: null, terms: null, other: null }),
  AgentPricing: z.discriminatedUnion("pricingType", [
    z.object({ pricingType: z.literal("Fixed"), Pricing: z.array(price).min(1).max(5) }),
    z.object({ pricingType: z.enum(["Free", "Dynamic"]) }),
  ]),
});

export type RegisterBody = z.output<typeof registerBody>;

export const deregisterBody = z.object({
  network,
  agentIdentifier: identifier,
  smartContractAddress: text().optional().openapi({
    description: "Payment source that the registration belongs to; default: that of its policy.",
  }),
});

/** `DELETE /registry` means one of two things. */
export const removeBody = z
  .object({
    network: network.optional(),
    agentIdentifier: identifier.optional(),
    smartContractAddress: text().optional(),
    id: text().optional(),
  })
  .superRefine(({ id, agentIdentifier, network }, problems) => {
    const issue = (name: string, message: string) =>
      problems.addIssue({ code: "custom", path: [name], message });
    if (id !== undefined && agentIdentifier !== undefined)
      issue("id", "must not be sent together with agentIdentifier");
    if (id !== undefined) return;
    if (agentIdentifier === undefined) issue("agentIdentifier", "is required");
    if (network === undefined) issue("network", "is required");
  })
  .openapi({
    description:
      "With agentIdentifier and network the agent is deregistered on the chain; with id alone its record is removed for ever.",
  });

export const registrationListQuery = z.object({
  ...page,
  network,
  filterState: z.enum(REGISTRATION_STATES).optional(),
  filterStatus: z
    .enum(Object.keys(STATUS_FILTERS) as [keyof typeof STATUS_FILTERS])
    .optional()
    .openapi({ description: "A group of states." }),
  filterAgentIdentifier: text().optional(),
  filterSmartContractAddress: text().optional(),
  filterPaymentSourceType: z.enum(PAYMENT_SOURCE_TYPES).optional(),
  searchQuery: text(120).optional().openapi({
    description: "A part of the name, or the whole id or agent identifier.",
  }),
});

const wallet = z.object({ walletVkey: z.string(), walletAddress: z.string() });

/** What the records of agents and of inbox agents have in common. */
export const registrationCommon = {
  id: z.string(),
  error: z.string().nullable().openapi({
    description: "Why it failed and what can be done, or what it waits for.",
  }),
  state: z.enum(REGISTRATION_STATES),
  createdAt: timestamp,
  updatedAt: timestamp,
  lastCheckedAt: timestamp.nullable(),
  agentIdentifier: z.string().nullable().openapi({ description: "Null before it is minted." }),
  sendFundingMinorUnit: z.string().nullable(),
  SmartContractWallet: wallet,
  RecipientWallet: wallet.nullable(),
  CurrentTransaction: z
    .object({
      txHash: z.string(),
      status: z.enum(["Pending", "Confirmed", "FailedViaTimeout", "FailedViaManualReset"]),
      fees: z.string(),
      blockHeight: z.number().nullable(),
      blockTime: z.number().nullable(),
      confirmations: z.number().nullable(),
    })
    .nullable(),
};

export const agentRegistrationRecord = agentMetadata
  .extend(registrationCommon)
  .openapi("AgentRegistration");

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
