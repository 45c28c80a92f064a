import { selectAdvertisedPricing } from "./pricing.ts";
import type { AgentProfile } from "./profile.ts";
import { toSourceResponses } from "./supported-payment-sources.ts";

/** What an agent's metadata says, as the interface shows it. */
export function toProfileResponse(profile: AgentProfile) {
  const pricing = selectAdvertisedPricing(profile);
  const { author, legal } = profile;
  return {
    name: profile.name,
    description: profile.description,
    apiBaseUrl: profile.apiBaseUrl,
    image: profile.image,
    Tags: profile.tags,
    Capability: profile.capability,
    ExampleOutputs: profile.exampleOutputs,
    Author: {
      name: author.name,
      organization: author.organization,
      contactEmail: author.contactEmail,
      contactOther: author.contactOther,
    },
    Legal: { privacyPolicy: legal.privacyPolicy, terms: legal.terms, other: legal.other },
    AgentPricing: { pricingType: pricing.type, Pricing: pricing.amounts },
    SupportedPaymentSources: toSourceResponses(profile),
    Verifications: profile.verifications ?? [],
    metadataVersion: profile.metadataVersion,
  };
}
