import { createBlockfrost } from "../chain/blockfrost.ts";
import type { Network } from "../chain/network.ts";
import { type CallBudget, type Provider, ProviderError } from "../chain/provider.ts";
import type { Env } from "../env.ts";

/** What a `ProviderBudget` object answers to a request for calls. */
export interface Lease {
  /** Calls that may be made; 0 when none may before `retryAt`. */
  granted: number;
  /** Milliseconds to wait before the first of them. */
  waitMs: number;
  /** Epoch milliseconds; set when nothing was granted. */
  retryAt: number | null;
}

/** The RPC of `durable-objects/provider-budget.ts`. */
export interface BudgetRpc {
  lease(calls: number): Promise<Lease>;
  /** @param until - epoch milliseconds */
  refuse(until: number): Promise<void>;
}

/**
 * The provider of a network, with every call leased from the budget that all users of the same
 * base URL and key share.
 */
export async function providerFor(
  env: Pick<Env, "PROVIDER_BUDGET" | "BLOCKFROST_URL_PREPROD" | "BLOCKFROST_URL_MAINNET">,
  network: Network,
  apiKey: string,
): Promise<Provider> {
  const baseUrl = network === "Preprod" ? env.BLOCKFROST_URL_PREPROD : env.BLOCKFROST_URL_MAINNET;
  const { PROVIDER_BUDGET } = env;
  const id = PROVIDER_BUDGET.idFromName(await budgetName(baseUrl, apiKey));
  const budget = leasedBudget(PROVIDER_BUDGET.get(id) as unknown as BudgetRpc);
  return createBlockfrost({ baseUrl, projectId: apiKey, budget });
}

/** Names the budget without showing the key. */
async function budgetName(baseUrl: string, apiKey: string): Promise<string> {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(`${baseUrl}\n${apiKey}`),
  );
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const FIRST_LEASE = 5;
const LARGEST_LEASE = 50;

/** Leases in growing portions: a quiet pass takes few calls, a long one asks seldom. */
function leasedBudget(rpc: BudgetRpc): CallBudget {
  let left = 0;
  let portion = FIRST_LEASE;
  let leasing: Promise<void> | null = null;

  async function lease(): Promise<void> {
    const answer = await rpc.lease(portion);
    if (answer.granted === 0)
      throw new ProviderError("provider: no calls left for now", {
        status: 429,
        ...(answer.retryAt !== null && { retryAt: answer.retryAt }),
      });
    if (answer.waitMs > 0) await scheduler.wait(answer.waitMs);
    left += answer.granted;
    portion = Math.min(portion * 2, LARGEST_LEASE);
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
