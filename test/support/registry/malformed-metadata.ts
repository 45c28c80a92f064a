import { metadataOf } from "./registry-sync.ts";

/** A map that JavaScript can make neither a text nor a number of. */
const NO_TEXT = { toString: "no function", valueOf: "no function" };

const fixed = (fixedPricing: unknown) => ({
  agentPricing: { pricingType: "Fixed", fixedPricing },
});
const source = (pricing: unknown) => ({
  metadata_version: "2",
  supported_payment_sources: [
    { chain: "Cardano", network: "Preprod", settlement: { address: ["addr_test1"] }, pricing },
  ],
});
const without = (field: string) => {
  const { [field]: _, ...rest } = metadataOf("without") as Record<string, unknown>;
  return rest;
};
const broken = (overrides: Record<string, unknown>) => metadataOf("broken", overrides);

/** Metadata that no agent can be read from: what is wrong, the metadata, and the reason given. */
export const MALFORMED: readonly [what: string, metadata: unknown, reason: string][] = [
  ["a text in place of a map", "text", "metadata: must be a map"],
  ["a list in place of a map", [["a"]], "metadata: must be a map"],
  ["a number in place of a map", 5, "metadata: must be a map"],
  ["an empty map", {}, "metadata_version: is missing"],
  ["no version", without("metadata_version"), "metadata_version: is missing"],
  ["version 3", broken({ metadata_version: "3" }), "metadata_version: must be 1 or 2"],
  ["version 0", broken({ metadata_version: 0 }), "metadata_version: must be 1 or 2"],
  ["a version in words", broken({ metadata_version: "one" }), "metadata_version: must be 1 or 2"],
  ["a version that is no text", broken({ metadata_version: NO_TEXT }), "metadata_version: must be"],
  [
    "a version with a piece that is no text",
    broken({ metadata_version: [NO_TEXT] }),
    "metadata_version: must be",
  ],
  ["no name", without("name"), "name: is missing"],
  ["an empty name", broken({ name: "" }), "name: must not be empty"],
  ["a name of no pieces", broken({ name: [] }), "name: must not be empty"],
  ["a number for a name", broken({ name: 5 }), "name: must be a text or a list of texts"],
  ["a map for a name", broken({ name: { a: "b" } }), "name: must be a text or a list of texts"],
  ["a name with a number in it", broken({ name: ["a", 5] }), "name: must be a text or a list"],
  ["a map for a description", broken({ description: {} }), "description: must be a text or a list"],
  ["no address", without("api_base_url"), "api_base_url: is missing"],
  ["an empty address", broken({ api_base_url: [""] }), "api_base_url: must not be empty"],
  ["no author", without("author"), "author: is missing"],
  ["a text for an author", broken({ author: "me" }), "author: must be a map"],
  [
    "an author without a name",
    broken({ author: { organization: "we" } }),
    "author.name: is missing",
  ],
  ["no tags", without("tags"), "tags: is missing"],
  ["an empty list of tags", broken({ tags: [] }), "tags: must have at least 1"],
  ["a text for tags", broken({ tags: "a,b" }), "tags: must be a list"],
  ["an empty tag", broken({ tags: ["a", ""] }), "tags.1: must not be empty"],
  ["no image", without("image"), "image: is missing"],
  ["no pricing", without("agentPricing"), "agentPricing: is missing"],
  [
    "a pricing of no known type",
    broken({ agentPricing: { pricingType: "Auction" } }),
    "agentPricing.pricingType: must be one of Fixed, Free, Dynamic",
  ],
  [
    "a fixed pricing without prices",
    broken({ agentPricing: { pricingType: "Fixed" } }),
    "agentPricing.fixedPricing: is missing",
  ],
  ["an empty list of prices", broken(fixed([])), "agentPricing.fixedPricing: must have at least 1"],
  [
    "26 prices",
    broken(fixed(Array(26).fill({ unit: [], amount: "1" }))),
    "agentPricing.fixedPricing: must have at most 25",
  ],
  [
    "a price of nothing",
    broken(fixed([{ unit: [], amount: "0" }])),
    "agentPricing.fixedPricing.0.amount: must be a whole number above 0",
  ],
  [
    "a negative price",
    broken(fixed([{ unit: [], amount: "-5" }])),
    "agentPricing.fixedPricing.0.amount: must be a whole number above 0",
  ],
  [
    "a price with a fraction",
    broken(fixed([{ unit: [], amount: "1.5" }])),
    "agentPricing.fixedPricing.0.amount: must be a whole number above 0",
  ],
  [
    "a price that is no text",
    broken(fixed([{ unit: [], amount: NO_TEXT }])),
    "agentPricing.fixedPricing.0.amount: must be a whole number above 0",
  ],
  [
    "a price with a piece that is no text",
    broken(fixed([{ unit: [], amount: ["1", NO_TEXT] }])),
    "agentPricing.fixedPricing.0.amount: must be a whole number above 0",
  ],
  [
    "an example without an address",
    broken({ example_output: [{ name: "a", mime_type: "b" }] }),
    "example_output.0.url: is missing",
  ],
  ["a text for a capability", broken({ capability: "answering" }), "capability: must be a map"],
  [
    "version 2 without payment sources",
    broken({ metadata_version: "2" }),
    "supported_payment_sources: is missing",
  ],
  [
    "version 2 with a price of no known type",
    broken(source({ pricingType: "Auction" })),
    "supported_payment_sources.0.pricing.pricingType: must be one of",
  ],
];
