import * as z from "zod";
import {
  AGENT_IDENTIFIER,
  answerText,
  CONTRACT_ADDRESS,
  described,
  hexText,
  minorUnits,
  named,
  POLICY_ID,
  recordId,
  timestamp,
  walletAddress,
  walletVkey,
} from "../../http/openapi/fields.ts";
import { givenAgentIdentifier, network, unit } from "../../http/openapi/ledger.ts";
import { bodyLimit, cursorId, diffCursor, text, time } from "../../http/openapi/parameters.ts";
import { ENTRY_STATUSES } from "./entry.ts";
import { PAYMENT_TYPES } from "./profile.ts";

const SOURCE_ID = "01m80ydyh764k620mzqgxwshp9";
const URL = "https://agents.example.com/translator";

const entryStatus = named(
  "RegistryEntryStatus",
  "Whether an agent can be used. `Invalid`: its metadata cannot be read.",
  z.enum(ENTRY_STATUSES),
);
const paymentType = named(
  "PaymentType",
  "What an agent is paid through; `None` when it is free, or sold on other chains only.",
  z.enum(PAYMENT_TYPES),
);

export const diffBody = z.object({
  network,
  statusUpdatedAfter: described(time(), "Stamp from which changes are returned."),
  limit: bodyLimit,
  cursorId: diffCursor("statusUpdatedAfter", 75),
});

export const listBody = z.object({
  network,
  limit: bodyLimit,
  cursorId: cursorId(75),
  minHealthCheckDate: described(
    time().optional(),
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
          "Only agents paid through one of these.",
        ),
        status: described(
          z
            .array(described(entryStatus, "A status.", "Online"))
            .max(5)
            .optional(),
          "Only agents in one of these; default: Online.",
        ),
        policyId: described(text().optional(), "Only agents under this minting policy.", POLICY_ID),
        assetIdentifier: described(
          text().optional(),
          "Only the agent with this identifier.",
          AGENT_IDENTIFIER,
        ),
        tags: described(
          z
            .array(described(text(150), "A tag.", "demo"))
            .max(50)
            .optional(),
          "Only agents with one of these tags.",
        ),
        capability: described(
          z
            .object({
              name: described(text(150), "Name of the capability.", "translation"),
              version: described(text(150, 0).optional(), "Its version; without it, any.", "1.0.0"),
            })
            .optional(),
          "Only agents with this capability.",
        ),
      })
      .optional(),
    "What agents must meet; all of what is given.",
  ),
});

export const searchBody = listBody.extend({
  query: described(
    z.string().trim().min(1).max(120).meta({ pattern: "\\S" }),
    "A part of name, description, author, URL, identifier, tag or capability.",
    "translat",
  ),
});

const pricingType = described(
  named("PricingType", "How an agent is paid.", z.enum(["Fixed", "Free", "Dynamic"])),
  "How the agent is paid.",
  "Fixed",
);
const amounts = described(
  z.array(z.object({ amount: minorUnits("Minor units of `unit`."), unit })),
  "The price: all of these amounts; empty unless it is fixed.",
);
const pricing = named(
  "EntryPricing",
  "What an agent charges. An agent that is sold only over x402 has the price and the asset of its first chain that is not free.",
  z.object({
    pricingType,
    FixedPricing: described(z.object({ Amounts: amounts }), "The price."),
  }),
);
const capability = named(
  "Capability",
  "What an agent can do.",
  z.object({
    name: answerText("Its name.", "translation"),
    version: answerText("Its version.", "1.0.0"),
  }),
);
const exampleOutput = named(
  "ExampleOutput",
  "A result that an agent shows as an example.",
  z.object({
    name: answerText("Its name.", "A translated letter"),
    mimeType: answerText("Its media type.", "text/plain"),
    url: answerText("Where it is.", `${URL}/example.txt`),
  }),
);

/** A text of an agent's metadata that it may leave out. */
function optionalText(what: string, example: string) {
  return described(z.string().nullable(), `${what}; null when it names none.`, example);
}

export const metadataVersion = described(z.int().min(0), "Version of the metadata's form.", 1);
export const agentIdentifier = answerText("Policy id and asset name, in hex.", AGENT_IDENTIFIER);
export const policyIdShown = hexText(56, "The minting policy.", POLICY_ID);
const sourceUrl = described(
  z.string().nullable(),
  "Where the registry is; null when unknown.",
  URL,
);

