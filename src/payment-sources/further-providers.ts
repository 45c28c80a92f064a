import { maskToken } from "../api-keys/token.ts";
import type { Network } from "../chain/network.ts";
import { PROVIDER_PURPOSES } from "../chain/provider/outage.ts";
import { SealError } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { checkPublicUrl, PublicFetchError } from "../http/outbound/fetch-public.ts";
import { type CapabilityCheck, checkProvider, findLack } from "../sources/check-provider.ts";
import { openProviderPlaces } from "../sources/open-source-provider.ts";
import {
  type FurtherProvider,
  KIND_PURPOSES,
  readProviderUrlRules,
} from "../sources/provider-list.ts";
import type { SourceRow } from "../sources/source-row.ts";
import { requireContractAddress } from "../sources/validate-request.ts";
import type { PaymentSourceRecord } from "./response-schemas.ts";
import type { CheckProviderBody, FurtherProviderBody } from "./schemas.ts";

/** What a source's record shows of its providers. */
export type ProviderRecords = Pick<PaymentSourceRecord, "RpcProviders" | "RpcProviderOutages">;

/**
 * The further providers of a request, each checked.
 *
 * @param stored - the present ones, whose keys a request need not repeat
 * @param contractAddress - of the history to read; null: not known
 * @throws ApiError 400 naming the field and the lack
 */
export async function validateFurtherProviders(
  c: AppContext,
  network: Network,
  contractAddress: string | null,
  bodies: readonly FurtherProviderBody[],
  stored: readonly FurtherProvider[],
): Promise<FurtherProvider[]> {
  return Promise.all(
    bodies.map(async (body, i) => {
      const field = `RpcProviders[${i}]`;
      const provider = await toFurtherProvider(c, field, body, stored);
      const checks = await checkProvider(c.env, network, provider, contractAddress);
      const lack = findLack(checks, body.use ?? []);
      if (lack !== undefined) throw new ApiError(400, `${field}: ${lack.meaning}`);
      const use = provider.use.filter((purpose) => findLack(checks, [purpose]) === undefined);
      if (use.length === 0) throw new ApiError(400, `${field}: the provider can do nothing`);
      return { ...provider, use };
    }),
  );
}

/** Checks what a provider can do. @throws ApiError 400 */
export async function checkRequestedProvider(
  c: AppContext,
  { network, smartContractAddress, ...body }: CheckProviderBody,
): Promise<{ Capabilities: CapabilityCheck[] }> {
  const address =
    smartContractAddress === undefined
      ? null
      : requireContractAddress(network, smartContractAddress).address;
  const provider = await toFurtherProvider(c, "", body, []);
  return { Capabilities: await checkProvider(c.env, network, provider, address) };
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
export async function loadProviderRecords(env: Env, source: SourceRow): Promise<ProviderRecords> {
  if (source.rpcProviders === null) return renderFurtherProviders([]);
  try {
    const places = await openProviderPlaces(env, source);
    const further = places.slice(1).map(({ kind, url, apiKey, purposes }) => ({
      ...{ rpcProvider: kind, url, rpcProviderApiKey: apiKey, use: [...purposes] },
    }));
    const outages = places.flatMap(({ outages: all }, provider) =>
      PROVIDER_PURPOSES.flatMap((use) => {
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
