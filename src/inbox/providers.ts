import type { Network } from "../chain/network.ts";
import type { Env } from "../env.ts";
import { loopbackOrigins } from "../http/outbound/loopback-origins.ts";
import type { Outbound } from "./provider-page.ts";

/** Base URLs of the default providers, for tokens that name none; none: "". */
export function usualProviders(env: Env): Record<Network, string> {
  return {
    Preprod: env.INBOX_PROVIDER_URL_PREPROD ?? "",
    Mainnet: env.INBOX_PROVIDER_URL_MAINNET ?? "",
  };
}

/** How providers are reached. @param deadline - epoch milliseconds */
export async function outboundOf(env: Env, deadline: number): Promise<Outbound> {
  const resolverUrl = env.DNS_OVER_HTTPS_URL;
  return {
    loopbackOrigins: await loopbackOrigins(env, deadline),
    ...(resolverUrl && { resolverUrl }),
  };
}
