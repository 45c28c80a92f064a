import { requireCredits } from "../api-keys/credits.ts";
import { chargeCall } from "../api-keys/run-with-charge.ts";
import type { Network } from "../chain/network.ts";
import { openDb, type Statement, statement } from "../db/client.ts";
import { listPermittedNetworks } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { openSourceProvider } from "../sources/open-source-provider.ts";
import { pageSql, renderPage } from "./entries/read-entries.ts";
import type { EntryPageRow } from "./entries/render-entry.ts";
import { findActiveRegistrySource } from "./sources/list-registry-sources.ts";
import { findSellerWallet, type SellerWallet } from "./token-holder.ts";

/**
 * The payment information of an agent: its entry, the holder of its token and the payee. It is
 * charged only when all of it was found.
 *
 * @returns JSON text of the record
 * @throws ApiError 404 for an unknown agent, a removed source or a token without holder; 402;
 *   ProviderError
 */
export async function loadPaymentInformation(
  c: AppContext,
  agentIdentifier: string,
): Promise<string> {
  const row = await findEntry(c, agentIdentifier);
  if (row === undefined) throw new ApiError(404, "agentIdentifier: there is no such agent");
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  await requireCredits(core, c.var.caller, "payment-information");
  const wallet = await loadSellerWallet(c, row);
  if (wallet === null)
    throw new ApiError(404, "agentIdentifier: no wallet holds this agent's token");
  const text = renderPage([row]);
  await chargeCall(c, "payment-information");
  return `${text.slice(0, -1)},"sellerWallet":${JSON.stringify(wallet)}}`;
}

/** The agent's entry on a network the key may use; one that is registered before one that is not. */
async function findEntry(
  c: AppContext,
  agentIdentifier: string,
): Promise<EntryPageRow | undefined> {
  const found = await Promise.all(
    listPermittedNetworks(c.var.caller).map((network) => {
      const { sql, params } = buildAgentEntryQuery(network, agentIdentifier);
      return openDb(c.env, network, { deadline: c.var.deadline }).all<EntryPageRow>(sql, ...params);
    }),
  );
  const rows = found.flat();
  return rows.find(({ status }) => status !== "Deregistered") ?? rows[0];
}

/** The entry of an agent on one network. */
export function buildAgentEntryQuery(network: Network, agentIdentifier: string): Statement {
  return statement(
    pageSql(
      "e.agent_identifier = ?1 AND e.network = ?2",
      "ORDER BY e.status = 'Deregistered', e.id DESC LIMIT 1",
    ),
    agentIdentifier,
    network,
  );
}

async function loadSellerWallet(c: AppContext, row: EntryPageRow): Promise<SellerWallet | null> {
  const source = await findActiveRegistrySource(
    openDb(c.env, undefined, { deadline: c.var.deadline }),
    row.source_id,
  );
  if (source === null)
    throw new ApiError(404, "agentIdentifier: the registry of this agent was removed");
  // Only for a holder that is not cached: a provider's key must be unsealed first.
  const assetHolders = async (unit: string) => {
    const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
    return provider.assetHolders(unit);
  };
  return findSellerWallet({ assetHolders }, source.id, row.network, row.agent_identifier);
}
