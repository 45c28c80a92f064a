/**
 * Outputs of a wallet that somebody else has spent: another service, or a person, has its key. Whoever
 * shares a key takes the outputs from under transactions that wait for a block.
 */
import type { Provider } from "../../../chain/provider/provider.ts";
import { outputName, type WalletOutput } from "../../../chain/transaction/plan.ts";
import { log } from "../../../log.ts";
import { isInChain } from "../life.ts";
import { headOf } from "../line.ts";
import type { Run, WalletPorts } from "../ports.ts";
import { knownOf } from "../stored/transactions.ts";
import { commitWallet, type SpentElsewhere, type WalletDatabase } from "../stored/wallet.ts";
import { makerOf } from "../transaction.ts";

/** So many are kept of a wallet, the newest, and for so long. */
const MAX_KEPT = 10;
const KEPT_MS = 7 * 24 * 60 * 60_000;
/** As many within this time pause what is done unasked. */
const MAX_AT_ONCE = 3;
const AT_ONCE_MS = 60 * 60_000;
/** Transactions whose outputs are asked for in one look. */
const MAX_LOOKUPS = 5;

/** Those that are still worth telling, the oldest first. @param now - epoch milliseconds */
export function recentOf(spent: readonly SpentElsewhere[], now: number): SpentElsewhere[] {
  return spent.filter(({ at }) => now - at < KEPT_MS).slice(-MAX_KEPT);
}

/**
 * Until when a wallet does only what somebody asked for, epoch milliseconds; null: it does everything.
 *
 * @param now - epoch milliseconds
 */
export function pausedUntil(spent: readonly SpentElsewhere[], now: number): number | null {
  const last = spent.filter(({ at }) => now - at < AT_ONCE_MS).at(-MAX_AT_ONCE);
  return last === undefined ? null : last.at + AT_ONCE_MS;
}

/**
 * Looks for outputs of the wallet that the provider does not show any more, and that none of its own
 * transactions spends, and tells the wallet of those that a foreign transaction has spent. A provider
 * that merely lags knows no such transaction.
 *
 * @param before - what the provider showed the last time
 * @param shown - what it shows now
 * @throws ProviderError, StaleWallet
 */
export async function noticeSpentElsewhere(
  ports: WalletPorts,
  run: Run,
  before: readonly WalletOutput[],
  shown: readonly WalletOutput[],
): Promise<Run> {
  const gone = goneFrom(run, before, shown);
  const makers = [...new Set(gone.map(makerOf))].slice(0, MAX_LOOKUPS);
  const spenders = await spendersOf(ports.provider, makers);
  const spent = gone.flatMap((output) => {
    const txHash = spenders.get(output);
    return txHash === undefined ? [] : [{ output, txHash, at: ports.now() }];
  });
  const foreign = await foreignOf(ports.db, run, spent);
  if (foreign.length === 0) return run;
  const now = ports.now();
  const spentElsewhere = recentOf([...run.wallet.spentElsewhere, ...foreign], now);
  const op = ports.newId(now);
  const wallet = await commitWallet(ports.db, run.wallet, { spentElsewhere }, [], {
    op,
    revisions: [],
  });
  for (const { output, txHash } of foreign)
    log("warn", "wallet.spent_elsewhere", { wallet: ports.vkey, output, txHash });
  return { ...run, wallet };
}

/** Names of outputs that should be there, as far as the wallet knows, and are not shown. */
function goneFrom(
  { wallet, open }: Run,
  before: readonly WalletOutput[],
  shown: readonly WalletOutput[],
): string[] {
  const head = wallet.lineRoot && headOf(wallet.lineRoot, open);
  const made = open
    .filter(({ phase }) => isInChain(phase))
    .flatMap(({ hash: txHash, made: own }) =>
      own.map(({ index }) => outputName({ txHash, index })),
    );
  const names = new Set([...before.map(outputName), ...made, head, wallet.collateral]);
  const waiting = new Set(open.filter(({ phase }) => !isInChain(phase)).map(({ hash }) => hash));
  const accounted = new Set<string | null>([
    null,
    ...shown.map(outputName),
    ...open.flatMap(({ inputs }) => inputs),
    ...open.flatMap(({ collateral }) => collateral?.inputs ?? []),
    ...wallet.spentElsewhere.map(({ output }) => output),
  ]);
  return [...names].flatMap((name) =>
    name === null || accounted.has(name) || waiting.has(makerOf(name)) ? [] : [name],
  );
}

async function spendersOf(
  provider: Pick<Provider, "spenders">,
  makers: readonly string[],
): Promise<Map<string, string>> {
  const found = await Promise.all(
    makers.map(async (txHash) =>
      [...((await provider.spenders(txHash)) ?? [])].map(
        ([index, spender]) => [outputName({ txHash, index }), spender] as const,
      ),
    ),
  );
  return new Map(found.flat());
}

/** Those that no transaction of the service has spent. */
async function foreignOf(
  db: WalletDatabase,
  { open }: Run,
  spent: readonly SpentElsewhere[],
): Promise<SpentElsewhere[]> {
  if (spent.length === 0) return [];
  const own = await knownOf(
    db,
    spent.map(({ txHash }) => txHash),
  );
  const isOpen = new Set(open.map(({ hash }) => hash));
  return spent.filter(({ txHash }) => !own.has(txHash) && !isOpen.has(txHash));
}
