import type { ChainClock } from "../chain/chain-time.ts";
import { bytesToHex } from "../chain/hex.ts";
import type { Network } from "../chain/network.ts";
import type { BudgetReport, CallClass, CallsByClass, Lease } from "../chain/provider/budget.ts";
import type { CallFailure, Outages, ProviderPurpose } from "../chain/provider/outage.ts";
import { type CallBudget, CallBudgetExhaustedError } from "../chain/provider/provider.ts";
import { type Env, getDurableObject } from "../env.ts";
import { log } from "../log.ts";
import type { ProviderKind } from "./provider-list.ts";

/** On whose behalf calls are made; for a caller's read, with the id of its API key. */
export type ProviderUse = "deadline" | "sync" | "wallet" | "idle" | { caller: string };

/**
 * As `resolveChainClock`, without a look at the sources: none on Mainnet is followed by another clock. A local chain
 * may be moved ahead by hand.
 */
export function selectClock(env: BudgetEnv, network: Network, baseUrl: string): ChainClock {
  const { origin } = new URL(baseUrl);
  const isLocal = env.LOOPBACK_ORIGINS?.split(",").some((one) => one.trim() === origin);
  return network === "Preprod" && (isLocal || env.CHAIN_CLOCK === "tip") ? "tip" : "wall";
}

export type BudgetEnv = Pick<
  Env,
  | "PROVIDER_BUDGET"
  | "OBJECT_LOCATION"
  | "BLOCKFROST_URL_PREPROD"
  | "BLOCKFROST_URL_MAINNET"
  | "CHAIN_CLOCK"
  | "LOOPBACK_ORIGINS"
>;

export function selectBaseUrl(env: BudgetEnv, network: Network): string {
  return network === "Preprod" ? env.BLOCKFROST_URL_PREPROD : env.BLOCKFROST_URL_MAINNET;
}

/** The object that leases the calls of a provider key: one, whichever sources use the key. */
export async function findBudgetObject(
  env: BudgetEnv,
  network: Network,
  apiKey: string,
  baseUrl: string = selectBaseUrl(env, network),
): Promise<BudgetObject & { readonly id: { toString(): string } }> {
  const name = await hashBudgetName(baseUrl, apiKey);
  return getDurableObject<BudgetObject>(env, env.PROVIDER_BUDGET, name);
}

/** The calls of a budget's object. */
export interface BudgetObject {
  lease(calls: number, by?: CallClass, key?: string, kind?: ProviderKind): Promise<Lease>;
  refuse(until: number): Promise<void>;
  usage(): Promise<CallsByClass>;
  report(): Promise<BudgetReport>;
  readOutages(): Promise<Outages>;
  recordCall(purpose: ProviderPurpose, failure: CallFailure | null): Promise<Outages>;
}

/** Names the budget without showing the key. */
async function hashBudgetName(baseUrl: string, apiKey: string): Promise<string> {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(`${baseUrl}\n${apiKey}`),
  );
  return bytesToHex(new Uint8Array(digest));
}

/** An idle source asks for its tip alone, and many wait for nothing else. */
const INITIAL_LEASE_CALLS = 2;
/** Most reads of callers need no more, and reads that begin are let in one by one. */
const INITIAL_READ_LEASE_CALLS = 5;
const MAX_LEASE_CALLS = 50;
/** Objects are back at once after a failure or the deployment of a version, with a new stub. */
const FAILED_LEASE_RETRY_MS = 2_000;

/** Logs that the object of a provider's key failed, as it does while a version is deployed. */
export function logBudgetFailure(error: unknown): void {
  log("warn", "provider.budget_failed", { error: String(error) });
}

/** Leases in growing portions: a quiet pass takes few calls, a long one asks rarely. */
export function createLeasedBudget(
  rpc: BudgetObject,
  use: ProviderUse,
  kind: ProviderKind,
): CallBudget {
  const key = typeof use === "string" ? undefined : use.caller;
  let by: CallClass = typeof use === "string" ? use : "read";
  let left = 0;
  let portion = key === undefined ? INITIAL_LEASE_CALLS : INITIAL_READ_LEASE_CALLS;
  let leasing: Promise<void> | null = null;

  async function lease(): Promise<void> {
    const answer = await rpc.lease(portion, by, key, kind).catch((error: unknown) => {
      logBudgetFailure(error);
      throw new CallBudgetExhaustedError(Date.now() + FAILED_LEASE_RETRY_MS);
    });
    if (answer.granted === 0) throw new CallBudgetExhaustedError(answer.retryAt);
    if (answer.waitMs > 0) await scheduler.wait(answer.waitMs);
    left += answer.granted;
    if (by === "read") by = "begunRead";
    portion = Math.min(portion * 2, MAX_LEASE_CALLS);
  }

  return {
    async leaseCall() {
      while (left === 0) {
        leasing ??= lease().finally(() => {
          leasing = null;
        });
        await leasing;
      }
      left--;
    },
    async reportRefusal(until) {
      left = 0;
      // Without the object nobody else learns of the refusal, which costs each a call.
      await rpc.refuse(until).catch(logBudgetFailure);
    },
  };
}
