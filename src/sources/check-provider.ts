import { NETWORK_MAGICS, type Network } from "../chain/network.ts";
import type { ProviderMember } from "../chain/provider/combine-providers.ts";
import type { ProviderPurpose } from "../chain/provider/outage.ts";
import { type Provider, ProviderError } from "../chain/provider/provider.ts";
import type { Env } from "../env.ts";
import {
  createKindProvider,
  createProviderFetch,
  IMPATIENT_OPTIONS,
  openPlace,
} from "./open-source-provider.ts";
import type { FurtherProvider } from "./provider-list.ts";

/** What a provider must be able to do: for which purpose, and what a lack means. */
const CAPABILITIES = {
  network: [null, "It is no provider of this network: it cannot be used."],
  tip: ["reads", "Without the tip it cannot be read."],
  addressHistory: ["reads", "Without the history of an address it cannot be read."],
  transactionBytes: ["reads", "Without the bytes of transactions nothing can be verified."],
  policyHistory: ["reads", "Without the history of the policy no registry can be read."],
  unspentOutputs: ["reads", "Without the unspent outputs of an address wallets cannot spend."],
  protocolParameters: [
    "reads",
    "Without the protocol parameters wallets cannot build transactions.",
  ],
  evaluate: ["evaluate", "Another provider must evaluate scripts."],
  submit: ["submit", "Another provider must submit transactions."],
} as const satisfies Record<string, [purpose: ProviderPurpose | null, lack: string]>;

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

/** What a provider's history is looked at for: a contract, a registry's policy, or neither. */
export interface CheckedHistory {
  network: Network;
  contractAddress?: string | undefined;
  /** With it, only what a registry is read from counts. */
  policyId?: string | undefined;
}

/** Checks what a provider can do, with one harmless call for each capability. */
export async function checkProvider(
  env: Env,
  history: CheckedHistory,
  checked: Omit<FurtherProvider, "use">,
): Promise<CapabilityCheck[]> {
  const { network, policyId } = history;
  const place = await openPlace(env, network, checked);
  const fetch = await createProviderFetch(env);
  const provider = createKindProvider(env, network, place, "wallet", fetch, IMPATIENT_OPTIONS);
  const states: [Capability, Promise<CapabilityState>][] = [
    ["network", checkNetwork(provider, network)],
  ];
  if (checked.rpcProvider !== "Ogmios") states.push(...checkReads(provider as Provider, history));
  if (policyId === undefined)
    states.push(["evaluate", checkEvaluation(provider)], ["submit", checkSubmission(provider)]);
  return Promise.all(
    states.map(async ([capability, checking]) => {
      const state = await checking;
      const [, absent] = CAPABILITIES[capability];
      const meanings = { known: null, absent, unknown: "The provider did not tell." };
      return { capability, state, meaning: meanings[state] };
    }),
  );
}

/** The first capability that a purpose needs and that is missing; undefined: none. */
export function findLack(
  checks: readonly CapabilityCheck[],
  purposes: readonly ProviderPurpose[],
): CapabilityCheck | undefined {
  return checks.find(({ capability, state }) => {
    const [purpose] = CAPABILITIES[capability];
    return state === "absent" && (purpose === null || purposes.includes(purpose));
  });
}

const ONE = { page: 1, count: 1 };

function checkReads(
  provider: Provider,
  { contractAddress: address, policyId }: CheckedHistory,
): [Capability, Promise<CapabilityState>][] {
  /** A 404 may mean that the chain has nothing there. */
  const askAt = <T>(call: (address: string) => Promise<T[] | null>) =>
    askFor(async () => (address === undefined ? UNASKED : ((await call(address)) ?? [])));
  const history =
    policyId === undefined
      ? askAt((at) => provider.addressTransactions(at, ONE))
      : askFor(() => readPolicyHistory(provider, policyId));
  const checks: [Capability, Promise<CapabilityState>][] = [
    ["tip", toState(askFor(() => provider.latestBlock()))],
    [policyId === undefined ? "addressHistory" : "policyHistory", toState(history)],
    ["transactionBytes", toState(askFor(() => readFirstBytes(provider, history)))],
  ];
  if (policyId !== undefined) return checks;
  return [
    ...checks,
    [
      "unspentOutputs",
      toState(askAt((at) => provider.addressOutputs(at, { ...ONE, order: "asc" }))),
    ],
    ["protocolParameters", toState(askFor(() => provider.protocolParameters()))],
  ];
}

/** The place of an answer that nobody asked for. */
const UNASKED = new ProviderError("provider: was not asked");

/** Null: the provider lacks it. A policy that was never used has no history. */
async function readPolicyHistory(provider: Provider, policyId: string) {
  const rows = await provider.scriptRedeemers(policyId, ONE);
  return rows ?? ((await provider.scriptCbor(policyId)) === null ? UNASKED : null);
}

async function readFirstBytes(
  provider: Provider,
  history: Promise<{ txHash: string }[] | ProviderError | null>,
): Promise<string | ProviderError | null> {
  const rows = await history;
  const first = rows instanceof ProviderError ? undefined : rows?.[0];
  return first === undefined ? UNASKED : provider.transactionCbor(first.txHash);
}

/** The answer, null for absent, and the error for unknown. */
async function askFor<T>(call: () => Promise<T>): Promise<T | ProviderError> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return error;
  }
}

async function toState(answer: Promise<unknown>): Promise<CapabilityState> {
  const found = await answer;
  if (found === null) return "absent";
  if (!(found instanceof ProviderError)) return "known";
  return found.permanent || found.status === 404 ? "absent" : "unknown";
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
