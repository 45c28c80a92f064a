/** A second service that knows only the chain: its records are the expected ones. */
import { join } from "node:path";
import { type ApiAccess, ask } from "../client/api.ts";
import { templates } from "../contracts/index.ts";
import { ensureSources } from "../demo/sources.ts";
import { startHost } from "../host.ts";
import { developmentSecrets } from "../secrets.ts";
import type { Stall } from "./trader.ts";

const CRON_EVERY_MS = 2_000;

export interface FreshService extends ApiAccess {
  close(): Promise<void>;
}

/**
 * Starts a service with an empty database. It has the same payment sources and wallets, and only
 * watches.
 *
 * @param provider - base URL of the chain's provider
 * @param stalls - beside the wallets of the demo
 */
export async function followAnew(
  folder: string,
  provider: string,
  stalls: readonly Stall[],
): Promise<FreshService> {
  const variables = developmentSecrets(join(folder, ".dev.vars"));
  const host = await startHost({
    bindings: {
      ...variables,
      BLOCKFROST_URL_PREPROD: provider,
      CONTRACT_TEMPLATES: JSON.stringify(templates()),
      LOOPBACK_ORIGINS: new URL(provider).origin,
      PROVIDER_CALLS_PER_SECOND: "1000",
    },
    bundle: join(folder, "worker.js"),
    leaveSignals: true,
    log: () => undefined,
  });
  const access = { url: host.url, token: variables.ADMIN_KEY };
  await ensureSources(access, "nothing");
  const { ExtendedPaymentSources: sources } = await ask<{
    ExtendedPaymentSources: { id: string; paymentSourceType: string }[];
  }>(access, "GET", "/payment-source-extended?network=Preprod");
  for (const { source, seller, buyer } of stalls) {
    const paymentSourceId = sources.find(
      ({ paymentSourceType }) => paymentSourceType === source.paymentSourceType,
    )?.id;
    for (const [walletType, wallet] of [
      ["Selling", seller],
      ["Purchasing", buyer],
    ] as const)
      await ask(access, "POST", "/wallet", {
        network: "Preprod",
        paymentSourceId,
        walletType,
        walletMnemonic: wallet.words,
        drives: "nothing",
      });
  }
  const cron = setInterval(() => host.scheduled().catch(() => undefined), CRON_EVERY_MS);
  return {
    ...access,
    async close() {
      clearInterval(cron);
      await host.close();
    },
  };
}
