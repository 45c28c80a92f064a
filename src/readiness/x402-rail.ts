import type * as z from "zod";
import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { type ChainReadiness, enabledChains } from "../x402/readiness.ts";
import { bestOf, checksOf, isComplete, type Missing } from "./rail.ts";
import { type readiness, X402_CHECKS } from "./schemas.ts";

type Rail = z.input<typeof readiness>["Rails"][number];

/** Whether x402 payments can be taken and made on an EVM chain that goes with a network. */
export async function x402Rail(c: AppContext, network: Network): Promise<Rail> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const chains = await enabledChains(core, network);
  const checked = chains.map((chain) => checksOf(X402_CHECKS, missingOf(chain)));
  const checks = bestOf(checked) ?? checksOf(X402_CHECKS, noChain(network));
  return { rail: "X402", isReady: isComplete(checks), Checks: checks };
}

function missingOf(chain: ChainReadiness): Record<keyof typeof X402_CHECKS, Missing> {
  const { caip2Id } = chain;
  const unless = (is: boolean, missing: string) => (is ? null : `${caip2Id} has no ${missing}`);
  return {
    "x402.enabled_chain": null,
    "x402.rpc_url": unless(chain.hasRpcUrl, "RPC node"),
    "x402.facilitator": unless(chain.hasFacilitator, "facilitator wallet"),
    "x402.selling_wallet": unless(chain.hasSellingWallet, "wallet of the type Selling"),
    "x402.purchasing_wallet": unless(chain.hasPurchasingWallet, "wallet of the type Purchasing"),
    "x402.budget": unless(chain.hasBudget, "budget for a wallet that pays"),
  };
}

function noChain(network: Network): Record<keyof typeof X402_CHECKS, Missing> {
  const none = "There is no enabled chain";
  return {
    "x402.enabled_chain": `No ${network === "Preprod" ? "test chain" : "chain"} is enabled`,
    "x402.rpc_url": none,
    "x402.facilitator": none,
    "x402.selling_wallet": none,
    "x402.purchasing_wallet": none,
    "x402.budget": none,
  };
}
