import type { Network } from "../chain/network.ts";
import { createBlockfrostProvider } from "../chain/provider/blockfrost/blockfrost.ts";
import {
  combineProviders,
  isUnserved,
  type ProviderMember,
  ProviderView,
} from "../chain/provider/combine-providers.ts";
import { createOgmiosClient } from "../chain/provider/ogmios/ogmios.ts";
import {
  isSuccessWanted,
  type Outages,
  PROVIDER_PURPOSES,
  type ProviderPurpose,
} from "../chain/provider/outage.ts";
import type { Provider, ProviderError } from "../chain/provider/provider.ts";
import type { RequesterOptions } from "../chain/provider/request.ts";
import { unseal } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { createPublicFetch } from "../http/outbound/fetch-public.ts";
import { log } from "../log.ts";
import {
  type BudgetObject,
  createLeasedBudget,
  findBudgetObject,
  logBudgetFailure,
  type ProviderUse,
  selectBaseUrl,
  selectClock,
} from "./provider.ts";
import {
  type FurtherProvider,
  openFurtherProviders,
  readProviderUrlRules,
} from "./provider-list.ts";
import { type SourceOfProviders, toProviderKeyEncryptionContext } from "./source-row.ts";
import { createFallbackSubmitters, submitWithFallback } from "./submit-with-fallback.ts";

/** With another reader at hand, a silent one is not waited for any longer, and not asked again. */
export const IMPATIENT_OPTIONS = { timeoutMs: 4_000, maxAttempts: 1 } as const;
/** For the look at the database that the URLs' rules need. */
const RULES_TIMEOUT_MS = 10_000;

/** A provider, before it is known for what it is called. */
interface ProviderPlace extends Omit<FurtherProvider, "use"> {
  baseUrl: string;
  budget: BudgetObject;
}

/** The same of a source's list. */
interface ListedPlace extends ProviderPlace {
  purposes: readonly ProviderPurpose[];
  outages: Outages;
}

/** Makes clients of all providers of a source, in order, for a use. */
type MemberFactory = (use: ProviderUse, signal?: AbortSignal) => ProviderMember[];

/**
 * The provider of a source: one view of its providers; see `combineProviders`.
 *
 * @throws SealError when the keys cannot be decrypted
 */
export async function openSourceProvider(
  env: Env,
  source: SourceOfProviders,
  use: ProviderUse,
  signal?: AbortSignal,
): Promise<Provider> {
  const createMembers = await openProviderMembers(env, source);
  return combineProviders(createMembers(use, signal), new ProviderView(), signal);
}

/** @throws SealError */
export async function openProviderMembers(
  env: Env,
  source: SourceOfProviders,
): Promise<MemberFactory> {
  const places = await openProviderPlaces(env, source);
  const hasUrl = places.some(({ url }) => url !== null);
  const fetch = hasUrl ? await createProviderFetch(env) : globalThis.fetch;
  const hasAlternative = places.filter(({ purposes }) => purposes.includes("reads")).length > 1;
  const options = hasAlternative ? IMPATIENT_OPTIONS : {};
  return (use, signal) =>
    places.map((place) => {
      const more = { ...options, ...(signal && { signal }) };
      const provider = createKindProvider(env, source.network, place, use, fetch, more);
      return {
        provider,
        purposes: place.purposes,
        get outages() {
          return place.outages;
        },
        report: (purpose, error) =>
          places.length > 1 ? recordOutcome(source, place, purpose, error) : Promise.resolve(),
      };
    });
}

/**
 * The providers with which a wallet works, of one view. Calls that follow and send its pending transactions
 * have leases like those of the sync. A transaction goes to further places when no provider accepts it.
 */
export async function openWalletProviders(
  env: Env,
  source: SourceOfProviders,
  view: ProviderView = new ProviderView(),
): Promise<{ provider: Provider; deadlineProvider: Provider }> {
  const createMembers = await openProviderMembers(env, source);
  const open = (use: ProviderUse) => combineProviders(createMembers(use), view);
  const [building, pending, urgent] = [open("wallet"), open("sync"), open("deadline")];
  const withFallback = ({ submit }: Provider): Provider["submit"] => {
    const places = createFallbackSubmitters(env, source.network);
    return (cbor) => submitWithFallback([submit, ...places], cbor);
  };
  const { latestBlock, block, transaction } = pending;
  return {
    provider: {
      ...building,
      ...{ latestBlock, block, transaction, submit: withFallback(pending) },
    },
    deadlineProvider: { ...urgent, submit: withFallback(urgent) },
  };
}

