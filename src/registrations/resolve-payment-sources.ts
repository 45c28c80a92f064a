import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "../connections.ts";
import type { Database, Statement } from "../db/client.ts";
import { listSourcesOfPolicy } from "../escrow/terms/find-agent.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import type { ListedSource } from "../registry/entries/profile.ts";
import { createListedSource } from "../registry/entries/supported-payment-sources.ts";
import { openSourceProvider } from "../sources/open-source-provider.ts";
import type { SourceRow } from "../sources/source-row.ts";
import {
  type AgentOwner,
  prepareAgentSource,
  requireSettlementNetwork,
} from "../x402/settle/prepare-agent-source.ts";
import type {
  RequestedEvmSource,
  RequestedLedgerSource,
  RequestedSource,
} from "./payment-source-schemas.ts";

const FIELD = "SupportedPaymentSources";

/** The ways to pay an agent, after all checks. */
export interface ResolvedSources {
  listed: ListedSource[];
  /** Insert the paid resources of x402. */
  statements: Statement[];
  warnings: string[];
}

/** What the request is for. */
interface Agent {
  source: SourceRow;
  owner: AgentOwner;
  /** Of an update: what the agent lists now. */
  former: readonly ListedSource[];
}

/**
 * Checks the ways to pay an agent that a request names. A way over x402 that the agent lists already keeps its
 * paid resource.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 502, 504; ProviderError
 */
export async function resolvePaymentSources(
  c: AppContext,
  database: Database,
  agent: Agent,
  requested: readonly RequestedSource[],
  now: number,
): Promise<ResolvedSources> {
  const contracts = await listContracts(database, agent.source);
  const ledger = requested.map((one, i) =>
    one.chain === "Chain" ? toLedgerSource(one, agent.source, contracts, `${FIELD}[${i}]`) : null,
  );
  refuseRepeated(requested.map((one, i) => ledger[i] ?? one));
  await requireTokens(c, agent.source, ledger);
  const resolved = await pMap(
    requested,
    async (one, i): Promise<ResolvedSources> => {
      if (one.chain === "EVM") return resolveEvmSource(c, one, agent, `${FIELD}[${i}]`, now);
      return { listed: [ledger[i]].flatMap((found) => found ?? []), statements: [], warnings: [] };
    },
    { concurrency: MAX_CONCURRENT_FETCHES },
  );
  return {
    listed: resolved.flatMap(({ listed }) => listed),
    statements: resolved.flatMap(({ statements }) => statements),
    warnings: resolved.flatMap(({ warnings }) => warnings),
  };
}

/**
 * Checks the EVM chains of the ways to pay an agent that an update keeps: the token lists them again.
 *
 * @throws ApiError 400, 403
 */
export async function requireSettledChains(
  c: AppContext,
  listed: readonly ListedSource[],
): Promise<void> {
  const chains = listed.map(({ isOnLedger, network }) => (isOnLedger ? null : network));
  for (const [i, chain] of chains.entries())
    if (chain !== null && chains.indexOf(chain) === i)
      await requireSettlementNetwork(c, chain, `${FIELD}[${i}].network`);
}

/** The contracts at which quotes of an agent can be locked. */
async function listContracts(database: Database, source: SourceRow): Promise<string[]> {
  const sources = await listSourcesOfPolicy(database, source.network, source.policyId);
  return sources
    .filter(({ type }) => type === "Web3ChainV2")
    .map(({ contractAddress }) => contractAddress);
}

/** @throws ApiError 400 */
function toLedgerSource(
  { network, paymentSourceType: type, address, pricing }: RequestedLedgerSource,
  source: SourceRow,
  contracts: readonly string[],
  field: string,
): ListedSource {
  if (network !== source.network)
    throw new ApiError(400, `${field}.network: must be the network of the agent`);
  if (type !== source.type)
    throw new ApiError(400, `${field}.paymentSourceType: must be ${source.type}`);
  const contractAddress = address?.toLowerCase() ?? source.contractAddress;
  if (!contracts.includes(contractAddress))
    throw new ApiError(
      400,
      `${field}.address: must be the contract of a payment source with the agent's policy`,
    );
  return createListedSource(
    { network, type, contractAddress },
    {
      type: pricing.pricingType,
      amounts:
        pricing.pricingType === "Fixed"
          ? pricing.fixed.map(({ asset: unit, amount }) => ({ unit, amount }))
          : [],
    },
  );
}

