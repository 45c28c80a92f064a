import * as z from "zod";
import { network, requestAgentIdentifier, unit } from "../../http/openapi/chain-fields.ts";
import {
  countField,
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_POLICY_ID,
  hexField,
  idField,
  minorUnitsField,
  named,
  nullableTextField,
  nullableTimestampField,
  PROVIDER_ERRORS,
  textField,
  timestampField,
  walletAddressField,
  walletVkeyField,
} from "../../http/openapi/fields.ts";
import {
  bodyLimit,
  cursorParameter,
  diffCursorParameter,
  optionalTextParameter,
  textParameter,
  timeParameter,
} from "../../http/openapi/parameters.ts";
import { ENTRY_STATUSES } from "./entry.ts";
import { PAYMENT_TYPES } from "./profile.ts";
import { optionalText, pricingType, supportedPaymentSources } from "./supported-payment-sources.ts";
import { verifications } from "./verification.ts";

const EXAMPLE_SOURCE_ID = "01m80ydyh764k620mzqgxwshp9";
const EXAMPLE_URL = "https://agents.example.com/translator";

const entryStatus = named(
  "RegistryEntryStatus",
  "Whether an agent can be used. `statusReason` and `lastUptimeCheckError` say why not.",
  z.enum(ENTRY_STATUSES),
);
const paymentType = named(
  "PaymentType",
  "How buyers pay an agent. `None`: the agent is free, or sold only on other chains.",
  z.enum(PAYMENT_TYPES),
);

export const entryDiffBody = z.object({
  network,
  statusUpdatedAfter: described(timeParameter(), "Stamp from which to return changes."),
  limit: bodyLimit,
  cursorId: diffCursorParameter("statusUpdatedAfter", 75),
});

export const entryListBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: cursorParameter(75),
  minHealthCheckDate: described(
    timeParameter().optional(),
    "Only agents that were checked at or after this time.",
  ),
  filter: described(
    z
      .object({
        paymentTypes: described(
          z
            .array(described(paymentType, "A type.", "Web3ChainV1"))
            .max(5)
            .optional(),
          "Only agents with one of these payment types.",
        ),
        status: described(
          z
            .array(described(entryStatus, "A status.", "Online"))
            .max(5)
            .optional(),
          "Only agents in one of these statuses. Default: Online.",
        ),
        policyId: optionalTextParameter(
          "Only agents under this minting policy.",
          EXAMPLE_POLICY_ID,
        ),
        assetIdentifier: optionalTextParameter(
          "Only the agent with this identifier.",
          EXAMPLE_AGENT_IDENTIFIER,
        ),
        tags: described(
          z
            .array(described(textParameter(150), "A tag.", "demo"))
            .max(50)
            .optional(),
          "Only agents with one of these tags.",
        ),
        capability: described(
          z
            .object({
              name: described(textParameter(150), "Name of the capability.", "translation"),
              version: described(
                textParameter(150, 0).optional(),
                "Version of the capability. Omitted: any.",
                "1.0.0",
              ),
            })
            .optional(),
          "Only agents with this capability.",
        ),
      })
      .optional(),
    "Filters. An agent must meet all of them.",
  ),
});

export const entrySearchBody = entryListBody.extend({
  query: described(
    z.string().trim().min(1).max(120).meta({ pattern: "\\S" }),
    "A part of name, description, author, URL, identifier, tag or capability.",
    "translat",
  ),
});

const amounts = described(
  z.array(z.object({ amount: minorUnitsField("Minor units of `unit`."), unit })),
  "Amounts of a fixed price, which a buyer pays together. Otherwise empty.",
);
const pricing = named(
  "EntryPricing",
  "Pricing of an agent. For an agent sold only over x402: the price and asset of its first chain that is not free.",
  z.object({
    pricingType,
    FixedPricing: described(z.object({ Amounts: amounts }), "The price."),
  }),
);
const capability = named(
  "Capability",
  "Capability of an agent.",
  z.object({
    name: textField("Its name.", "translation"),
    version: textField("Its version.", "1.0.0"),
  }),
);
const exampleOutput = named(
  "ExampleOutput",
  "An example of an agent's results.",
  z.object({
    name: textField("Its name.", "A translated letter"),
    mimeType: textField("Media type.", "text/plain"),
    url: textField("URL of the example.", `${EXAMPLE_URL}/example.txt`),
  }),
);