/** The providers of a source, with what is known of their outages. @throws SealError */
export async function openProviderPlaces(
  env: Env,
  source: SourceOfProviders,
): Promise<ListedPlace[]> {
  const { id, network, table } = source;
  const context = toProviderKeyEncryptionContext(id, table);
  const rpcProviderApiKey = await unseal(env, context, source.rpcProviderApiKey);
  const list = [
    { ...FIRST_PROVIDER, rpcProviderApiKey, use: PROVIDER_PURPOSES },
    ...(await openFurtherProviders(env, source)),
  ];
  return Promise.all(
    list.map(async ({ use: purposes, ...provider }) => {
      const place = await openPlace(env, network, provider);
      const outages = list.length > 1 ? await readKnownOutages(place) : {};
      return { ...place, purposes, outages };
    }),
  );
}

/** Nothing is known when the object fails: calls find out themselves. */
async function readKnownOutages({ budget }: ProviderPlace): Promise<Outages> {
  return budget.readOutages().catch((error: unknown) => {
    logBudgetFailure(error);
    return {};
  });
}

const FIRST_PROVIDER = { rpcProvider: "Blockfrost", url: null } as const;

export async function openPlace(
  env: Env,
  network: Network,
  provider: Omit<FurtherProvider, "use">,
): Promise<ProviderPlace> {
  const baseUrl = provider.url ?? selectBaseUrl(env, network);
  const budget = await findBudgetObject(env, network, provider.rpcProviderApiKey, baseUrl);
  return { ...provider, baseUrl, budget };
}

/**
 * The first provider of a source with a key. When no calls are left for the use, calls throw a
 * ProviderError with `retryAt`.
 */
export async function createProvider(
  env: Env,
  network: Network,
  rpcProviderApiKey: string,
  use: ProviderUse,
): Promise<Provider> {
  const place = await openPlace(env, network, { ...FIRST_PROVIDER, rpcProviderApiKey });
  return createKindProvider(env, network, place, use, globalThis.fetch, {}) as Provider;
}

/** The `fetch` for providers whose URLs an operator has set. */
export async function createProviderFetch(env: Env): Promise<typeof globalThis.fetch> {
  return createPublicFetch(await readProviderUrlRules(env, Date.now() + RULES_TIMEOUT_MS));
}

/** Without the object nobody else learns of an outcome, which costs them a call. */
async function recordOutcome(
  { id: source }: SourceOfProviders,
  place: ListedPlace,
  purpose: ProviderPurpose,
  error: ProviderError | null,
): Promise<void> {
  const before = place.outages[purpose];
  if (error === null && !isSuccessWanted(before, Date.now())) return;
  const failure = error && {
    ...{ reason: error.message, retryAt: error.retryAt },
    ...(isUnserved(error) && { isLack: true as const }),
  };
  const { outages } = place;
  place.outages = await place.budget.recordCall(purpose, failure).catch(() => outages);
  const after = place.outages[purpose];
  if ((before === undefined) === (after === undefined) || (before ?? after)?.isLack) return;
  const fields = { source, purpose, place: new URL(place.baseUrl).origin };
  if (after === undefined) log("info", "provider.back", { ...fields, since: before?.since });
  else log("warn", "provider.out", { ...fields, reason: after.reason });
}

/** The client of a kind of provider. */
export function createKindProvider(
  env: Env,
  network: Network,
  { rpcProvider, baseUrl, url, rpcProviderApiKey: projectId, budget }: ProviderPlace,
  use: ProviderUse,
  fetch: typeof globalThis.fetch,
  more: Pick<RequesterOptions, "timeoutMs" | "maxAttempts" | "signal">,
): ProviderMember["provider"] {
  const options = {
    ...{ ...more, baseUrl, projectId },
    budget: createLeasedBudget(budget, use, rpcProvider),
    ...(url !== null && { fetch }),
  };
  return rpcProvider === "Ogmios"
    ? createOgmiosClient(options)
    : createBlockfrostProvider(options, { clock: selectClock(env, network, baseUrl) });
}
