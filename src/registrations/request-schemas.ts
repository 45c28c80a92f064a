import * as z from "zod";
import { CHUNK_BYTES, MAX_TEXT_BYTES } from "../chain/metadata.ts";
import {
  bech32AddressParameter,
  network,
  requestAgentIdentifier,
  requestUnit,
} from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_WALLET_ADDRESS,
  named,
  PROVIDER_FAILURES,
  setDocumentSchema,
} from "../http/openapi/fields.ts";
import { optionalTextParameter, textParameter } from "../http/openapi/parameters.ts";
import { agentVerification, MAX_VERIFICATIONS } from "../registry/entries/verification.ts";
import { fixedType, otherPricing, requestedSources } from "./payment-source-schemas.ts";
import { EXAMPLE_ID } from "./record-schemas.ts";

const EXAMPLE_AGENT_URL = "https://agents.example.com/translator";

const hexOf = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `must be ${digits} hex digits`)
    .transform((hex) => hex.toLowerCase());
/** At most as many digits as the coin's supply has. */
const amount = z.string().regex(/^[1-9]\d{0,18}$/, "must be a whole number above 0");
const agentUrl = textParameter()
  .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), "must be an http or https URL")
  .refine((url) => !/[?#]/.test(url), "must not have a query or a fragment")
  .meta({ format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^?#]+$" });
const optionalText = (what: string, example: string) =>
  described(
    textParameter(250, 0)
      .nullable()
      .default(null)
      .transform((text) => text || null),
    what,
    example,
  );

/** What registering an agent and an inbox agent have in common. */
export const registrationFields = {
  network,
  sellingWalletVkey: described(
    hexOf(56),
    "Payment key hash of the managed selling wallet that pays for the registration.",
    "e7d12a3df371bb93b3895b0a817ca7ac24d186f911d8b1e0d69dbc9f",
  ),
  recipientWalletAddress: described(
    bech32AddressParameter().nullable().default(null),
    "Recipient of the token: without Admin, one of the wallet's or the key's addresses. Null: the selling wallet, which alone can deregister.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  sendFundingMinorUnit: described(
    amount.nullable().default(null),
    "Native coin sent with the token, in minor units. The service raises lower values to 5000000; only an Admin may send more. The sum counts against the key's `spendingLimits`.",
    "5000000",
  ),
};

/** What guards the fields that updating names. */
export const UPDATE_GUARDS = {
  recipientWalletAddress: "returnAddress",
  sendFundingMinorUnit: "spendingLimit",
} as const;
/** What guards the fields that registering names. */
export const REGISTRATION_GUARDS = { sellingWalletVkey: "scopedWallet", ...UPDATE_GUARDS } as const;

/** A text of the metadata that other readers do not join from pieces. */
const boundedText = (max: number, bytes: number) =>
  textParameter(max)
    .refine(
      (one) => new TextEncoder().encode(one).length <= bytes,
      `must have at most ${bytes} bytes in UTF-8`,
    )
    .meta({ format: `text-of-${bytes}-bytes` });
const singleChunkText = boundedText(CHUNK_BYTES, CHUNK_BYTES);

const tag = described(
  boundedText(63, MAX_TEXT_BYTES),
  "A tag of the agent; at most 64 bytes in UTF-8.",
  "translation",
);

const price = z.object({
  amount: described(amount, "Minor units of `unit`.", "5000000"),
  unit: requestUnit,
});

export const registrationBody = z.object({
  ...registrationFields,
  name: described(textParameter(), "Name of the agent.", "Steady translator"),
  description: described(
    textParameter(250, 0).nullable().default(null),
    "Purpose of the agent.",
    "Translates letters.",
  ),
  apiBaseUrl: described(
    agentUrl,
    "Base URL of the agent's API, without query or fragment.",
    EXAMPLE_AGENT_URL,
  ),
  image: described(
    textParameter().default("ipfs://QmXXW7tmBgpQpXoJMAMEXXFe9dyQcrLFKGuzxnHDnbKC7f"),
    "Picture of the agent.",
    "ipfs://QmXXW7tmBgpQpXoJMAMEXXFe9dyQcrLFKGuzxnHDnbKC7f",
  ),
  Tags: described(z.array(tag).min(1).max(15), "Tags of the agent."),
  ExampleOutputs: described(
    z
      .array(
        z.object({
          name: described(
            singleChunkText,
            "Its name; at most 60 bytes in UTF-8.",
            "A translated letter",
          ),
          mimeType: described(
            singleChunkText,
            "Its media type; at most 60 bytes in UTF-8.",
            "text/plain",
          ),
          url: described(
            textParameter(),
            "URL of the example.",
            `${EXAMPLE_AGENT_URL}/example.txt`,
          ),
        }),
      )
      .max(25)
      .default([]),
    "Examples of the agent's results.",
  ),
  Capability: described(
    z.object({
      name: described(textParameter(), "Its name.", "translation"),
      version: described(singleChunkText, "Its version; at most 60 bytes in UTF-8.", "1.0.0"),
    }),
    "Capability of the agent.",
  ),
  Author: described(
    z.object({
      name: described(textParameter(), "Name of the author.", "The demo"),
      organization: optionalText("Organization of the author.", "Demo Agents GmbH"),
      contactEmail: optionalText("E-mail address of the author.", "author@example.com"),
      contactOther: optionalText("Another way to reach the author.", "https://example.com"),
    }),
    "Author of the agent.",
  ),
  Legal: described(
    z
      .object({
        privacyPolicy: optionalText("The privacy policy.", `${EXAMPLE_AGENT_URL}/privacy`),
        terms: optionalText("The terms of use.", `${EXAMPLE_AGENT_URL}/terms`),
        other: optionalText("Another legal text.", `${EXAMPLE_AGENT_URL}/legal`),
      })
      .default({ privacyPolicy: null, terms: null, other: null }),
    "Legal texts of the agent.",
  ),
  AgentPricing: described(
    z
      .discriminatedUnion("pricingType", [
        z.object({
          pricingType: fixedType,
          Pricing: described(
            z.array(price).min(1).max(5),
            "Amounts of the price, which a buyer pays together.",
          ),
        }),
        otherPricing,
      ])
      .optional(),
    "Price of the agent at the contract of its payment source. Required for an agent of Web3ChainV1, and without `SupportedPaymentSources`.",
  ),
  SupportedPaymentSources: requestedSources.optional(),
  Verifications: described(
    z.array(agentVerification).max(MAX_VERIFICATIONS).optional(),
    "Credentials about the agent, which only a token of Web3ChainV2 lists.",
  ),
});

export type RegistrationBody = z.output<typeof registrationBody>;

const contractAddress = optionalTextParameter(
  "Contract of the agent's payment source. Default: the contract of the agent's policy.",
  EXAMPLE_CONTRACT_ADDRESS,
);

const deregistrationFields = {
  network,
  agentIdentifier: requestAgentIdentifier,
  smartContractAddress: contractAddress,
};

export const deregistrationBody = z.object(deregistrationFields);

/** A registration without the selling wallet, which is the one that holds the token. */
export const updateBody = registrationBody.omit({ sellingWalletVkey: true }).extend({
  agentIdentifier: requestAgentIdentifier,
  smartContractAddress: contractAddress,
  SupportedPaymentSources: described(
    requestedSources.optional(),
    "The ways to pay the agent. Without these and `AgentPricing`, the agent keeps its own.",
  ),
  Verifications: described(
    registrationBody.shape.Verifications,
    "Credentials about the agent. Omitted: the agent keeps its own. An empty list removes them.",
  ),
});

const registrationId = described(textParameter(), "Id of the registration.", EXAMPLE_ID);

/** `DELETE /registry` means one of two things. */
export const registrationRemovalBody = setDocumentSchema(
  z
    .object({
      network: network.optional(),
      agentIdentifier: requestAgentIdentifier.optional(),
      smartContractAddress: contractAddress,
      id: registrationId.optional(),
    })
    .superRefine(({ id, agentIdentifier, network }, problems) => {
      const addIssue = (name: string, message: string) =>
        problems.addIssue({ code: "custom", path: [name], message });
      if (id !== undefined && agentIdentifier !== undefined)
        addIssue("id", "must not be sent together with agentIdentifier");
      if (id !== undefined) return;
      if (agentIdentifier === undefined) addIssue("agentIdentifier", "is required");
      if (network === undefined) addIssue("network", "is required");
    }),
  named(
    "DeregisterAgentRequest",
    "With `agentIdentifier` and `network`, deregisters the agent on the chain. With `id` alone, permanently removes the record.",
    z.xor([z.strictObject(deregistrationFields), z.strictObject({ id: registrationId })]),
  ),
);

const SPENDING_LIMIT_TEXT =
  "The API key's spending limits do not cover the funds sent with the token.";

/** What deregistering and removing can answer beyond the usual. */
export const DEREGISTRATION_ERRORS = {
  404: "There is no such registration, or no wallet holds its token.",
  409: "The state does not allow the deregistration, or an unmanaged wallet holds the token.",
  ...PROVIDER_FAILURES,
};
/** What updating can answer beyond the usual. */
export const UPDATE_ERRORS = {
  ...DEREGISTRATION_ERRORS,
  402: SPENDING_LIMIT_TEXT,
  409: "The state does not allow the update, or an unmanaged wallet holds the token.",
};
export const REGISTRATION_ERRORS = {
  402: SPENDING_LIMIT_TEXT,
  404: "No payment source has this selling wallet.",
};
/** The same of an agent, whose tokens are looked up. */
export const AGENT_REGISTRATION_ERRORS = {
  ...REGISTRATION_ERRORS,
  502: "The chain provider or an RPC node failed.",
  504: "The chain provider or an RPC node did not answer in time.",
};
