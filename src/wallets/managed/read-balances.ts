import { and, isNull } from "drizzle-orm";
import pMap from "p-map";
import { MAX_UTXOS } from "../../chain/provider/blockfrost/transactions.ts";
import { type Provider, ProviderError, type ProviderUtxo } from "../../chain/provider/provider.ts";
import { parseAmounts } from "../../chain/unit.ts";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { openDb } from "../../db/client.ts";
import { isOneOf } from "../../db/conditions.ts";
import { unsealOrEmpty } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { ProviderUse } from "../../sources/provider.ts";
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

/** Reads wallets, by their ids. */
type WalletReader<Answer> = (
  wallets: readonly QueriedWallet[],
) => Promise<ReadonlyMap<string, Answer>>;

/** What readers of wallets have in common. */
interface ReaderOptions {
  env: Env;
  /** Epoch milliseconds. */
  deadline: number;
  use: ProviderUse;
  /** For one wallet; a source whose provider takes longer is not asked again. */
  maxQuestionMs: number;
}

/** Beyond this, a provider counts as hanging. */
const MAX_QUESTION_MS = 8_000;

/**
 * Creates a function that reads wallets' balances from their sources' providers. Each wallet is read once,
 * however often the function is called. A source whose provider fails is not asked again. A provider that has not
 * answered yet has one connection: the other sources use the rest.
 *
 * The function returns the balances read so far by wallet id, without the wallets whose provider did not
 * answer in time. The log has the reason.
 *
 * @param deadline - epoch milliseconds
 */
export function createBalanceReader(
  env: Env,
  deadline: number,
  use: ProviderUse,
): WalletReader<Balance> {
  return createReader({ env, deadline, use, maxQuestionMs: MAX_QUESTION_MS }, readBalance);
}

/** Reads the balances of some wallets with their outputs, in the same way. @param deadline - epoch milliseconds */
export function readHoldings(
  env: Env,
  wallets: QueriedWallet[],
  deadline: number,
  use: ProviderUse,
): Promise<ReadonlyMap<string, Holdings>> {
  const options = { env, deadline, use, maxQuestionMs: Number.POSITIVE_INFINITY };
  const read = createReader(options, async (provider, address) => {
    const utxos = await provider.addressUtxos(address);
    const isAll = utxos.length < MAX_UTXOS;
    return { utxos, balance: isAll ? sumUtxos(utxos) : await readBalance(provider, address) };
  });
  return read(wallets);
}

function createReader<Answer>(
  { env, deadline, use, maxQuestionMs }: ReaderOptions,
  ask: (provider: Provider, address: string) => Promise<Answer>,
): WalletReader<Answer> {
  const answers = new Map<string, Answer>();
  const readIds = new Set<string>();
  const sources = new Map<string, SourceAccess>();

  const read = async ({ id, sourceId, address }: QueriedWallet) => {
    const source = sources.get(sourceId);
    const ms = Math.min(maxQuestionMs, deadline - Date.now());
    if (!source?.provider || ms <= 0) return;
    readIds.add(id);
    try {
      answers.set(id, await withTimeout(ms, ask(source.provider, address), throwTimeout));
      source.hasAnswered = true;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      log("warn", "balance.unavailable", { wallet: id, error: error.message });
      source.hasAnswered = !isProviderFailing(error);
      if (source.hasAnswered) return;
      // Its other wallets would only get the same error, or hang as well.
      source.provider = null;
      source.stop.abort();
    }
  };

  return async (wallets) => {
    const unknown = wallets.map(({ sourceId }) => sourceId).filter((id) => !sources.has(id));
    if (unknown.length > 0)
      for (const [id, access] of await openSources(env, unknown, use)) sources.set(id, access);
    const distinct = new Map(wallets.map((wallet) => [wallet.id, wallet]));
    const open = [...distinct.values()].filter(({ id }) => !readIds.has(id));
    const first = new Map(
      open
        .filter(({ sourceId }) => sources.get(sourceId)?.hasAnswered === false)
        .map((wallet) => [wallet.sourceId, wallet]),
    );
    await pMap(first.values(), read, { concurrency: MAX_CONCURRENT_FETCHES });
    const others = open.filter(({ id }) => !readIds.has(id));
    await pMap(others, read, { concurrency: MAX_CONCURRENT_FETCHES });
    return answers;
  };
}

/** Whether an error says that the provider refuses calls or does not work, whatever it is asked. */
function isProviderFailing({ status, retryAt }: ProviderError): boolean {
  return retryAt !== null || status === null || status >= 500;
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

function sumAmounts(amounts: ProviderUtxo["amount"]): Balance {
  const balance: Balance = new Map();
  for (const { unit, amount } of parseAmounts(amounts))
    balance.set(unit, (balance.get(unit) ?? 0n) + amount);
  return balance;
}

/** How a source's provider is asked. */
interface SourceAccess {
  /** Null: the source was removed, its key does not open, or the provider fails. */
  provider: Provider | null;
  hasAnswered: boolean;
  /** Ends the calls of the provider. */
  stop: AbortController;
}

/** A client per source, with the source's own key. */
async function openSources(
  env: Env,
  sourceIds: string[],
  use: ProviderUse,
): Promise<Map<string, SourceAccess>> {
  const access = new Map(sourceIds.map((id) => [id, createAccess()]));
  const sources = await openDb(env)
    .orm.select()
    .from(paymentSource)
    .where(and(isOneOf(paymentSource.id, sourceIds), isNull(paymentSource.deletedAt)));
  for (const row of sources) {
    const { id, rpcProviderApiKey } = row;
    const apiKey = await unsealOrEmpty(env, toProviderKeyEncryptionContext(id), rpcProviderApiKey);
    const source = access.get(id);
    if (!source || apiKey === "") continue;
    source.provider = await openSourceProvider(env, row, use, source.stop.signal);
  }
  return access;
}

function createAccess(): SourceAccess {
  return { provider: null, hasAnswered: false, stop: new AbortController() };
}
