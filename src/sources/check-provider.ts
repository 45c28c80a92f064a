import { NETWORK_MAGICS, type Network } from "../chain/network.ts";
import type { ProviderPurpose } from "../chain/provider/outage.ts";
import { type NetworkIdentity, type Provider, ProviderError } from "../chain/provider/provider.ts";
import type { Env } from "../env.ts";
import {
  createKindProvider,
  createProviderFetch,
  IMPATIENT_OPTIONS,
  openPlace,
} from "./open-source-provider.ts";
import { logBudgetFailure } from "./provider.ts";
import type { FurtherProvider } from "./provider-list.ts";

/** What a provider is looked at for: a contract, a registry's policy, or neither. */
export interface CheckedHistory {
  network: Network;
  contractAddress?: string | undefined;
  /** With it, only what a registry is read from counts. */
  policyId?: string | undefined;
}

interface CapabilityRules {
  /** Null: all. */
  purpose: ProviderPurpose | null;
  /** What a lack means. */
  lack: string;
  /** A harmless call. Null: the provider lacks the capability; undefined: nothing shows it. */
  call(
    provider: Provider & NetworkIdentity,
    history: CheckedHistory,
    list: () => ReturnType<typeof listHistory>,
  ): Promise<unknown>;
}

const ONE = { page: 1, count: 1 };
/** Bytes that no node takes for a transaction: asking costs nothing. */
const JUNK = Uint8Array.of(0x80);

const CAPABILITIES = {
  network: {
    purpose: null,
    lack: "It is no provider of this network: it cannot be used.",
    call: async (provider, { network }) =>
      (await provider.networkMagic()) === NETWORK_MAGICS[network] || null,
  },
  tip: {
    purpose: "reads",
    lack: "Without the tip it cannot be read.",
    call: (provider) => provider.latestBlock(),
  },
  addressHistory: {
    purpose: "reads",
    lack: "Without the history of an address it cannot be read.",
    call: (_provider, _history, list) => list(),
  },
  transactionBytes: {
    purpose: "reads",
    lack: "Without the bytes of transactions nothing can be verified.",
    call: async (provider, _history, list) => {
      const [first] = (await list()) ?? [];
      return first && provider.transactionCbor(first.txHash);
    },
  },
  policyHistory: {
    purpose: "reads",
    lack: "Without the history of the policy no registry can be read.",
    call: (_provider, _history, list) => list(),
  },
  unspentOutputs: {
    purpose: "reads",
    lack: "Without the unspent outputs of an address wallets cannot spend.",
    call: async (provider, { contractAddress: address }) =>
      address && ((await provider.addressOutputs(address, { ...ONE, order: "asc" })) ?? []),
  },
  protocolParameters: {
    purpose: "reads",
    lack: "Without the protocol parameters wallets cannot build transactions.",
    call: (provider) => provider.protocolParameters(),
  },
  evaluate: {
    purpose: "evaluate",
    lack: "Another provider must evaluate scripts.",
    call: ({ evaluate }) =>
      evaluate(JUNK).catch((error: unknown) => {
        // A refusal of the bytes, or a script's failure, is an answer.
        if (!(error instanceof ProviderError) || error.status === 400) return {};
        throw error;
      }),
  },
  submit: {
    purpose: "submit",
    lack: "Another provider must submit transactions.",
    call: async ({ submit }) => (await submit(JUNK)) ?? {},
  },
} as const satisfies Record<string, CapabilityRules>;

export type Capability = keyof typeof CAPABILITIES;
export const CAPABILITY_NAMES = Object.keys(CAPABILITIES) as [Capability, ...Capability[]];

/** Those that count of a registry's provider, and of a node without a history. */
const REGISTRY_CAPABILITIES = ["network", "tip", "policyHistory", "transactionBytes"];
const NODE_CAPABILITIES = ["network", "protocolParameters", "evaluate", "submit"];

/** Whether a provider has a capability. `unknown`: it did not answer, or nothing shows it. */
export type CapabilityState = "known" | "absent" | "unknown";

export interface CapabilityCheck {
  capability: Capability;
  state: CapabilityState;
  /** What a lack means; null for what is known. */
  meaning: string | null;
}

/**
 * Checks what a provider can do, with harmless calls. Until it is asked again after a while, nobody asks it for
 * evaluations and submissions that it lacks.
 */
export async function checkProvider(
  env: Env,
  history: CheckedHistory,
  checked: Omit<FurtherProvider, "use">,
): Promise<CapabilityCheck[]> {
  const { network, policyId } = history;
  const place = await openPlace(env, network, checked);
  const fetch = await createProviderFetch(env);
  const provider = createKindProvider(
    env,
    network,
    place,
    "wallet",
    fetch,
    IMPATIENT_OPTIONS,
  ) as Provider & NetworkIdentity;
  let listed: ReturnType<typeof listHistory> | undefined;
  const list = () => {
    listed ??= listHistory(provider, history);
    return listed;
  };
  const isNode = checked.rpcProvider === "Ogmios";
  const names = CAPABILITY_NAMES.filter((name) => {
    if (isNode && !NODE_CAPABILITIES.includes(name)) return false;
    return policyId === undefined ? name !== "policyHistory" : REGISTRY_CAPABILITIES.includes(name);
  });
  return Promise.all(
    names.map(async (capability) => {
      const { call, lack, purpose }: CapabilityRules = CAPABILITIES[capability];
      const state = await toState(call(provider, history, list));
      const lacking = { reason: lack, retryAt: null, isLack: true } as const;
      const outcome = state === "absent" ? lacking : null;
      if (state !== "unknown" && (purpose === "evaluate" || purpose === "submit"))
        await place.budget.recordCall(purpose, outcome).catch(logBudgetFailure);
      const meanings = { known: null, absent: lack, unknown: "The provider did not tell." };
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
    const { purpose } = CAPABILITIES[capability];
    return state === "absent" && (purpose === null || purposes.includes(purpose));
  });
}

/**
 * The first transaction of the contract or the policy. A contract without one has an empty history, since a
 * 404 may mean that. Null: the provider knows the policy's script, and lists none of its uses.
 */
async function listHistory(
  provider: Provider,
  { contractAddress: address, policyId }: CheckedHistory,
): Promise<{ txHash: string }[] | null | undefined> {
  if (policyId === undefined)
    return address === undefined
      ? undefined
      : ((await provider.addressTransactions(address, ONE)) ?? []);
  const rows = await provider.scriptRedeemers(policyId, ONE);
  return rows ?? ((await provider.scriptCbor(policyId)) === null ? undefined : null);
}

async function toState(answer: Promise<unknown>): Promise<CapabilityState> {
  try {
    const found = await answer;
    if (found === undefined) return "unknown";
    return found === null ? "absent" : "known";
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return error.status === 404 || error.permanent ? "absent" : "unknown";
  }
}
