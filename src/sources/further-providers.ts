import { maskToken } from "../api-keys/token.ts";
import { PROVIDER_PURPOSES } from "../chain/provider/outage.ts";
import { type Statement, statement } from "../db/client.ts";
import { SealError } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { checkPublicUrl, PublicFetchError } from "../http/outbound/fetch-public.ts";
import {
  type CapabilityCheck,
  type CheckedHistory,
  checkProvider,
  findLack,
} from "./check-provider.ts";
import { openProviderPlaces } from "./open-source-provider.ts";
import {
  type FurtherProvider,
  KIND_PURPOSES,
  openFurtherProviders,
  readProviderUrlRules,
  sealFurtherProviders,
} from "./provider-list.ts";
import type { CheckProviderBody, FurtherProviderBody, ProviderRecords } from "./schemas.ts";
import type { SourceOfProviders } from "./source-row.ts";
import { requireContractAddress } from "./validate-request.ts";

/**
 * The further providers of a request, each checked.
 *
 * @param stored - the present ones, whose keys a request need not repeat
 * @throws ApiError 400 naming the field and the lack
 */
export async function validateFurtherProviders(
  c: AppContext,
  place: CheckedHistory,
  bodies: readonly FurtherProviderBody[],
  stored: readonly FurtherProvider[],
): Promise<FurtherProvider[]> {
  return Promise.all(
    bodies.map(async (body, i) => {
      const field = `RpcProviders[${i}]`;
      const provider = await toFurtherProvider(c, field, body, stored);
      const checks = await checkProvider(c.env, place, provider);
      const lack = findLack(checks, body.use ?? []);
      if (lack !== undefined) throw new ApiError(400, `${field}: ${lack.meaning}`);
      const use = provider.use.filter(
        (purpose) =>
          (place.policyId === undefined || purpose === "reads") &&
          findLack(checks, [purpose]) === undefined,
      );
      if (use.length === 0)
        throw new ApiError(
          400,
          `${field}: ${findLack(checks, PROVIDER_PURPOSES)?.meaning ?? "the provider can do nothing"}`,
        );
      return { ...provider, use };
    }),
  );
}

/** The statement for the further providers of a request, if it has any. @throws ApiError 400 */
export async function buildProviderListUpdate(
  c: AppContext,
  source: SourceOfProviders,
  history: Omit<CheckedHistory, "network">,
  bodies: readonly FurtherProviderBody[] | undefined,
): Promise<Statement[]> {
  if (bodies === undefined) return [];
  const stored = await openFurtherProviders(c.env, source);
  const place = { network: source.network, ...history };
  const providers = await validateFurtherProviders(c, place, bodies, stored);
  const sealed = await sealFurtherProviders(c.env, source, providers);
  const { table = "payment_source", id } = source;
  return [statement(`UPDATE ${table} SET rpc_providers = ?2 WHERE id = ?1`, id, sealed)];
}

/** Checks what a provider can do. @throws ApiError 400 */
export async function checkRequestedProvider(
  c: AppContext,
  { network, smartContractAddress, policyId, ...body }: CheckProviderBody,
): Promise<{ Capabilities: CapabilityCheck[] }> {
  const contractAddress =
    smartContractAddress && requireContractAddress(network, smartContractAddress).address;
  const provider = await toFurtherProvider(c, "", body, []);
  const place = { network, contractAddress, policyId };
  return { Capabilities: await checkProvider(c.env, place, provider) };
}

/** @throws ApiError 400 */
async function toFurtherProvider(
  c: AppContext,
  path: string,
  body: FurtherProviderBody,
  stored: readonly FurtherProvider[],
): Promise<FurtherProvider> {
  const { rpcProvider, url = null } = body;
  const field = (name: string) => (path === "" ? name : `${path}.${name}`);
  const before = stored.find((one) => one.rpcProvider === rpcProvider && one.url === url);
  const rpcProviderApiKey = body.rpcProviderApiKey ?? before?.rpcProviderApiKey ?? "";
  if (url === null && rpcProvider === "Ogmios")
    throw new ApiError(400, `${field("url")}: the deployment has no Ogmios`);
  if (url === null && rpcProviderApiKey === "")
    throw new ApiError(400, `${field("rpcProviderApiKey")}: the deployment's provider needs a key`);
  const unfit = body.use?.find((purpose) => !KIND_PURPOSES[rpcProvider].includes(purpose));
  if (unfit !== undefined)
    throw new ApiError(400, `${field("use")}: ${rpcProvider} is not for ${unfit}`);
  if (url !== null)
    try {
      checkPublicUrl(url, await readProviderUrlRules(c.env, c.var.deadline));
    } catch (error) {
      if (!(error instanceof PublicFetchError)) throw error;
      throw new ApiError(400, `${field("url")}: ${error.message}`);
    }
  const use = PROVIDER_PURPOSES.filter((purpose) =>
    (body.use ?? KIND_PURPOSES[rpcProvider]).includes(purpose),
  );
  return { rpcProvider, url, rpcProviderApiKey, use };
}

/** What a record shows of providers that were set just now, or of none. */
export function renderFurtherProviders(providers: readonly FurtherProvider[]): ProviderRecords {
  return {
    RpcProviders: providers.map(({ rpcProviderApiKey: key, ...one }) => ({
      ...one,
      rpcProviderApiKey: key === "" ? "" : maskToken(key),
    })),
    RpcProviderOutages: [],
  };
}

/** The providers of a source, and which of them do not work. Providers whose keys are lost are left out. */
export async function loadProviderRecords(
  env: Env,
  source: SourceOfProviders,
): Promise<ProviderRecords> {
  if (source.rpcProviders === null) return renderFurtherProviders([]);
  try {
    const places = await openProviderPlaces(env, source);
    const further = places.slice(1).map(({ rpcProvider, url, rpcProviderApiKey, purposes }) => ({
      ...{ rpcProvider, url, rpcProviderApiKey, use: [...purposes] },
    }));
    const outages = places.flatMap(({ outages: all, purposes }, provider) =>
      purposes.flatMap((use) => {
        const outage = all[use];
        if (outage === undefined) return [];
        return [{ provider, use, since: toIsoTime(outage.since), reason: outage.reason }];
      }),
    );
    return { ...renderFurtherProviders(further), RpcProviderOutages: outages };
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return renderFurtherProviders([]);
  }
}
