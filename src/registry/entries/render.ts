import type { Network } from "../../chain/network.ts";
import { documentVersion, valueName } from "../../http/names/table.ts";
import type { EntryRecord } from "./entry.ts";
import { advertisedPricing } from "./pricing.ts";
import type { AgentProfile } from "./profile.ts";

/** Raised when `render` changes: rows of another version are rendered when they are read. */
export const DOC_VERSION = documentVersion(2);

/** What an entry shows when its metadata cannot be read. */
const UNREADABLE: Omit<AgentProfile, "name"> = {
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

const POLICY_LENGTH = 56;

/**
 * The registry entry of the interface as JSON text, without what changes while the metadata does
 * not: status, times and counters, which `shownEntry` prepends.
 */
export function render(entry: EntryRecord): string {
  const { agentIdentifier, policyId, sourceId, sourceUrl: url, state } = entry;
  const profile: AgentProfile = state.profile ?? {
    ...UNREADABLE,
    name: agentIdentifier.slice(POLICY_LENGTH),
  };
  const { author, legal } = profile;
  const pricing = advertisedPricing(profile);
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
    paymentType: valueName(profile.paymentType),
    agentIdentifier,
    metadataVersion: profile.metadataVersion,
    RegistrySource: { id: sourceId, policyId, type: valueName("Web3ChainV1"), url },
    Capability: profile.capability,
    AgentPricing: { pricingType: pricing.type, FixedPricing: { Amounts: pricing.amounts } },
    ExampleOutput: profile.exampleOutputs,
  });
}

/** What a page reads of an entry. Times are epoch milliseconds. */
export interface ShownRow {
  id: string;
  network: Network;
  source_id: string;
  policy_id: string;
  agent_identifier: string;
  status: string;
  created_at: number;
  updated_at: number;
  status_updated_at: number;
  /** Null of a row that another version of `render` wrote: then it is rendered from `outdated`. */
  doc: string | null;
  outdated: string | null;
  checks: number | null;
  successes: number | null;
  last_check_at: number | null;
}

/** The entry as text: what changes often, then the rest as `render` made it. Nothing is parsed. */
export function shownEntry(row: ShownRow, doc: string): string {
  const head = JSON.stringify({
    id: row.id,
    createdAt: iso(row.created_at),
    updatedAt: iso(row.updated_at),
    status: row.status,
    statusUpdatedAt: iso(row.status_updated_at),
    uptimeCheckCount: row.checks ?? 0,
    uptimeCount: row.successes ?? 0,
    lastUptimeCheck: row.last_check_at === null ? null : iso(row.last_check_at),
  });
  return `${head.slice(0, -1)},${doc.slice(1)}`;
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