const entryFields = {
  id: recordId("the entry", "01m80ye102q5wqj8yjrjr6jyvc"),
  createdAt: timestamp("When the agent was found."),
  updatedAt: timestamp("When the entry was last changed by the chain."),
  name: answerText("Name of the agent.", "Steady translator"),
  description: optionalText("What the agent does", "Translates letters."),
  status: described(entryStatus, "Whether the agent can be used.", "Online"),
  statusUpdatedAt: timestamp("Stamp of the last change of the status."),
  statusReason: described(
    z.string().nullable(),
    "Why the agent's metadata cannot be read; null when it can.",
    "author.name: is missing",
  ),
  authorName: optionalText("Who offers the agent", "The demo"),
  authorContactEmail: optionalText("E-mail address of the author", "author@example.com"),
  authorContactOther: optionalText("Another way to reach the author", "https://example.com"),
  authorOrganization: optionalText("Organization of the author", "Demo Agents GmbH"),
  image: answerText("Picture of the agent.", "ipfs://demo"),
  otherLegal: optionalText("Another legal text", `${URL}/legal`),
  privacyPolicy: optionalText("The privacy policy", `${URL}/privacy`),
  termsAndCondition: optionalText("The terms of use", `${URL}/terms`),
  tags: described(z.array(answerText("A tag.", "demo")).nullable(), "What it can be found by."),
  uptimeCheckCount: described(
    z.int().min(0),
    "How often the agent was asked whether it answers.",
    51,
  ),
  uptimeCount: described(z.int().min(0), "How often it did.", 51),
  lastUptimeCheck: described(
    timestamp("").nullable(),
    "When it was last asked; null before the first time.",
    "2026-11-22T06:20:46.919Z",
  ),
  apiBaseUrl: answerText("Base URL of the agent's API.", URL),
  paymentType: described(paymentType, "What the agent is paid through.", "Web3ChainV1"),
  agentIdentifier,
  metadataVersion,
  RegistrySource: described(
    named(
      "EntryRegistrySource",
      "The registry that an entry was found in.",
      z.object({
        id: recordId("the registry source", SOURCE_ID),
        policyId: policyIdShown,
        type: described(z.literal("Web3ChainV1"), "How the registry works.", "Web3ChainV1"),
        url: sourceUrl,
      }),
    ),
    "The registry that the agent was found in.",
  ),
  Capability: described(
    capability.nullable(),
    "What the agent can do; null when it names nothing.",
  ),
  AgentPricing: described(pricing, "What the agent charges."),
  ExampleOutput: described(z.array(exampleOutput), "Results that it shows as examples."),
};

export const registryEntryRecord = named(
  "RegistryEntry",
  "An agent that was found on the chain.",
  z.object(entryFields),
);

export const entries = z.object({
  entries: described(z.array(registryEntryRecord), "The entries."),
});

export const paymentInformation = named(
  "PaymentInformation",
  "An agent, and the wallet that is paid.",
  z.object({
    ...entryFields,
    sellerWallet: described(
      z.object({
        address: walletAddress("the wallet"),
        vkey: walletVkey("the wallet"),
      }),
      "The wallet that holds the agent's token, and is paid.",
    ),
  }),
);

/** An agent's own words, in the form in which it is registered. */
export const metadataFields = {
  name: answerText("Name of the agent.", "Steady translator"),
  description: optionalText("What the agent does", "Translates letters."),
  apiBaseUrl: answerText("Base URL of the agent's API.", URL),
  image: answerText("Picture of the agent.", "ipfs://demo"),
  Tags: described(z.array(answerText("A tag.", "demo")), "What it can be found by."),
  Capability: described(
    capability.nullable(),
    "What the agent can do; null when it names nothing.",
  ),
  ExampleOutputs: described(z.array(exampleOutput), "Results that it shows as examples."),
  Author: described(
    named(
      "AgentAuthor",
      "Who offers an agent.",
      z.object({
        name: answerText("Name of the author.", "The demo"),
        organization: optionalText("Organization of the author", "Demo Agents GmbH"),
        contactEmail: optionalText("E-mail address of the author", "author@example.com"),
        contactOther: optionalText("Another way to reach the author", "https://example.com"),
      }),
    ),
    "Who offers the agent.",
  ),
  Legal: described(
    named(
      "AgentLegal",
      "Legal texts of an agent.",
      z.object({
        privacyPolicy: optionalText("The privacy policy", `${URL}/privacy`),
        terms: optionalText("The terms of use", `${URL}/terms`),
        other: optionalText("Another legal text", `${URL}/legal`),
      }),
    ),
    "Its legal texts.",
  ),
  AgentPricing: described(
    named(
      "AgentPricing",
      "What an agent charges.",
      z.object({
        pricingType,
        Pricing: amounts,
      }),
    ),
    "What the agent charges.",
  ),
  metadataVersion,
};

export const agentMetadata = named(
  "AgentMetadata",
  "An agent in its own words.",
  z.object(metadataFields),
);

export const offeredCapability = named(
  "OfferedCapability",
  "A capability that at least one agent offers now.",
  z.object({
    id: recordId("the capability", "b9daa12b304a8dbd62faa4632b996925"),
    name: answerText("Its name.", "translation"),
    version: answerText("Its version.", "1.0.0"),
  }),
);

const VKEY = "e7d12a3df371bb93b3895b0a817ca7ac24d186f911d8b1e0d69dbc9f";

export const walletQuery = z
  .object({
    walletVKey: described(text().optional(), "Payment key hash of the wallet.", VKEY),
    walletVkey: described(text().optional(), "Another spelling of `walletVKey`.", VKEY).meta({
      deprecated: true,
    }),
    network,
    smartContractAddress: described(
      text().optional(),
      "Only agents of the payment source with this contract.",
      CONTRACT_ADDRESS,
    ),
  })
  .refine(({ walletVKey, walletVkey }) => (walletVKey ?? walletVkey) !== undefined, {
    path: ["walletVKey"],
    error: "is required",
  })
  .meta({ required: ["walletVKey", "network"] });

export const agentQuery = z.object({
  agentIdentifier: givenAgentIdentifier,
  network,
});

export const walletAsset = named(
  "WalletAgent",
  "An agent whose token a wallet holds.",
  z.object({
    policyId: policyIdShown,
    assetName: answerText("Name of the token, in hex.", AGENT_IDENTIFIER.slice(56)),
    agentIdentifier,
    Metadata: described(agentMetadata, "The agent in its own words."),
  }),
);
