import {
  CHUNK_BYTES,
  encodeLabels,
  jsonToMetadatum,
  type Metadatum,
  splitIntoChunks,
} from "../chain/metadata.ts";
import { ApiError } from "../http/errors.ts";
import type { AgentProfile, ListedSource } from "../registry/entries/profile.ts";
import type { AgentVerification } from "../registry/entries/verification.ts";
import { MINTED_SOURCE_TYPES } from "../registry/metadata/fields.ts";
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

/** Bytes of a transaction, less what a mint needs besides its metadata. */
const MAX_METADATA_BYTES = 16_384 - 1_024;
/** In place of a token's name before its mint; all names have this length. */
const ASSET_NAME_PLACEHOLDER = "0".repeat(64);

/**
 * Refuses metadata that no transaction has room for. A mint that is too large for another reason fails later.
 *
 * @throws ApiError 400
 */
export function requireMetadataSize(row: RegistrationRow, purpose: RegistrationPurpose): void {
  const size = encodeLabels(buildRegistrationLabels(row, purpose, ASSET_NAME_PLACEHOLDER)).length;
  if (size > MAX_METADATA_BYTES)
    throw new ApiError(
      400,
      `The token's metadata would have ${size} bytes, and a transaction has room for ${MAX_METADATA_BYTES}. Shorten the texts or the lists.`,
    );
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
      toChunksMap({ name, mime_type: mimeType, url }),
    ),
    capability: capability && toChunksMap({ name: capability.name, version: capability.version }),
    author: toChunksMap({
      name: author.name,
      contact_email: author.contactEmail,
      contact_other: author.contactOther,
      organization: author.organization,
    }),
    legal: hasLegal
      ? toChunksMap({ privacy_policy: legal.privacyPolicy, terms: legal.terms, other: legal.other })
      : null,
    tags: profile.tags,
    agentPricing:
      row.sourceType === "Web3ChainV1"
        ? buildPricing(profile.pricing, "fixedPricing", (unit) => ({ unit: splitIntoChunks(unit) }))
        : null,
    supported_payment_sources:
      row.sourceType === "Web3ChainV2"
        ? (profile.paymentSources ?? []).map(buildPaymentSource)
        : null,
    verifications:
      row.sourceType === "Web3ChainV2" && profile.verifications
        ? profile.verifications.map(buildVerification)
        : null,
    image: splitIntoChunks(profile.image),
    metadata_version: String(profile.metadataVersion),
  });
}

function buildPaymentSource(source: ListedSource): Metadatum {
  const { decimals, dynamicAsset } = source;
  const pricing = buildPricing(
    source.pricing ?? { type: "Free", amounts: [] },
    "fixed",
    (asset) => ({
      asset: toTextOrChunks(asset),
      decimals: decimals === null ? null : String(decimals),
    }),
  );
  if (dynamicAsset !== undefined)
    pricing.set("dynamic", [
      toMetadatumMap({
        asset: toTextOrChunks(dynamicAsset),
        decimals: decimals === null ? null : String(decimals),
      }),
    ]);
  return toMetadatumMap({
    chain: source.chain,
    network: source.network,
    settlement: source.isOnLedger ? buildContract(source) : buildPayee(source),
    pricing,
  });
}

function buildContract({ type, contractAddress }: ListedSource): Metadatum {
  return toMetadatumMap({
    paymentSourceType: type && MINTED_SOURCE_TYPES[type],
    address: toOptionalChunks(contractAddress),
  });
}

function buildPayee({ scheme, payTo, resource, extra }: ListedSource): Metadatum {
  return toMetadatumMap({
    scheme,
    payTo: toOptionalChunks(payTo),
    resource: toOptionalChunks(resource),
    extra: extra === undefined ? null : jsonToMetadatum(extra),
  });
}

function buildVerification(verification: AgentVerification): Metadatum {
  const { method, schemaVersion, issuer, schema, credential, holder, baseUrl } = verification;
  return toMetadatumMap({
    method: splitIntoChunks(method),
    schemaVersion: toOptionalChunks(schemaVersion),
    issuer: toChunksMap(issuer),
    schema: toChunksMap(schema),
    credential: toChunksMap(credential),
    holder: toChunksMap(holder),
    baseUrl: toOptionalChunks(baseUrl),
  });
}

/** @param fieldsOf - the fields of an amount that name its unit */
function buildPricing(
  { type, amounts }: AgentProfile["pricing"],
  list: string,
  fieldsOf: (unit: string) => Record<string, Metadatum | null>,
) {
  return toMetadatumMap({
    pricingType: type,
    [list]:
      type === "Fixed"
        ? amounts.map(({ amount, unit }) => toMetadatumMap({ amount, ...fieldsOf(unit) }))
        : null,
  });
}

/** Readers of version 2 take a text that fits one piece as a string, and refuse an empty list of pieces. */
function toTextOrChunks(text: string): Metadatum {
  return new TextEncoder().encode(text).length <= CHUNK_BYTES ? text : splitIntoChunks(text);
}

const toOptionalChunks = (text: string | null | undefined) => (text ? splitIntoChunks(text) : null);

/** A map of texts in pieces, without the fields that are empty. */
function toChunksMap(fields: Record<string, string | null | undefined>) {
  return toMetadatumMap(
    Object.fromEntries(
      Object.entries(fields).map(([name, text]) => [name, toOptionalChunks(text)]),
    ),
  );
}

/** A map with texts as keys, without the fields that are null. */
function toMetadatumMap(values: Record<string, Metadatum | null>): Map<Metadatum, Metadatum> {
  return new Map(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}
