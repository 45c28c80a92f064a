import { type Block, ProviderError } from "../../chain/provider/provider.ts";
import { findMentionedOutputs, isPermanentRejection } from "../../chain/provider/rejection.ts";
import { log } from "../../log.ts";
import { isInChain, isPending } from "../model/phases.ts";
import { txHashOf, type WalletTransaction } from "../model/wallet-transaction.ts";
import type { WalletPorts, WalletRun } from "./context/wallet-ports.ts";
import type { TransactionEvent } from "./model/apply-events.ts";
import type { StoredCounts } from "./model/journal.ts";
import { toJournalEntry } from "./model/serialize-transaction.ts";
import { queryJournal } from "./restore-from-journal.ts";
import { readSignedBytes } from "./store/transactions.ts";
import { countStoredTransactions } from "./store/wallet.ts";
import { storeEvents } from "./store-updates.ts";

/** A transaction that a node has accepted, and no block has after this, may have left its mempool. */
const EVICTION_TIMEOUT_MS = 60_000;

/**
 * Resends valid transactions that no block has, parents first.
 *
 * @param tip - null: unknown, so nodes refuse expired transactions
 */
export async function resendPendingTransactions(
  ports: WalletPorts,
  run: WalletRun,
  tip: Block | null,
): Promise<WalletRun> {
  const waiting = run.openTransactions.filter(({ phase }) => isPending(phase));
  const waitingHashes = new Set(waiting.map(({ hash }) => hash));
  const dependsOn = ({ inputs }: WalletTransaction, some: ReadonlySet<string>) =>
    inputs.some((input) => some.has(txHashOf(input)));
  const mayBeEvicted = (one: WalletTransaction) =>
    one.phase === "Sent" &&
    !dependsOn(one, waitingHashes) &&
    ports.now() - one.movedAt >= EVICTION_TIMEOUT_MS;
  const valid = waiting.filter(({ validTo }) => tip === null || tip.slot < validTo);
  if (!valid.some((one) => one.phase !== "Sent" || mayBeEvicted(one))) return run;
  const hashes = valid.map(({ hash }) => hash);
  const [bytes, stored] = await Promise.all([
    readSignedBytes(ports.db, hashes),
    countStoredTransactions(ports.db, ports.network),
  ]);
  const events: TransactionEvent[] = [];
  /** Those that a node did not have any more, so that it has none of those behind them. */
  const lost = new Set<string>();
  /** Those whose outputs a node does not have, as its refusal of what spends these says. */
  const missed = new Set<string>();
  for (let known = -1; known < missed.size; ) {
    known = missed.size;
    lost.clear();
    for (const one of valid) {
      const cbor = bytes.get(one.hash);
      const isFirst = known === 0;
      const isDue = isFirst && (one.phase !== "Sent" || mayBeEvicted(one));
      const isWanted = isDue || missed.has(one.hash) || dependsOn(one, lost);
      if (cbor === undefined || !isWanted) continue;
      const answer = await submitTransaction(ports, one, cbor, stored);
      if (answer === "unknown") return storeEvents(ports, run, events);
      events.push(...toTransactionEvents(one, answer, false));
      if (answer === null && one.phase !== "Stored") lost.add(one.hash);
      for (const parent of answer === null ? [] : findMissingParents(answer.refused, one, valid))
        missed.add(parent);
    }
  }
  return storeEvents(ports, run, events);
}

/** Those of some transactions that a node was taken to have, and whose outputs it refuses to know. */
function findMissingParents(
  refusal: string,
  { inputs }: WalletTransaction,
  among: readonly WalletTransaction[],
): string[] {
  const makers = new Set(findMentionedOutputs(refusal, inputs).map(txHashOf));
  return among
    .filter(({ hash, phase }) => phase === "Sent" && makers.has(hash))
    .map(({ hash }) => hash);
}

/**
 * Sends a transaction that was stored just now, so that nobody else has its bytes yet.
 *
 * @param stored - see `queryJournal`
 * @returns what the node says of it
 */
export async function sendNewTransaction(
  ports: WalletPorts,
  { openTransactions: open }: WalletRun,
  transaction: WalletTransaction,
  cbor: Uint8Array,
  stored: StoredCounts | null,
): Promise<TransactionEvent[]> {
  const answer = await submitTransaction(ports, transaction, cbor, stored);
  if (answer === "unknown") return [];
  const makers = new Set(transaction.inputs.map(txHashOf));
  const parents = open.filter(({ hash }) => makers.has(hash));
  return toTransactionEvents(
    transaction,
    answer,
    parents.every(({ phase }) => isInChain(phase)),
  );
}

/** What a node's answer to a transaction says of it. */
type SubmitResult = "unknown" | { refused: string } | null;

async function submitTransaction(
  ports: WalletPorts,
  transaction: WalletTransaction,
  cbor: Uint8Array,
  stored: StoredCounts | null,
): Promise<SubmitResult> {
  const { provider, journal, vkey, requestId } = ports;
  const { hash } = transaction;
  const entry = toJournalEntry(transaction);
  const isKept = await queryJournal(ports, stored, ({ total, each }, after) =>
    journal.append(entry, total, ports.now(), after, each),
  );
  if (!isKept) return "unknown";
  let answer: SubmitResult;
  try {
    answer = await provider.submit(cbor);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log("warn", "wallet.submit_unknown", { wallet: vkey, hash, requestId, error: String(error) });
    return "unknown";
  }
  if (answer !== null)
    await ports.onMissingScripts(findMentionedOutputs(answer.refused, transaction.reads ?? []));
  return answer;
}

/**
 * @param isFirst - no node has the bytes yet, and all inputs are in blocks. A rejection is then final.
 */
function toTransactionEvents(
  { hash }: WalletTransaction,
  answer: Exclude<SubmitResult, "unknown">,
  isFirst: boolean,
): TransactionEvent[] {
  if (answer === null) return [{ hash, event: "Accepted" }];
  if (!isFirst && !isPermanentRejection(answer.refused)) return [];
  const error = `the network refused the transaction: ${answer.refused}`;
  return [{ hash, event: "Refused", facts: { error } }];
}
