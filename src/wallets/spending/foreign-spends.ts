/**
 * Outputs of a wallet that foreign transactions have spent: another service, or a person, has the key. Such
 * spends invalidate pending transactions.
 */
import type { Provider } from "../../chain/provider/provider.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../chain/transaction/transaction-plan.ts";
import { log } from "../../log.ts";
import { isInChain } from "../model/phases.ts";
import { txHashOf } from "../model/wallet-transaction.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import { findChainHead } from "./model/outward-chain.ts";
import { findKnownHashes } from "./store/transactions.ts";
import { commitWallet, type ForeignSpend, type WalletDatabase } from "./store/wallet.ts";

/** So many are kept of a wallet, the newest, and for so long. */
const MAX_STORED_SPENDS = 10;
const SPEND_RETENTION_MS = 7 * 24 * 60 * 60_000;
/** As many within this time pause what is done unasked. */
const MAX_SPENDS_IN_WINDOW = 3;
const PAUSE_WINDOW_MS = 60 * 60_000;
/** Transactions whose outputs are asked for in one look. */
const MAX_LOOKUPS = 5;

/** Those that are still worth telling, the oldest first. @param now - epoch milliseconds */
export function selectRecentSpends(spent: readonly ForeignSpend[], now: number): ForeignSpend[] {
  return spent.filter(({ at }) => now - at < SPEND_RETENTION_MS).slice(-MAX_STORED_SPENDS);
}

/**
 * Until when a wallet does only what somebody asked for, epoch milliseconds; null: it does everything.
 *
 * @param now - epoch milliseconds
 */
export function findPauseEnd(spent: readonly ForeignSpend[], now: number): number | null {
  const last = spent.filter(({ at }) => now - at < PAUSE_WINDOW_MS).at(-MAX_SPENDS_IN_WINDOW);
  return last === undefined ? null : last.at + PAUSE_WINDOW_MS;
}

/**
 * Finds vanished outputs that none of the wallet's transactions spends, and stores those that a foreign
 * transaction has spent. A provider that lags knows no such transaction.
 *
 * @param before - the provider's previous view.
 * @param shown - the provider's present view.
 * @throws ProviderError, StaleWalletError.
 */
export async function findForeignSpends(
  ports: WalletPorts,
  run: WalletRun,
  before: readonly WalletOutput[],
  shown: readonly WalletOutput[],
): Promise<WalletRun> {
  const gone = findVanishedOutputs(run, before, shown);
  const makers = [...new Set(gone.map(txHashOf))].slice(0, MAX_LOOKUPS);
  const spenders = await findSpenders(ports.provider, makers);
  const spent = gone.flatMap((output) => {
    const txHash = spenders.get(output);
    return txHash === undefined ? [] : [{ output, txHash, at: ports.now() }];
  });
  const foreign = await selectForeignSpends(ports.db, run, spent);
  if (foreign.length === 0) return run;
  const now = ports.now();
  const spentElsewhere = selectRecentSpends([...run.wallet.spentElsewhere, ...foreign], now);
  const op = ports.newId(now);
  const context = { op, revisions: [] };
  const { wallet } = await commitWallet(ports.db, run.wallet, { spentElsewhere }, [], context);
  for (const { output, txHash } of foreign)
    log("warn", "wallet.spent_elsewhere", { wallet: ports.vkey, output, txHash });
  return { ...run, wallet };
}

/** Names of outputs that should be there, as far as the wallet knows, and are not shown. */
function findVanishedOutputs(
  { wallet, openTransactions: open }: WalletRun,
  before: readonly WalletOutput[],
  shown: readonly WalletOutput[],
): string[] {
  const head = wallet.chainRoot && findChainHead(wallet.chainRoot, open);
  const made = open
    .filter(({ phase }) => isInChain(phase))
    .flatMap(({ hash: txHash, made: own }) =>
      own.map(({ index }) => formatOutputReference({ txHash, index })),
    );
  const names = new Set([...before.map(formatOutputReference), ...made, head, wallet.collateral]);
  const waiting = new Set(open.filter(({ phase }) => !isInChain(phase)).map(({ hash }) => hash));
  const accounted = new Set<string | null>([
    null,
    ...shown.map(formatOutputReference),
    ...open.flatMap(({ inputs }) => inputs),
    ...open.flatMap(({ collateral }) => collateral?.inputs ?? []),
    ...wallet.spentElsewhere.map(({ output }) => output),
  ]);
  return [...names].flatMap((name) =>
    name === null || accounted.has(name) || waiting.has(txHashOf(name)) ? [] : [name],
  );
}

async function findSpenders(
  provider: Pick<Provider, "spenders">,
  makers: readonly string[],
): Promise<Map<string, string>> {
  const found = await Promise.all(
    makers.map(async (txHash) =>
      [...((await provider.spenders(txHash)) ?? [])].map(
        ([index, spender]) => [formatOutputReference({ txHash, index }), spender] as const,
      ),
    ),
  );
  return new Map(found.flat());
}

/** Those that no transaction of the service has spent. */
async function selectForeignSpends(
  db: WalletDatabase,
  { openTransactions: open }: WalletRun,
  spent: readonly ForeignSpend[],
): Promise<ForeignSpend[]> {
  if (spent.length === 0) return [];
  const own = await findKnownHashes(
    db,
    spent.map(({ txHash }) => txHash),
  );
  const isOpen = new Set(open.map(({ hash }) => hash));
  return spent.filter(({ txHash }) => !own.has(txHash) && !isOpen.has(txHash));
}
