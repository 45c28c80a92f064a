import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { AgentProfile } from "./profile.ts";

export type PricingType = AgentProfile["pricing"]["type"];

/**
 * What an agent charges, as it is shown. An agent that is sold on other chains only has the first price
 * there that is not free, in the asset of that chain. A price that cannot be read has no amounts.
 */
export function selectAdvertisedPricing({
  pricing,
  paymentSources = [],
}: AgentProfile): AgentProfile["pricing"] {
  if (!isSoldOnOtherChains({ paymentSources })) return pricing;
  const prices = paymentSources.filter(({ isOnLedger }) => !isOnLedger).map((one) => one.pricing);
  const price = prices.find((one) => one?.type !== "Free");
  return price === undefined ? pricing : (price ?? { type: "Fixed", amounts: [] });
}

/** Whether an agent is sold on other chains only: its token names no address on the ledger to pay to. */
export function isSoldOnOtherChains({
  paymentSources = [],
}: Pick<AgentProfile, "paymentSources">): boolean {
  const isPayable = paymentSources.some((one) => one.isOnLedger && one.contractAddress !== null);
  return !isPayable && paymentSources.some(({ isOnLedger }) => !isOnLedger);
}

/** How agents price their work, by identifier; those whose metadata we do not know are left out. */
export async function loadPricingTypes(
  db: Database,
  network: Network,
  agentIdentifiers: string[],
): Promise<Map<string, PricingType>> {
  if (agentIdentifiers.length === 0) return new Map();
  // A registry that was added again has its agents twice: the later entry is the last here.
  const rows = await db.all<{ agent: string; type: PricingType }>(
    `SELECT agent_identifier AS agent, state->>'$.profile.pricing.type' AS type
     FROM registry_entry INDEXED BY registry_entry_token
     WHERE agent_identifier IN (SELECT value FROM json_each(?)) AND network = ?
       AND state->>'$.profile.pricing.type' IS NOT NULL
     ORDER BY id`,
    JSON.stringify([...new Set(agentIdentifiers)]),
    network,
  );
  return new Map(rows.map(({ agent, type }) => [agent, type]));
}
