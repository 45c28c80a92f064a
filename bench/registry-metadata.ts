import type { Metadatum } from "../devnet/demo/actors/metadata.ts";

/** Metadata of an agent as long as usual. */
export function metadata(name: string, apiBaseUrl: string): Metadatum {
  return {
    name: [name],
    description: ["An agent that the bench has made, with a description ", "of the usual length."],
    api_base_url: [apiBaseUrl],
    capability: { name: ["bench"], version: ["1.0.0"] },
    author: { name: ["The bench"], contact_email: ["bench@example.com"] },
    legal: { terms: ["https://example.com/terms"] },
    tags: ["bench", "agent"],
    agentPricing: { pricingType: "Fixed", fixedPricing: [{ unit: [], amount: "5000000" }] },
    image: ["ipfs://bench"],
    metadata_version: "1",
  };
}