export const metadataVersion = countField("Version of the metadata format.", 1);
export const agentIdentifier = textField(
  "Policy id and asset name, in hex.",
  EXAMPLE_AGENT_IDENTIFIER,
);
export const policyIdText = hexField(56, "The minting policy.", EXAMPLE_POLICY_ID);
const sourceUrl = nullableTextField("URL of the registry. Null: unknown.", EXAMPLE_URL);

const entryFields = {
  id: idField("the entry", "01m80ye102q5wqj8yjrjr6jyvc"),
  createdAt: timestampField("Time of discovery."),
  updatedAt: timestampField("When the chain last changed the entry."),
  name: textField("Name of the agent.", "Steady translator"),
  description: optionalText("Purpose of the agent", "Translates letters."),
  status: described(entryStatus, "Whether the agent can be used.", "Online"),
  statusUpdatedAt: timestampField("Stamp of the last change of the status."),
  statusReason: nullableTextField(
    "Why the agent's metadata is unreadable. Null: readable.",
    "author.name: is missing",
  ),
  authorName: optionalText("Author of the agent", "The demo"),
  authorContactEmail: optionalText("E-mail address of the author", "author@example.com"),
  authorContactOther: optionalText("Another contact of the author", "https://example.com"),
  authorOrganization: optionalText("Organization of the author", "Demo Agents GmbH"),
  image: textField("Picture of the agent.", "ipfs://demo"),
  otherLegal: optionalText("Another legal text", `${EXAMPLE_URL}/legal`),
  privacyPolicy: optionalText("Privacy policy", `${EXAMPLE_URL}/privacy`),
  termsAndCondition: optionalText("Terms of use", `${EXAMPLE_URL}/terms`),
  tags: described(z.array(textField("A tag.", "demo")).nullable(), "Tags of the agent."),
  uptimeCheckCount: countField("Number of uptime checks.", 51),
  uptimeCount: countField("Number of successful uptime checks.", 51),
  lastUptimeCheck: nullableTimestampField(
    "Time of the last uptime check. Null: none yet.",
    "2026-11-22T06:20:46.919Z",
  ),
  lastUptimeCheckError: nullableTextField(
    "Why the last uptime check failed. Null: it succeeded, or there was none yet.",
    "the host could not be reached",
  ),
  apiBaseUrl: textField("Base URL of the agent's API.", EXAMPLE_URL),
  paymentType: described(paymentType, "How a buyer pays the agent.", "Web3ChainV1"),
  agentIdentifier,
  metadataVersion,
  RegistrySource: described(
    named(
      "EntryRegistrySource",
      "Registry of an entry.",
      z.object({
        id: idField("the registry source", EXAMPLE_SOURCE_ID),
        policyId: policyIdText,
        type: described(z.literal("Web3ChainV1"), "Type of the registry.", "Web3ChainV1"),
        url: sourceUrl,
      }),
    ),
    "Registry of the agent.",
  ),
  Capability: described(capability.nullable(), "Capability of the agent. Null: none."),
  AgentPricing: described(pricing, "Pricing of the agent."),
  ExampleOutput: described(z.array(exampleOutput), "Examples of the agent's results."),
  SupportedPaymentSources: supportedPaymentSources,
  Verifications: verifications,
};

export const registryEntryRecord = named(
  "RegistryEntry",
  "An agent on the chain.",
  z.object(entryFields),
);

export const registryEntries = z.object({
  entries: described(z.array(registryEntryRecord), "The entries."),
});

export const paymentInformation = named(
  "PaymentInformation",
  "An agent, and the wallet that receives its payments.",
  z.object({
    ...entryFields,
    sellerWallet: described(
      z.object({
        address: walletAddressField("the wallet"),
        vkey: walletVkeyField("the wallet"),
      }),
      "Wallet that holds the agent's token and receives its payments.",
    ),
  }),
);

