/** The batches that move a wallet: each has what the records of its tasks are told. */
import type { Statement } from "../../db/client.ts";
import { log } from "../../log.ts";
import { isolate, isTransient, logFailure } from "../isolate.ts";
import { earliest } from "../pauses.ts";
import type { Failure, WalletWork } from "../work.ts";
import { applyAll, type Happening, movesOf } from "./history.ts";
import { updatesFor, writeUpdates } from "./isolation/write-updates.ts";
import { isOpen, type Phase } from "./life.ts";
import { rootAfter } from "./line.ts";
import type { Made } from "./making/make.ts";
import type { Run, WalletPorts } from "./ports.ts";
import { insertTransaction, updateTransactions } from "./stored/transactions.ts";
import { commitWallet, RecordChanged } from "./stored/wallet.ts";
import { taskKey, type WalletTransaction } from "./transaction.ts";

/** Stores what was under way before wallets kept their transactions, before anything is built. */
export async function takeOver(ports: WalletPorts, run: Run): Promise<Run> {
  const { vkey: wallet, requestId } = ports;
  const all = await Promise.all(
    ports.works.map(async (work) => {
      const { result, errors } = await isolate([work], () => work.takenOver());
      for (const { error } of errors)
        logFailure(error, { wallet, requestId, work: work.name, tasks: [] });
      return result ?? [];
    }),
  );
  const found = all.flat();
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
  const moves = movesOf([...run.open, ...lost], lost, old);
  return writeUpdates(ports, moves, (statements, keepFailed) =>
    storeFound(ports, run, lost.map(keepFailed), new Map(), statements),
  );
}

async function storeFound(
  ports: WalletPorts,
  { wallet, open, late }: Run,
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
  return { wallet: next, open: [...open, ...found], late };
}

/** Writes what happened to transactions, and what follows from it, with what their tasks are told. */
export async function happen(
  ports: WalletPorts,
  run: Run,
  happenings: readonly Happening[],
): Promise<Run> {
  const { wallet, open, late } = run;
  const { transactions, changed, moves } = applyAll(open, happenings, ports.now());
  if (changed.length === 0) return run;
  const lineRoot = wallet.lineRoot && rootAfter(wallet.lineRoot, transactions);
  const { moved, all } = await writeUpdates(ports, moves, async (statements, keepFailed) => {
    const now = ports.now();
    const all = transactions.map(keepFailed);
    const written = all.filter((one, i) => one !== transactions[i] || changed.includes(one));
    const updates = [updateTransactions(written, now), ...statements];
    return {
      all,
      moved: await commitWallet(ports.db, wallet, { lineRoot }, updates, writeOf(ports, now)),
    };
  });
  // What they spent is told by them no more, only by a provider that has followed the chain.
  if (changed.some(({ phase }) => !isOpen(phase))) ports.view.forget();
  const before = new Map(open.map((one) => [one.hash, one.phase]));
  for (const one of changed) tell(ports, one, before.get(one.hash));
  return {
    wallet: moved,
    open: all.filter(({ phase }) => isOpen(phase)),
    late: [...late, ...all.filter(isLate)],
  };
}

/**
 * Repeats the record updates that failed, one by one.
 *
 * @returns the wallet after it, and when the next is repeated, epoch milliseconds
 */
export async function repeatUpdates(
  ports: WalletPorts,
  run: Run,
): Promise<{ run: Run; next: number | null }> {
  const now = ports.now();
  let { wallet } = run;
  const after = new Map<string, WalletTransaction>();
  for (let transaction of [...run.open, ...run.late]) {
    for (const { tryAt, ...update } of transaction.failedUpdates ?? []) {
      const task = transaction.tasks.find((one) => taskKey(one) === taskKey(update));
      if (tryAt > now || !task) continue;
      const before = transaction;
      const moves = [{ task, transaction }];
      [wallet, transaction] = await writeUpdates(ports, moves, async (statements, keepFailed) => {
        const kept = keepFailed(before);
        const updates = [updateTransactions([kept], now), ...statements];
        return [await commitWallet(ports.db, wallet, {}, updates, writeOf(ports, now)), kept];
      });
    }
    after.set(transaction.hash, transaction);
  }
  const refreshed = (some: readonly WalletTransaction[]) =>
    some.map((one) => after.get(one.hash) ?? one);
  const open = refreshed(run.open);
  const late = refreshed(run.late).filter(isLate);
  const failed = [...open, ...late].flatMap(({ failedUpdates = [] }) => failedUpdates);
  return { run: { wallet, open, late }, next: earliest(failed.map(({ tryAt }) => tryAt)) };
}

/** Whether a final transaction has records that do not say so yet. */
const isLate = ({ phase, failedUpdates = [] }: WalletTransaction) =>
  !isOpen(phase) && failedUpdates.length > 0;

/** What came of storing a transaction. */
export type Storing =
  | { is: "stored"; run: Run }
  /** Records of its tasks ask for something else by now. */
  | { is: "changed" }
  /** These tasks cannot be written. */
  | { is: "failed"; failures: readonly Failure[] }
  /** The database refuses the values of one of its tasks, and does not say of which. */
  | { is: "refused" };

/** Stores a signed transaction with what it means for its tasks, before anybody sees it. */
async function storeNew(
  ports: WalletPorts,
  { wallet, open, late }: Run,
  { transaction, cbor, place, members }: Made,
): Promise<Storing> {
  const now = ports.now();
  const moves = transaction.tasks.map((task) => ({ task, transaction }));
  const { statements, errors } = await updatesFor(ports, moves, now);
  if (errors.length > 0) {
    const failures = members.flatMap(({ task }) => {
      const one = errors.find(({ item }) => item.task.id === task.id);
      return one ? [{ task, error: one.error }] : [];
    });
    return { is: "failed", failures };
  }
  const change = { ...place, sequence: transaction.sequence };
  const inserted = insertTransaction(wallet, transaction, cbor, { ...ports, now });
  try {
    const next = await commitWallet(
      ports.db,
      wallet,
      change,
      [inserted, ...statements],
      writeOf(ports, now),
    );
    tell(ports, transaction);
    return { is: "stored", run: { wallet: next, open: [...open, transaction], late } };
  } catch (error) {
    if (isTransient(error)) throw error;
    const [only, ...others] = members;
    if (!only || others.length > 0) return { is: "refused" };
    return { is: "failed", failures: [{ task: only.task, error }] };
  }
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
const MAX_STORINGS = 3;

/**
 * Stores a transaction as `storeNew` does. Should records of its tasks have changed meanwhile, they are
 * read again: as long as all ask for the same, the same bytes keep their place.
 *
 * @throws StaleWallet
 */
export async function storeUnchanged(
  ports: WalletPorts,
  run: Run,
  work: WalletWork,
  made: Made,
): Promise<Storing> {
  const tasks = made.members.map(({ task }) => task);
  for (let storing = 1; ; storing++) {
    try {
      return await storeNew(ports, run, made);
    } catch (error) {
      if (!(error instanceof RecordChanged) || !work.unchanged || storing === MAX_STORINGS)
        throw error;
      const unchanged = work.unchanged;
      const { result, errors } = await isolate(tasks, (some) => unchanged(some));
      if (errors.length > 0) {
        const failures = errors.map(({ item, error }) => ({ task: item, error }));
        return { is: "failed", failures };
      }
      if ((result ?? []).length < tasks.length) return { is: "changed" };
    }
  }
}

function writeOf({ newId, works }: WalletPorts, now: number) {
  return { op: newId(now), revisions: works.map(({ revision }) => revision) };
}
