import { CHUNK_BYTES, type Metadatum, splitIntoChunks } from "../chain/metadata.ts";
import type { AgentProfile } from "../registry/entries/profile.ts";
import { LEDGER_NAME, MINTED_SOURCE_TYPES } from "../registry/metadata/fields.ts";
import type { InboxAgentProfile, RegistrationProfile } from "./registration-profile.ts";
import type { RegistrationPurpose } from "./states.ts";
import type { RegistrationRow } from "./tables.ts";

/** CIP-25 (token metadata) and CIP-20 (messages). */
const TOKEN_LABEL = 721n;
const MESSAGE_LABEL = 674n;
const TOKEN_LABEL_VERSION = "1";

/** Keys that readers of the registry expect. */
const REGISTRY_NAME = "Masumi";
const MESSAGES = {
  Registration: "RegisterAgent",
  Update: "UpdateAgent",
  Deregistration: "DeregisterAgent",
} as const satisfies Record<RegistrationPurpose, string>;
const INBOX_TYPES = { Web3ChainV1: "MasumiInboxV1", Web3ChainV2: "MasumiInboxV2" } as const;

/** The labels of a transaction that mints or burns a registration's token. */
export function buildRegistrationLabels(
  row: RegistrationRow,
  purpose: RegistrationPurpose,
  assetName: string,
): Map<bigint, Metadatum> {
  const labels = new Map<bigint, Metadatum>();
  if (purpose !== "Deregistration")
    labels.set(
      TOKEN_LABEL,
      toMetadatumMap({
        [row.policyId]: toMetadatumMap({ [assetName]: buildTokenMetadata(row) }),
        version: TOKEN_LABEL_VERSION,
      }),
    );
  labels.set(MESSAGE_LABEL, toMetadatumMap({ msg: [REGISTRY_NAME, MESSAGES[purpose]] }));
  return labels;
}

function buildTokenMetadata(row: RegistrationRow): Metadatum {
  const { profile } = row;
  return isInboxAgent(profile)
    ? buildInboxMetadata(row, profile)
    : buildAgentMetadata(row, profile);
}

function isInboxAgent(profile: RegistrationProfile): profile is InboxAgentProfile {
  return "agentSlug" in profile;
}

function buildInboxMetadata(
  { sourceType }: RegistrationRow,
  { name, description, agentSlug }: InboxAgentProfile,
): Metadatum {
  return toMetadatumMap({
    type: INBOX_TYPES[sourceType],
    name: splitIntoChunks(name),
    description: toOptionalChunks(description),
    agentslug: splitIntoChunks(agentSlug),
    metadata_version: "1",
  });
}

/** Version 1 has one price; version 2 has one for each way the agent is paid. */
function buildAgentMetadata(row: RegistrationRow, profile: AgentProfile): Metadatum {
  const { author, legal, capability } = profile;
  const hasLegal = legal.privacyPolicy ?? legal.terms ?? legal.other;
  return toMetadatumMap({
    name: splitIntoChunks(profile.name),
    description: toOptionalChunks(profile.description),
    api_base_url: splitIntoChunks(profile.apiBaseUrl),
    example_output: profile.exampleOutputs.map(({ name, mimeType, url }) =>
      toMetadatumMap({
        name: splitIntoChunks(name),
        mime_type: splitIntoChunks(mimeType),
        url: splitIntoChunks(url),
      }),
    ),
    capability:
      capability &&
      toMetadatumMap({
        name: splitIntoChunks(capability.name),
        version: splitIntoChunks(capability.version),
      }),
    author: toMetadatumMap({
      name: splitIntoChunks(author.name),
      contact_email: toOptionalChunks(author.contactEmail),
      contact_other: toOptionalChunks(author.contactOther),
      organization: toOptionalChunks(author.organization),
    }),
    legal: hasLegal
      ? toMetadatumMap({
          privacy_policy: toOptionalChunks(legal.privacyPolicy),
          terms: toOptionalChunks(legal.terms),
          other: toOptionalChunks(legal.other),
        })
      : null,
    tags: profile.tags,
    agentPricing:
      row.sourceType === "Web3ChainV1"
        ? buildPricing(profile, "fixedPricing", (unit) => ({ unit: splitIntoChunks(unit) }))
        : null,
    supported_payment_sources:
      row.sourceType === "Web3ChainV2" ? [buildPaymentSource(row, profile)] : null,
    image: splitIntoChunks(profile.image),
    metadata_version: String(profile.metadataVersion),
  });
}

function buildPaymentSource(row: RegistrationRow, profile: AgentProfile): Metadatum {
  return toMetadatumMap({
    chain: LEDGER_NAME,
    network: row.network,
    settlement: toMetadatumMap({
      paymentSourceType: MINTED_SOURCE_TYPES[row.sourceType],
      address: splitIntoChunks(row.contractAddress),
    }),
    pricing: buildPricing(profile, "fixed", (unit) => ({ asset: toTextOrChunks(unit) })),
  });
}

/** @param unitField - the field of an amount that names its unit */
function buildPricing(
  { pricing: { type, amounts } }: AgentProfile,
  list: string,
  unitField: (unit: string) => Record<string, Metadatum>,
) {
  return toMetadatumMap({
    pricingType: type,
    [list]:
      type === "Fixed"
        ? amounts.map(({ amount, unit }) => toMetadatumMap({ amount, ...unitField(unit) }))
        : null,
  });
}

/** Readers of version 2 take a text that fits one piece as a string, and refuse an empty list of pieces. */
function toTextOrChunks(text: string): Metadatum {
  return new TextEncoder().encode(text).length <= CHUNK_BYTES ? text : splitIntoChunks(text);
}

const toOptionalChunks = (text: string | null) =>
  text === null || text === "" ? null : splitIntoChunks(text);

/** A map with texts as keys, without the fields that are null. */
function toMetadatumMap(values: Record<string, Metadatum | null>): Metadatum {
  return new Map(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}
