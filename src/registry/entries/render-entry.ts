import type { Network } from "../../chain/network.ts";
import { POLICY_ID_LENGTH } from "../../chain/unit.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../http/envelope.ts";
import { toWireNames } from "../../http/names/translate.ts";
import { toDocumentVersion, toWireValueName } from "../../http/names/wire-names.ts";
import type { EntryRecord } from "./entry.ts";
import { selectAdvertisedPricing } from "./pricing.ts";
import type { AgentProfile } from "./profile.ts";
import { supportedPaymentSources, toSourceResponses } from "./supported-payment-sources.ts";

/** Raised when `renderEntry` changes: rows of another version are rendered when they are read. */
export const DOC_VERSION = toDocumentVersion(4);

/** What an entry shows when its metadata cannot be read. */
const UNREADABLE_PROFILE: Omit<AgentProfile, "name"> = {
  description: "",
  apiBaseUrl: "",
  image: "",
  tags: [],
  capability: null,
  author: { name: "", organization: "", contactEmail: "", contactOther: "" },
  legal: { privacyPolicy: "", terms: "", other: "" },
  exampleOutputs: [],
  pricing: { type: "Fixed", amounts: [] },
  paymentType: "Web3ChainV1",
  metadataVersion: 1,
};

/**
 * The registry entry of the interface as JSON text, without what changes while the metadata does
 * not: status, times and counters, which `renderPageEntry` prepends.
 */
export function renderEntry(entry: EntryRecord): string {
  const { agentIdentifier, policyId, sourceId, sourceUrl: url, state } = entry;
  const profile: AgentProfile = state.profile ?? {
    ...UNREADABLE_PROFILE,
    name: agentIdentifier.slice(POLICY_ID_LENGTH),
  };
  const { author, legal } = profile;
  const pricing = selectAdvertisedPricing(profile);
  return JSON.stringify({
    name: profile.name,
    description: profile.description,
    statusReason: state.reason,
    authorName: author.name,
    authorContactEmail: author.contactEmail,
    authorContactOther: author.contactOther,
    authorOrganization: author.organization,
    image: profile.image,
    otherLegal: legal.other,
    privacyPolicy: legal.privacyPolicy,
    termsAndCondition: legal.terms,
    tags: profile.tags,
    apiBaseUrl: profile.apiBaseUrl,
    paymentType: toWireValueName(profile.paymentType),
    agentIdentifier,
    metadataVersion: profile.metadataVersion,
    RegistrySource: { id: sourceId, policyId, type: toWireValueName("Web3ChainV1"), url },
    Capability: profile.capability,
    AgentPricing: { pricingType: pricing.type, FixedPricing: { Amounts: pricing.amounts } },
    ExampleOutput: profile.exampleOutputs,
    SupportedPaymentSources: toWireNames(supportedPaymentSources, toSourceResponses(profile)),
    Verifications: profile.verifications ?? [],
  });
}

/** What a page reads of an entry. Times are epoch milliseconds. */
export interface EntryPageRow {
  id: string;
  network: Network;
  source_id: string;
  policy_id: string;
  agent_identifier: string;
  status: string;
  created_at: number;
  updated_at: number;
  status_updated_at: number;
  /** Null of a row that another version of `renderEntry` wrote: then it is rendered from `outdated`. */
  doc: string | null;
  outdated: string | null;
  checks: number | null;
  successes: number | null;
  last_check_at: number | null;
  last_check_error: string | null;
}

/** The entry as text: what changes often, then the rest as `renderEntry` made it. Nothing is parsed. */
export function renderPageEntry(row: EntryPageRow, doc: string): string {
  const head = JSON.stringify({
    id: row.id,
    createdAt: toIsoTime(row.created_at),
    updatedAt: toIsoTime(row.updated_at),
    status: row.status,
    statusUpdatedAt: toIsoTime(row.status_updated_at),
    uptimeCheckCount: row.checks ?? 0,
    uptimeCount: row.successes ?? 0,
    lastUptimeCheck: toIsoTimeOrNull(row.last_check_at),
    lastUptimeCheckError: row.last_check_error,
  });
  return `${head.slice(0, -1)},${doc.slice(1)}`;
}
