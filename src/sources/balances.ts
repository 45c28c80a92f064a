import { and, inArray, isNull } from "drizzle-orm";
import { type Provider, ProviderError } from "../chain/provider.ts";
import { db } from "../db/client.ts";
import { openOrEmpty } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { within } from "../timeout.ts";
import { providerFor } from "./provider.ts";
import { providerKeyPlace, type WalletRow } from "./record.ts";
import { paymentSource } from "./tables.ts";

/** What lies at an address by unit: minor units, `""` for the native coin. */
export type Balance = Map<string, bigint>;

/** Calls to the providers under way at once: an invocation has six connections, and D1 wants one. */
const PARALLEL = 5;

/**
 * Asks the providers of the wallets' sources what lies at the wallets' addresses.
 *
 * @param deadline - epoch milliseconds until which answers are waited for
 * @returns by wallet id; a wallet whose provider does not answer is left out, and the log says why.
 *   Left out as well is a wallet that nobody came to ask for in time.
 */
export async function readBalances(
  env: Env,
  wallets: Pick<WalletRow, "id" | "sourceId" | "address">[],
  deadline: number,
): Promise<Map<string, Balance>> {
  const providers = await providersOf(env, [...new Set(wallets.map((one) => one.sourceId))]);
  const balances = new Map<string, Balance>();
  const queue = [...wallets];
  const work = async () => {
    for (let wallet = queue.shift(); wallet && Date.now() < deadline; wallet = queue.shift()) {
      const provider = providers.get(wallet.sourceId);
      if (!provider) continue;
      try {
        const ms = Math.max(deadline - Date.now(), 0);
        balances.set(wallet.id, await within(ms, balanceAt(provider, wallet.address), noAnswer));
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        log("warn", "balance.unavailable", { wallet: wallet.id, error: error.message });
        // The provider wants to be left alone: its other wallets would only hear the same.
        if (error.retryAt !== null) providers.delete(wallet.sourceId);
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return balances;
}

function noAnswer(): never {
  throw new ProviderError("provider: no answer in time");
}

/** @throws ProviderError */
async function balanceAt(provider: Provider, address: string): Promise<Balance> {
  const funds = (await provider.addressFunds(address)) ?? [];
  return new Map(
    funds.map(({ unit, quantity }) => [unit === "lovelace" ? "" : unit, BigInt(quantity)]),
  );
}

/**
 * A client per source, with the source's own key. Sources that were removed, or whose key does not
 * open, have none.
 */
async function providersOf(env: Env, sourceIds: string[]): Promise<Map<string, Provider>> {
  const sources = await db(env)
    .orm.select()
    .from(paymentSource)
    .where(and(inArray(paymentSource.id, sourceIds), isNull(paymentSource.deletedAt)));
  const providers = sources.map(async ({ id, network, rpcProviderApiKey }) => {
    const apiKey = await openOrEmpty(env, providerKeyPlace(id), rpcProviderApiKey);
    return apiKey === "" ? [] : [[id, await providerFor(env, network, apiKey)] as const];
  });
  return new Map((await Promise.all(providers)).flat());
}