/** @throws ApiError 400 */
function refuseRepeated(sources: readonly object[]): void {
  const texts = sources.map((source) => {
    const { extra: _, ...rest } = source as RequestedEvmSource;
    return JSON.stringify(rest);
  });
  const index = texts.findIndex((text, i) => texts.indexOf(text) !== i);
  if (index < 0) return;
  throw new ApiError(
    400,
    `${FIELD}[${index}]: repeats ${FIELD}[${texts.indexOf(texts[index] ?? "")}]`,
  );
}

/** Every token of a price must exist, or nobody could pay. @throws ApiError 400; ProviderError */
async function requireTokens(
  c: AppContext,
  source: SourceRow,
  listed: readonly (ListedSource | null)[],
): Promise<void> {
  const fields = new Map<string, string>();
  for (const [i, one] of listed.entries())
    for (const [j, { unit }] of (one?.pricing?.amounts ?? []).entries())
      if (unit !== "" && !fields.has(unit))
        fields.set(unit, `${FIELD}[${i}].pricing.fixed[${j}].asset`);
  if (fields.size === 0) return;
  const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
  await pMap(
    fields,
    async ([unit, field]) => {
      if ((await provider.assetMint(unit)) !== null) return;
      throw new ApiError(400, `${field}: the chain does not show this token`);
    },
    { concurrency: MAX_CONCURRENT_FETCHES },
  );
}

/** @throws ApiError 400, 403, 502, 504 */
async function resolveEvmSource(
  c: AppContext,
  { network, scheme, payTo, address, resource = null, extra, pricing }: RequestedEvmSource,
  { owner, former }: Agent,
  field: string,
  now: number,
): Promise<ResolvedSources> {
  if (address !== undefined && address !== payTo)
    throw new ApiError(400, `${field}.address: must be payTo`);
  const [list, token] =
    pricing.pricingType === "Fixed"
      ? (["fixed", pricing.fixed[0]] as const)
      : ([
          "dynamic",
          pricing.pricingType === "Dynamic" ? pricing.dynamic?.[0] : undefined,
        ] as const);
  const amount = pricing.pricingType === "Fixed" ? (pricing.fixed[0]?.amount ?? null) : null;
  const details = await prepareAgentSource(
    c,
    {
      ...{ caip2Network: network, payTo, resource, extra, amount },
      asset: token?.asset ?? null,
      decimals: token?.decimals ?? null,
    },
    owner,
    {
      network: `${field}.network`,
      asset: `${field}.pricing.${list}[0].asset`,
      decimals: `${field}.pricing.${list}[0].decimals`,
    },
    now,
  );
  const listed: ListedSource = {
    isOnLedger: false,
    chain: "EVM",
    network,
    type: null,
    contractAddress: null,
    pricing: {
      type: pricing.pricingType,
      amounts: amount !== null && token ? [{ unit: token.asset, amount }] : [],
    },
    ...{ scheme, payTo, resource, decimals: details.decimals },
    ...(list === "dynamic" && token && { dynamicAsset: token.asset }),
    ...(extra && { extra }),
  };
  const { resourceId, statements, warnings } = details;
  if (resourceId === null) return { listed: [listed], statements, warnings };
  const keptId = former.find((one) => isSameSource(one, listed))?.resourceId;
  return {
    listed: [{ ...listed, resourceId: keptId ?? resourceId }],
    statements: keptId === undefined ? statements : [],
    warnings,
  };
}

/** Whether two ways to pay are equal, but for their paid resource. */
function isSameSource(a: ListedSource, b: ListedSource): boolean {
  const toText = (source: ListedSource) => JSON.stringify({ ...source, resourceId: undefined });
  return toText(a) === toText(b);
}
