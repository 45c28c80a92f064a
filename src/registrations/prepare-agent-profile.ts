import { type Database, openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import type { AgentProfile, ListedSource } from "../registry/entries/profile.ts";
import { createListedSource } from "../registry/entries/supported-payment-sources.ts";
import type { SourceRow } from "../sources/source-row.ts";
import type { PreparedProfile } from "./request-registration.ts";
import type { RegistrationBody } from "./request-schemas.ts";
import { requireSettledChains, resolvePaymentSources } from "./resolve-payment-sources.ts";
import type { RegistrationRow } from "./tables.ts";

type AgentBody = Omit<RegistrationBody, "sellingWalletVkey">;
type Pricing = AgentProfile["pricing"];

/** How an agent is paid, and what its registration inserts for this. */
interface PreparedPricing extends Omit<PreparedProfile, "profile"> {
  pricing: Pricing;
  /** Of Web3ChainV2. */
  paymentSources: ListedSource[];
}

/**
 * Checks a request about an agent, and builds the token's metadata.
 *
 * @param row - the registration; of an update, as it is before
 * @param former - of an update: the agent's profile before
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 502, 504; ProviderError
 */
export async function prepareAgentProfile(
  c: AppContext,
  body: AgentBody,
  source: SourceRow,
  row: Pick<RegistrationRow, "id" | "createdById">,
  former: AgentProfile | null,
  now: number,
): Promise<PreparedProfile> {
  const { type } = source;
  const { pricing, paymentSources, ...additions } =
    type === "Web3ChainV1"
      ? preparePricing(body)
      : await prepareSources(c, body, source, row, former, now);
  const verifications = body.Verifications ?? former?.verifications ?? [];
  const profile: AgentProfile = {
    name: body.name,
    description: body.description,
    apiBaseUrl: body.apiBaseUrl,
    image: body.image,
    tags: body.Tags,
    capability: body.Capability,
    author: body.Author,
    legal: body.Legal,
    exampleOutputs: body.ExampleOutputs,
    pricing,
    paymentType: pricing.type === "Free" ? "None" : type,
    metadataVersion: type === "Web3ChainV1" ? 1 : 2,
    ...(type === "Web3ChainV2" && { paymentSources }),
    ...(type === "Web3ChainV2" && verifications.length > 0 && { verifications }),
  };
  return { ...additions, profile };
}

/** The only price of an agent of Web3ChainV1. @throws ApiError 400 */
function preparePricing(body: AgentBody): PreparedPricing {
  if (body.SupportedPaymentSources !== undefined)
    throw new ApiError(
      400,
      "SupportedPaymentSources: must be omitted for an agent of Web3ChainV1; send AgentPricing",
    );
  if (body.AgentPricing === undefined) throw new ApiError(400, "AgentPricing: is required");
  return {
    pricing: toPricing(body.AgentPricing),
    paymentSources: [],
    statements: [],
    warnings: [],
  };
}

/** @throws ApiError 400, 403, 502, 504; ProviderError */
async function prepareSources(
  c: AppContext,
  { AgentPricing, SupportedPaymentSources: requested }: AgentBody,
  source: SourceRow,
  row: Pick<RegistrationRow, "id" | "createdById">,
  former: AgentProfile | null,
  now: number,
): Promise<PreparedPricing> {
  if (AgentPricing !== undefined && requested !== undefined)
    throw new ApiError(400, "SupportedPaymentSources: must not be sent together with AgentPricing");
  if (AgentPricing !== undefined) {
    const pricing = toPricing(AgentPricing);
    return {
      ...{ pricing, paymentSources: [createListedSource(source, pricing)] },
      ...{ statements: [], warnings: [] },
    };
  }
  const formerSources = former?.paymentSources ?? [];
  if (requested === undefined) {
    if (formerSources.length === 0)
      throw new ApiError(400, "AgentPricing: is required without SupportedPaymentSources");
    await requireSettledChains(c, formerSources);
    return {
      ...{ pricing: selectPricing(formerSources), paymentSources: formerSources },
      ...{ statements: [], warnings: [] },
    };
  }
  const database: Database = openDb(c.env, source.network, { deadline: c.var.deadline });
  const owner = { registrationId: row.id, keyId: row.createdById };
  const agent = { source, owner, former: formerSources };
  const { listed, ...more } = await resolvePaymentSources(c, database, agent, requested, now);
  return { pricing: selectPricing(listed), paymentSources: listed, ...more };
}

function toPricing(price: NonNullable<AgentBody["AgentPricing"]>): Pricing {
  const { pricingType, Pricing } = { Pricing: [], ...price };
  return { type: pricingType, amounts: pricingType === "Fixed" ? Pricing : [] };
}

/** The price on the ledger, as readers of the token find it: that of the first way to pay there. */
function selectPricing(sources: readonly ListedSource[]): Pricing {
  return sources.find(({ isOnLedger }) => isOnLedger)?.pricing ?? { type: "Free", amounts: [] };
}
