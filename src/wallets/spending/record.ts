/** The batches that move a wallet: each has what the records of its tasks are told. */
import type { Statement } from "../../db/client.ts";
import { log } from "../../log.ts";
import type { WalletWork } from "../work.ts";
import { applyAll, type Happening, type Move, movesOf } from "./history.ts";
import { isOpen, type Phase } from "./life.ts";
import { rootAfter } from "./line.ts";
import type { Made } from "./making/make.ts";
import type { Run, WalletPorts } from "./ports.ts";
import { insertTransaction, updateTransactions } from "./stored/transactions.ts";
import { commitWallet, RecordChanged } from "./stored/wallet.ts";
import type { WalletTransaction } from "./transaction.ts";

/** Stores what was under way before wallets kept their transactions, before anything is built. */
export async function takeOver(ports: WalletPorts, run: Run): Promise<Run> {
  const found = (await Promise.all(ports.works.map((work) => work.takenOver()))).flat();
  if (found.length === 0) return run;
  const stored = found.map(({ cbor: _, ...one }, i): WalletTransaction => {
    return { ...one, sequence: run.wallet.sequence + i + 1 };
  });
  const bytes = new Map(found.map(({ hash, cbor }) => [hash, cbor]));
  return storeFound(ports, run, stored, bytes, []);
}

/** Stores transactions again that the database has forgotten, and tells their tasks. */
export async function remember(
  ports: WalletPorts,
  run: Run,
  lost: readonly WalletTransaction[],
): Promise<Run> {
  const old = new Map(run.open.map((one) => [one.hash, one]));
  const told = await tellWorks(ports, movesOf([...run.open, ...lost], lost, old), ports.now());
  return storeFound(ports, run, lost, new Map(), told);
}

async function storeFound(
  ports: WalletPorts,
  { wallet, open }: Run,
  found: readonly WalletTransaction[],
  bytes: ReadonlyMap<string, Uint8Array | null>,
  told: readonly Statement[],
): Promise<Run> {
  const now = ports.now();
  const next = await commitWallet(
    ports.db,
    wallet,
    {
      sequence: wallet.sequence + found.length,
      lineRoot: wallet.lineRoot ?? found.find(({ lineIn }) => lineIn !== null)?.lineIn ?? null,
    },
    [
      ...found.map((one) =>
        insertTransaction(wallet, one, bytes.get(one.hash) ?? null, { ...ports, now }),
      ),
      ...told,
    ],
    writeOf(ports, now),
  );
  for (const one of found) tell(ports, one);
  return { wallet: next, open: [...open, ...found] };
}

/** Writes what happened to transactions, and what follows from it, with what their tasks are told. */
export async function happen(
  ports: WalletPorts,
  { wallet, open }: Run,
  happenings: readonly Happening[],
): Promise<Run> {
  const { transactions, changed, moves } = applyAll(open, happenings, ports.now());
  if (changed.length === 0) return { wallet, open };
  const now = ports.now();
  const told = await tellWorks(ports, moves, now);
  const lineRoot = wallet.lineRoot && rootAfter(wallet.lineRoot, transactions);
  const moved = await commitWallet(
    ports.db,
    wallet,
    { lineRoot },
    [updateTransactions(changed, now), ...told],
    writeOf(ports, now),
  );
  // What they spent is told by them no more, only by a provider that has followed the chain.
  if (changed.some(({ phase }) => !isOpen(phase))) ports.view.forget();
  const before = new Map(open.map((one) => [one.hash, one.phase]));
  for (const one of changed) tell(ports, one, before.get(one.hash));
  return { wallet: moved, open: transactions.filter(({ phase }) => isOpen(phase)) };
}

/**
 * Stores a signed transaction with what it means for its tasks, before anybody sees it.
 *
 * @param place - where it leaves the wallet
 */
async function storeNew(
  ports: WalletPorts,
  { wallet, open }: Run,
  transaction: WalletTransaction,
  cbor: Uint8Array,
  place: { lineRoot: string | null; collateral: string | null },
): Promise<Run> {
  const now = ports.now();
  const told = await tellWorks(
    ports,
    transaction.tasks.map((task) => ({ task, transaction })),
    now,
  );
  const next = await commitWallet(
    ports.db,
    wallet,
    { ...place, sequence: transaction.sequence },
    [insertTransaction(wallet, transaction, cbor, { ...ports, now }), ...told],
    writeOf(ports, now),
  );
  tell(ports, transaction);
  return { wallet: next, open: [...open, transaction] };
}

/** Logs the state to which a transaction came, once that is stored. */
function tell(
  { vkey, requestId }: WalletPorts,
  { hash, phase, error }: WalletTransaction,
  from: Phase | null = null,
): void {
  log("info", "wallet.transaction", { wallet: vkey, requestId, hash, from, phase, error });
}

/** How often the same bytes are stored again, when records change and what they ask for does not. */
const MOST_STORINGS = 3;

/**
 * Stores a transaction as `storeNew` does. Should records of its tasks have changed meanwhile, they are
 * read again: as long as all ask for the same, the same bytes keep their place.
 *
 * @returns null: some ask for something else by now
 * @throws StaleWallet
 */
export async function storeUnchanged(
  ports: WalletPorts,
  run: Run,
  work: WalletWork,
  { transaction, cbor, place, members }: Made,
): Promise<Run | null> {
  for (let storing = 1; ; storing++) {
    try {
      return await storeNew(ports, run, transaction, cbor, place);
    } catch (error) {
      if (!(error instanceof RecordChanged) || !work.unchanged || storing === MOST_STORINGS)
        throw error;
      const same = await work.unchanged(members.map(({ task }) => task));
      if (same.length < members.length) return null;
    }
  }
}

/**
 * Statements of each feature for the moves of its own tasks. Features that share their records, and so the
 * revisions that guard them, are told as one: the batch may write a record once.
 */
async function tellWorks(ports: WalletPorts, moves: readonly Move[], now: number) {
  const sharing = [...Map.groupBy(ports.works, ({ revision }) => revision).values()];
  const told = sharing.map((works) => {
    const names = works.map(({ name }) => name);
    const theirs = moves.filter(({ task }) => names.includes(task.work));
    return works[0]?.moved(theirs, now) ?? [];
  });
  return (await Promise.all(told)).flat();
}

function writeOf({ newId, works }: WalletPorts, now: number) {
  return { op: newId(now), revisions: works.map(({ revision }) => revision) };
}
