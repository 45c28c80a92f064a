import { and, inArray, isNull } from "drizzle-orm";
import pMap from "p-map";
import { type Provider, ProviderError, type ProviderUtxo } from "../../chain/provider/provider.ts";
import { MAX_UTXOS } from "../../chain/provider/transactions.ts";
import { normalizeUnit } from "../../chain/unit.ts";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { openDb } from "../../db/client.ts";
import { unsealOrEmpty } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { createProvider, type ProviderUse } from "../../sources/provider.ts";
import { toProviderKeyEncryptionContext } from "../../sources/source-row.ts";
import { paymentSource } from "../../sources/tables.ts";
import { withTimeout } from "../../timeout.ts";
import type { WalletRow } from "./tables.ts";

/** An address's balance by unit, in minor units; `""` is the native coin. */
export type Balance = Map<string, bigint>;

/** What lies at an address. */
export interface Holdings {
  balance: Balance;
  /** Its unspent outputs, of very many the first. */
  utxos: ProviderUtxo[];
}

type QueriedWallet = Pick<WalletRow, "id" | "sourceId" | "address">;

/**
 * Reads the wallets' balances from their sources' providers.
 *
 * @param deadline - time limit, epoch milliseconds.
 * @returns balances by wallet id, without the wallets whose provider did not answer in time. The log has the
 *   reason.
 */
export function readBalances(
  env: Env,
  wallets: QueriedWallet[],
  deadline: number,
  use: ProviderUse,
): Promise<Map<string, Balance>> {
  return queryWallets(env, wallets, deadline, use, readBalance);
}

/** The same, with their outputs. */
export function readHoldings(
  env: Env,
  wallets: QueriedWallet[],
  deadline: number,
  use: ProviderUse,
): Promise<Map<string, Holdings>> {
  return queryWallets(env, wallets, deadline, use, async (provider, address) => {
    const utxos = await provider.addressUtxos(address);
    const isAll = utxos.length < MAX_UTXOS;
    return { utxos, balance: isAll ? sumUtxos(utxos) : await readBalance(provider, address) };
  });
}

async function queryWallets<Answer>(
  env: Env,
  wallets: QueriedWallet[],
  deadline: number,
  use: ProviderUse,
  ask: (provider: Provider, address: string) => Promise<Answer>,
): Promise<Map<string, Answer>> {
  const providers = await createProviders(
    env,
    [...new Set(wallets.map((one) => one.sourceId))],
    use,
  );
  const answers = new Map<string, Answer>();
  const read = async ({ id, sourceId, address }: QueriedWallet) => {
    const provider = providers.get(sourceId);
    const ms = deadline - Date.now();
    if (!provider || ms <= 0) return;
    try {
      answers.set(id, await withTimeout(ms, ask(provider, address), throwTimeout));
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      log("warn", "balance.unavailable", { wallet: id, error: error.message });
      // The provider is backing us off: its other wallets would only get the same error.
      if (error.retryAt !== null) providers.delete(sourceId);
    }
  };
  const distinct = new Map(wallets.map((wallet) => [wallet.id, wallet]));
  await pMap(distinct.values(), read, { concurrency: MAX_CONCURRENT_FETCHES });
  return answers;
}

function throwTimeout(): never {
  throw new ProviderError("provider: no answer in time");
}

/** @throws ProviderError */
async function readBalance(provider: Provider, address: string): Promise<Balance> {
  return sumAmounts((await provider.addressFunds(address)) ?? []);
}

function sumUtxos(utxos: readonly ProviderUtxo[]): Balance {
  return sumAmounts(utxos.flatMap(({ amount }) => amount));
}

function sumAmounts(amounts: readonly { unit: string; quantity: string }[]): Balance {
  const balance: Balance = new Map();
  for (const { unit: shown, quantity } of amounts) {
    const unit = normalizeUnit(shown);
    balance.set(unit, (balance.get(unit) ?? 0n) + BigInt(quantity));
  }
  return balance;
}

/**
 * A client per source, with the source's own key. Sources that were removed, or whose key does not
 * open, have none.
 */
async function createProviders(
  env: Env,
  sourceIds: string[],
  use: ProviderUse,
): Promise<Map<string, Provider>> {
  const sources = await openDb(env)
    .orm.select()
    .from(paymentSource)
    .where(and(inArray(paymentSource.id, sourceIds), isNull(paymentSource.deletedAt)));
  const providers = sources.map(async ({ id, network, rpcProviderApiKey }) => {
    const apiKey = await unsealOrEmpty(env, toProviderKeyEncryptionContext(id), rpcProviderApiKey);
    return apiKey === "" ? [] : [[id, await createProvider(env, network, apiKey, use)] as const];
  });
  return new Map((await Promise.all(providers)).flat());
}
