import type { ChainClock } from "../chain/chain-time.ts";
import type { Network } from "../chain/network.ts";
import { createBlockfrost } from "../chain/provider/blockfrost.ts";
import type { CallClass, CallsByClass, Lease } from "../chain/provider/budget.ts";
import type { BudgetReport } from "../chain/provider/budget-report.ts";
import { type CallBudget, NoCallsLeft, type Provider } from "../chain/provider/provider.ts";
import { type Env, objectNamed } from "../env.ts";
import { submitInTurn, submitPlaces } from "./submit.ts";

/** On whose behalf calls are made; for a caller's read, with the id of its API key. */
export type ProviderUse = "deadline" | "sync" | "wallet" | "idle" | { caller: string };

/**
 * The provider of a network, with every call leased from the budget that all users of the same
 * base URL and key share. When no calls are left for the use, calls throw a ProviderError with
 * `retryAt`.
 */
export async function providerFor(
  env: BudgetEnv,
  network: Network,
  apiKey: string,
  use: ProviderUse,
): Promise<Provider> {
  const budget = leasedBudget(await budgetOf(env, network, apiKey), use);
  const options = { baseUrl: baseUrlOf(env, network), projectId: apiKey, budget };
  return createBlockfrost(options, { clock: clockOf(env, network) });
}

/**
 * As `chainClock`, without a look at the sources: none on Mainnet is followed by another clock. A local chain
 * may be moved ahead by hand.
 */
function clockOf(env: BudgetEnv, network: Network): ChainClock {
  const { origin } = new URL(baseUrlOf(env, network));
  const isLocal = env.LOOPBACK_ORIGINS?.split(",").some((one) => one.trim() === origin);
  return network === "Preprod" && (isLocal || env.CHAIN_CLOCK === "tip") ? "tip" : "wall";
}

type BudgetEnv = Pick<
  Env,
  | "PROVIDER_BUDGET"
  | "BLOCKFROST_URL_PREPROD"
  | "BLOCKFROST_URL_MAINNET"
  | "CHAIN_CLOCK"
  | "LOOPBACK_ORIGINS"
>;

function baseUrlOf(env: BudgetEnv, network: Network): string {
  return network === "Preprod" ? env.BLOCKFROST_URL_PREPROD : env.BLOCKFROST_URL_MAINNET;
}

/** The object that leases the calls of a provider key: one, whichever sources use the key. */
export async function budgetOf(
  env: BudgetEnv,
  network: Network,
  apiKey: string,
): Promise<BudgetObject & { readonly id: { toString(): string } }> {
  const name = await budgetName(baseUrlOf(env, network), apiKey);
  return objectNamed<BudgetObject>(env.PROVIDER_BUDGET, name);
}

/** The calls of a budget's object. */
export interface BudgetObject {
  lease(calls: number, by?: CallClass, key?: string): Promise<Lease>;
  refuse(until: number): Promise<void>;
  usage(): Promise<CallsByClass>;
  report(): Promise<BudgetReport>;
}

/**
 * The provider with which a wallet works. Calls that follow and send its pending transactions have
 * leases like those of the sync. A transaction goes to further places when the provider does not accept
 * it.
 *
 * @param use - for what it builds; with a deadline, for everything
 */
export async function walletProvider(
  env: Env,
  network: Network,
  apiKey: string,
  use: "deadline" | "wallet",
): Promise<Provider> {
  const building = await providerFor(env, network, apiKey, use);
  const pending = use === "deadline" ? building : await providerFor(env, network, apiKey, "sync");
  const { latestBlock, block, transaction, submit } = pending;
  return {
    ...building,
    ...{ latestBlock, block, transaction },
    submit: (cbor) => submitInTurn([submit, ...submitPlaces(env, network)], cbor),
  };
}

/** Names the budget without showing the key. */
async function budgetName(baseUrl: string, apiKey: string): Promise<string> {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(`${baseUrl}\n${apiKey}`),
  );
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** An idle source asks for its tip alone, and many wait for nothing else. */
const FIRST_LEASE = 2;
/** Most reads of callers need no more, and reads that begin are let in one by one. */
const FIRST_READ_LEASE = 5;
const MAX_LEASE = 50;

/** Leases in growing portions: a quiet pass takes few calls, a long one asks rarely. */
function leasedBudget(rpc: BudgetObject, use: ProviderUse): CallBudget {
  const key = typeof use === "string" ? undefined : use.caller;
  let by: CallClass = typeof use === "string" ? use : "read";
  let left = 0;
  let portion = key === undefined ? FIRST_LEASE : FIRST_READ_LEASE;
  let leasing: Promise<void> | null = null;

  async function lease(): Promise<void> {
    const answer = await rpc.lease(portion, by, key);
    if (answer.granted === 0) throw new NoCallsLeft(answer.retryAt);
    if (answer.waitMs > 0) await scheduler.wait(answer.waitMs);
    left += answer.granted;
    if (by === "read") by = "begunRead";
    portion = Math.min(portion * 2, MAX_LEASE);
  }

  return {
    async take() {
      while (left === 0) {
        leasing ??= lease().finally(() => {
          leasing = null;
        });
        await leasing;
      }
      left--;
    },
    async refused(until) {
      left = 0;
      await rpc.refuse(until);
    },
  };
}
