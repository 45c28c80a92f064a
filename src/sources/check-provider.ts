import { NETWORK_MAGICS, type Network } from "../chain/network.ts";
import type { ProviderMember } from "../chain/provider/combine-providers.ts";
import type { ProviderPurpose } from "../chain/provider/outage.ts";
import { type Provider, ProviderError } from "../chain/provider/provider.ts";
import type { Env } from "../env.ts";
import { createKindProvider, createProviderFetch } from "./open-source-provider.ts";
import { findBudgetObject, selectBaseUrl } from "./provider.ts";
import type { FurtherProvider } from "./provider-list.ts";

/** What a provider must be able to do, and what it is needed for. */
const CAPABILITIES = {
  network: { purpose: null, lack: "It is no provider of this network: it cannot be used." },
  tip: { purpose: "reads", lack: "Without the tip it cannot be read." },
  addressHistory: {
    purpose: "reads",
    lack: "Without the history of an address it cannot be read.",
  },
  transactionBytes: {
    purpose: "reads",
    lack: "Without the bytes of transactions nothing it says can be verified.",
  },
  unspentOutputs: {
    purpose: "reads",
    lack: "Without the unspent outputs of an address wallets cannot spend.",
  },
  protocolParameters: {
    purpose: "reads",
    lack: "Without the protocol parameters wallets cannot build transactions.",
  },
  evaluate: { purpose: "evaluate", lack: "Another provider must evaluate scripts." },
  submit: { purpose: "submit", lack: "Another provider must submit transactions." },
} as const satisfies Record<string, { purpose: ProviderPurpose | null; lack: string }>;

export type Capability = keyof typeof CAPABILITIES;
export const CAPABILITY_NAMES = Object.keys(CAPABILITIES) as [Capability, ...Capability[]];

/** Whether a provider has a capability. `unknown`: it did not answer, or nothing shows it. */
export type CapabilityState = "known" | "absent" | "unknown";

export interface CapabilityCheck {
  capability: Capability;
  state: CapabilityState;
  /** What a lack means; null for what is known. */
  meaning: string | null;
}

/** Bytes that no node takes for a transaction: asking costs nothing. */
const JUNK = Uint8Array.of(0x80);
const UNKNOWN_MEANING = "The provider did not tell.";

/**
 * Checks what a provider can do, with one harmless call for each capability.
 *
 * @param address - of a contract whose history is looked for; null: none
 */
export async function checkProvider(
  env: Env,
  network: Network,
  { rpcProvider: kind, url, rpcProviderApiKey: apiKey }: Omit<FurtherProvider, "use">,
  address: string | null,
): Promise<CapabilityCheck[]> {
  const baseUrl = url ?? selectBaseUrl(env, network);
  const budget = await findBudgetObject(env, network, apiKey, baseUrl);
  const place = { kind, baseUrl, url, apiKey, budget };
  const fetch = await createProviderFetch(env);
  const provider = createKindProvider(env, network, place, "wallet", fetch);
  const states: [Capability, Promise<CapabilityState>][] = [
    ["network", checkNetwork(provider, network)],
    ...(kind === "Ogmios" ? [] : checkReads(provider as Provider, address)),
    ["evaluate", checkEvaluation(provider)],
    ["submit", checkSubmission(provider)],
  ];
  return Promise.all(
    states.map(async ([capability, checking]) => {
      const state = await checking;
      const { lack } = CAPABILITIES[capability];
      const meaning = { known: null, absent: lack, unknown: UNKNOWN_MEANING }[state];
      return { capability, state, meaning };
    }),
  );
}

/** The first capability that a purpose needs and that is missing; undefined: none. */
export function findLack(
  checks: readonly CapabilityCheck[],
  purposes: readonly ProviderPurpose[],
): CapabilityCheck | undefined {
  return checks.find(({ capability, state }) => {
    const { purpose } = CAPABILITIES[capability];
    return state === "absent" && (purpose === null || purposes.includes(purpose));
  });
}

function checkReads(
  provider: Provider,
  address: string | null,
): [Capability, Promise<CapabilityState>][] {
  const history =
    address === null ? null : askFor(() => provider.addressTransactions(address, ONE));
  return [
    ["tip", toState(askFor(() => provider.latestBlock()))],
    ["addressHistory", history === null ? UNKNOWN : toState(history, [])],
    ["transactionBytes", history === null ? UNKNOWN : checkBytes(provider, history)],
    [
      "unspentOutputs",
      address === null
        ? UNKNOWN
        : toState(
            askFor(() => provider.addressOutputs(address, { ...ONE, order: "asc" })),
            [],
          ),
    ],
    ["protocolParameters", toState(askFor(() => provider.protocolParameters()))],
  ];
}

const ONE = { page: 1, count: 1 };
const UNKNOWN = Promise.resolve("unknown" as const);

/** The answer, null for absent, and the error for unknown. */
async function askFor<T>(call: () => Promise<T>): Promise<T | ProviderError> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return error;
  }
}

/** @param absent - what a 404 stands for, where it may mean that the chain has nothing */
async function toState<T>(
  answer: Promise<T | ProviderError>,
  absent?: T,
): Promise<CapabilityState> {
  const found = (await answer) ?? absent ?? null;
  if (found === null) return "absent";
  if (!(found instanceof ProviderError)) return "known";
  return found.permanent || found.status === 404 ? "absent" : "unknown";
}

async function checkBytes(
  provider: Provider,
  history: Promise<{ txHash: string }[] | null | ProviderError>,
): Promise<CapabilityState> {
  const rows = await history;
  if (rows instanceof ProviderError || !rows?.[0]) return "unknown";
  const [{ txHash }] = rows as [{ txHash: string }];
  return toState(askFor(() => provider.transactionCbor(txHash)));
}

async function checkNetwork(
  provider: ProviderMember["provider"],
  network: Network,
): Promise<CapabilityState> {
  const magic = await askFor(() => provider.networkMagic());
  if (magic instanceof ProviderError) return "unknown";
  return magic === NETWORK_MAGICS[network] ? "known" : "absent";
}

/** How the open servers and the hosted service name a call that they do not serve. */
const UNSERVED_PATTERN = /invalid path|not found|not supported|unsupported/i;

async function checkEvaluation({ evaluate }: ProviderMember["provider"]): Promise<CapabilityState> {
  try {
    await evaluate(JUNK);
    return "known";
  } catch (error) {
    // A script's failure is an answer too.
    if (!(error instanceof ProviderError)) return "known";
    const isUnserved = error.status === 404 || UNSERVED_PATTERN.test(String(error.cause ?? ""));
    if (isUnserved) return "absent";
    return error.status === 400 ? "known" : "unknown";
  }
}

async function checkSubmission({ submit }: ProviderMember["provider"]): Promise<CapabilityState> {
  const answer = await askFor(() => submit(JUNK));
  if (answer instanceof ProviderError) return answer.status === 404 ? "absent" : "unknown";
  return answer !== null && UNSERVED_PATTERN.test(answer.refused) ? "absent" : "known";
}
