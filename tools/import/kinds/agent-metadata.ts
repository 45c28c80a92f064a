/** The rows that describe an agent, as the metadata of its token. */
import type { AgentProfile } from "../../../src/registry/entries/profile.ts";
import { readProfile } from "../../../src/registry/entries/profile.ts";
import { LEDGER_NAME } from "../../../src/registry/metadata/fields.ts";
import { type ImportContext, LeftOut } from "../import-context.ts";
import type { PeerRow } from "../peer-database.ts";

/** The picture of every agent there. */
const IMAGE = "ipfs://QmXXW7tmBgpQpXoJMAMEXXFe9dyQcrLFKGuzxnHDnbKC7f";

/** The profile of a registration, read as a token's metadata would be. @throws LeftOut */
export function buildAgentProfile(
  row: PeerRow,
  type: "Web3ChainV1" | "Web3ChainV2",
  context: ImportContext,
): AgentProfile {
  const sources = listSources(row, context);
  const result = readProfile({
    name: row.name,
    description: row.description,
    api_base_url: row.apiBaseUrl,
    image: IMAGE,
    tags: row.tags,
    example_output: context
      .findRows("ExampleOutput", "registryRequestId", row.id)
      .map(({ name, mimeType, url }) => ({ name, mime_type: mimeType, url })),
    capability: { name: row.capabilityName, version: row.capabilityVersion },
    author: {
      name: row.authorName,
      organization: row.authorOrganization,
      contact_email: row.authorContactEmail,
      contact_other: row.authorContactOther,
    },
    legal: { privacy_policy: row.privacyPolicy, terms: row.terms, other: row.other },
    metadata_version: type === "Web3ChainV1" ? 1 : 2,
    ...(type === "Web3ChainV1"
      ? { agentPricing: readPricing("registryRequestId", row.id, "fixedPricing", "unit", context) }
      : {
          supported_payment_sources: sources.map((one) => toMetadata(one, context)),
          verifications: context
            .findRows("AgentVerification", "registryRequestId", row.id)
            .map(toVerification),
        }),
  });
  if (!result.ok) throw new LeftOut(result.reason);
  const { paymentSources } = result.profile;
  return {
    ...result.profile,
    ...(paymentSources && {
      paymentSources: paymentSources.map((listed, i) => {
        const source = sources[i];
        return source && findResource(source, context)
          ? { ...listed, resourceId: String(source.id) }
          : listed;
      }),
    }),
  };
}

/** The token and the price that a way to pay over x402 takes; null: it names no token. */
export function findResource(
  source: PeerRow,
  context: ImportContext,
): { asset: string; amount: string | null; decimals: number } | null {
  if (source.chain === LEDGER_NAME) return null;
  const { fixed, pricingType } = readAmounts("supportedPaymentSourceId", source.id, context);
  const [price] = fixed;
  const asset = pricingType === "Fixed" ? price?.unit : source.dynamicAsset;
  const decimals = pricingType === "Fixed" ? source.fixedDecimals : source.dynamicDecimals;
  if (typeof asset !== "string" || typeof decimals !== "number") return null;
  const amount = pricingType === "Fixed" ? String(price?.amount) : null;
  return { asset: asset.toLowerCase(), amount, decimals };
}

function listSources(row: PeerRow, context: ImportContext): PeerRow[] {
  return context
    .findRows("SupportedPaymentSource", "registryRequestId", row.id)
    .toSorted((one, other) => Number(one.position) - Number(other.position));
}

type PricingOwner = "registryRequestId" | "supportedPaymentSourceId";

function readAmounts(owner: PricingOwner, id: unknown, context: ImportContext) {
  const [pricing] = context.findRows("AgentPricing", owner, id);
  const [fixed] = context.findRows("AgentFixedPricing", "agentPricingId", pricing?.id);
  const amounts = context.findRows("UnitValue", "agentFixedPricingId", fixed?.id);
  return { pricingType: pricing?.pricingType, fixed: amounts };
}

function readPricing(
  owner: PricingOwner,
  id: unknown,
  list: string,
  unitName: string,
  context: ImportContext,
) {
  const { pricingType, fixed } = readAmounts(owner, id, context);
  return { pricingType, [list]: fixed.map(({ unit, amount }) => ({ [unitName]: unit, amount })) };
}

function toMetadata(source: PeerRow, context: ImportContext) {
  const isOnLedger = source.chain === LEDGER_NAME;
  const decimals = source.fixedDecimals ?? source.dynamicDecimals;
  const pricing = readPricing("supportedPaymentSourceId", source.id, "fixed", "asset", context);
  const fixed = (pricing.fixed as object[]).map((one) => ({ ...one, decimals }));
  return {
    chain: source.chain,
    network: source.network,
    settlement: isOnLedger
      ? { paymentSourceType: source.paymentSourceType, address: source.address }
      : {
          scheme: source.scheme,
          payTo: source.payTo ?? source.address,
          resource: source.resource,
          extra: source.extra,
        },
    pricing: {
      pricingType: pricing.pricingType,
      fixed,
      ...(source.dynamicAsset !== null && { dynamic: [{ asset: source.dynamicAsset, decimals }] }),
    },
  };
}

const toVerification = (row: PeerRow) => ({
  method: row.method,
  schemaVersion: row.schemaVersion ?? undefined,
  issuer: { aid: row.issuerAid, oobi: row.issuerOobi },
  schema: { said: row.schemaSaid, oobi: row.schemaOobi },
  credential: {
    said: row.credentialSaid,
    oobi: row.credentialOobi,
    registry: row.credentialRegistry ?? undefined,
  },
  holder: { aid: row.holderAid, oobi: row.holderOobi },
  baseUrl: row.baseUrl ?? undefined,
});