/** An agent's own words, in the form in which it is registered. */
export const metadataFields = {
  name: textField("Name of the agent.", "Steady translator"),
  description: optionalText("Purpose of the agent", "Translates letters."),
  apiBaseUrl: textField("Base URL of the agent's API.", EXAMPLE_URL),
  image: textField("Picture of the agent.", "ipfs://demo"),
  Tags: described(z.array(textField("A tag.", "demo")), "Tags of the agent."),
  Capability: described(capability.nullable(), "Capability of the agent. Null: none."),
  ExampleOutputs: described(z.array(exampleOutput), "Examples of the agent's results."),
  Author: described(
    named(
      "AgentAuthor",
      "Author of an agent.",
      z.object({
        name: textField("Name of the author.", "The demo"),
        organization: optionalText("Organization of the author", "Demo Agents GmbH"),
        contactEmail: optionalText("E-mail address of the author", "author@example.com"),
        contactOther: optionalText("Another contact of the author", "https://example.com"),
      }),
    ),
    "Author of the agent.",
  ),
  Legal: described(
    named(
      "AgentLegal",
      "Legal texts of an agent.",
      z.object({
        privacyPolicy: optionalText("Privacy policy", `${EXAMPLE_URL}/privacy`),
        terms: optionalText("Terms of use", `${EXAMPLE_URL}/terms`),
        other: optionalText("Another legal text", `${EXAMPLE_URL}/legal`),
      }),
    ),
    "Legal texts of the agent.",
  ),
  AgentPricing: described(
    named(
      "AgentPricing",
      "Pricing of an agent.",
      z.object({
        pricingType,
        Pricing: amounts,
      }),
    ),
    "Pricing of the agent.",
  ),
  SupportedPaymentSources: supportedPaymentSources,
  Verifications: verifications,
  metadataVersion,
};

export const agentMetadata = named(
  "AgentMetadata",
  "Metadata of an agent, from its token.",
  z.object(metadataFields),
);

export const offeredCapability = named(
  "OfferedCapability",
  "A capability that at least one agent offers now.",
  z.object({
    id: idField("the capability", "b9daa12b304a8dbd62faa4632b996925"),
    name: textField("Its name.", "translation"),
    version: textField("Its version.", "1.0.0"),
  }),
);

const EXAMPLE_VKEY = "e7d12a3df371bb93b3895b0a817ca7ac24d186f911d8b1e0d69dbc9f";

export const walletQuery = z
  .object({
    walletVKey: optionalTextParameter("Payment key hash of the wallet.", EXAMPLE_VKEY),
    walletVkey: optionalTextParameter("Another spelling of `walletVKey`.", EXAMPLE_VKEY).meta({
      deprecated: true,
    }),
    network,
    smartContractAddress: optionalTextParameter(
      "Only agents of the payment source with this contract.",
      EXAMPLE_CONTRACT_ADDRESS,
    ),
  })
  .refine(({ walletVKey, walletVkey }) => (walletVKey ?? walletVkey) !== undefined, {
    path: ["walletVKey"],
    error: "is required",
  })
  .meta({ required: ["walletVKey", "network"] });

/** What looking up a token can answer beyond the usual. */
export const TOKEN_ERRORS = {
  ...PROVIDER_ERRORS,
  404: "No payment source has the agent's policy, no wallet holds its token, or its metadata is unreadable.",
};
export const OUT_OF_CREDITS_ERROR = { 402: "The API key has no usage credits left." };

export const agentQuery = z.object({
  agentIdentifier: requestAgentIdentifier,
  network,
});

/** What an answer says of a token besides its `Metadata`. */
export const tokenFields = {
  policyId: policyIdText,
  assetName: textField("Name of the token, in hex.", EXAMPLE_AGENT_IDENTIFIER.slice(56)),
  agentIdentifier,
};

export const walletAsset = named(
  "WalletAgent",
  "An agent whose token a wallet holds.",
  z.object({ ...tokenFields, Metadata: described(agentMetadata, "Metadata of the agent.") }),
);
