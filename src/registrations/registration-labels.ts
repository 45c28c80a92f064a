import { type Metadatum, PIECE_BYTES, piecesOf } from "../chain/metadata.ts";
import type { AgentProfile } from "../registry/entries/profile.ts";
import { LEDGER, MINTED_SOURCE_TYPES } from "../registry/metadata/fields.ts";
import type { Purpose } from "./states.ts";
import type { RegistrationRow } from "./tables.ts";
import type { InboxAgentProfile, RegistrationProfile } from "./token.ts";

/** CIP-25 (token metadata) and CIP-20 (messages). */
const TOKEN_LABEL = 721n;
const MESSAGE_LABEL = 674n;
const TOKEN_LABEL_VERSION = "1";

/** Keys that readers of the registry expect. */
const REGISTRY_NAME = "Masumi";
const INBOX_TYPES = { Web3ChainV1: "MasumiInboxV1", Web3ChainV2: "MasumiInboxV2" } as const;

/** The labels of a transaction that mints or burns a registration's token. */
export function registrationLabels(
  row: RegistrationRow,
  purpose: Purpose,
  assetName: string,
): Map<bigint, Metadatum> {
  const message = purpose === "Registration" ? "RegisterAgent" : "DeregisterAgent";
  const labels = new Map<bigint, Metadatum>();
  if (purpose === "Registration")
    labels.set(
      TOKEN_LABEL,
      fields({
        [row.policyId]: fields({ [assetName]: tokenMetadata(row) }),
        version: TOKEN_LABEL_VERSION,
      }),
    );
  labels.set(MESSAGE_LABEL, fields({ msg: [REGISTRY_NAME, message] }));
  return labels;
}

function tokenMetadata(row: RegistrationRow): Metadatum {
  const { profile } = row;
  return isInboxAgent(profile) ? inboxMetadata(row, profile) : agentMetadata(row, profile);
}

function isInboxAgent(profile: RegistrationProfile): profile is InboxAgentProfile {
  return "agentSlug" in profile;
}

function inboxMetadata(
  { sourceType }: RegistrationRow,
  { name, description, agentSlug }: InboxAgentProfile,
): Metadatum {
  return fields({
    type: INBOX_TYPES[sourceType],
    name: piecesOf(name),
    description: pieces(description),
    agentslug: piecesOf(agentSlug),
    metadata_version: "1",
  });
}

/** Version 1 has one price; version 2 has one for each way the agent is paid. */
function agentMetadata(row: RegistrationRow, profile: AgentProfile): Metadatum {
  const { author, legal, capability } = profile;
  const hasLegal = legal.privacyPolicy ?? legal.terms ?? legal.other;
  return fields({
    name: piecesOf(profile.name),
    description: pieces(profile.description),
    api_base_url: piecesOf(profile.apiBaseUrl),
    example_output: profile.exampleOutputs.map(({ name, mimeType, url }) =>
      fields({ name: piecesOf(name), mime_type: piecesOf(mimeType), url: piecesOf(url) }),
    ),
    capability:
      capability &&
      fields({ name: piecesOf(capability.name), version: piecesOf(capability.version) }),
    author: fields({
      name: piecesOf(author.name),
      contact_email: pieces(author.contactEmail),
      contact_other: pieces(author.contactOther),
      organization: pieces(author.organization),
    }),
    legal: hasLegal
      ? fields({
          privacy_policy: pieces(legal.privacyPolicy),
          terms: pieces(legal.terms),
          other: pieces(legal.other),
        })
      : null,
    tags: profile.tags,
    agentPricing:
      row.sourceType === "Web3ChainV1"
        ? pricing(profile, "fixedPricing", (unit) => ({ unit: piecesOf(unit) }))
        : null,
    supported_payment_sources: row.sourceType === "Web3ChainV2" ? [ownSource(row, profile)] : null,
    image: piecesOf(profile.image),
    metadata_version: String(profile.metadataVersion),
  });
}

function ownSource(row: RegistrationRow, profile: AgentProfile): Metadatum {
  return fields({
    chain: LEDGER,
    network: row.network,
    settlement: fields({
      paymentSourceType: MINTED_SOURCE_TYPES[row.sourceType],
      address: piecesOf(row.contractAddress),
    }),
    pricing: pricing(profile, "fixed", (unit) => ({ asset: inOnePiece(unit) })),
  });
}

/** @param unitField - the field of an amount that names its unit */
function pricing(
  { pricing: { type, amounts } }: AgentProfile,
  list: string,
  unitField: (unit: string) => Record<string, Metadatum>,
) {
  return fields({
    pricingType: type,
    [list]:
      type === "Fixed"
        ? amounts.map(({ amount, unit }) => fields({ amount, ...unitField(unit) }))
        : null,
  });
}

/** Readers of version 2 take a text that fits one piece as a string, and refuse an empty list of pieces. */
function inOnePiece(text: string): Metadatum {
  return new TextEncoder().encode(text).length <= PIECE_BYTES ? text : piecesOf(text);
}

const pieces = (text: string | null) => (text === null || text === "" ? null : piecesOf(text));

/** A map with texts as keys, without the fields that are null. */
function fields(values: Record<string, Metadatum | null>): Metadatum {
  return new Map(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}
