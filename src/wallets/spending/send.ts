import { type Block, ProviderError } from "../../chain/provider/provider.ts";
import { isOfTheBytes, namedIn } from "../../chain/provider/refusal.ts";
import { log } from "../../log.ts";
import type { Happening } from "./history.ts";
import { isInChain, isWaiting } from "./life.ts";
import type { Run, WalletPorts } from "./ports.ts";
import { happen } from "./record.ts";
import { readBytes } from "./stored/transactions.ts";
import { makerOf, type WalletTransaction } from "./transaction.ts";
import { askJournal } from "./trouble/restored.ts";
import { handedOf } from "./written.ts";

/** A transaction that a node has accepted, and no block has after this, may have left its mempool. */
const EVICTED_MS = 60_000;

/**
 * Sends what no block has once more, parents first, while it is valid.
 *
 * @param tip - null: the provider does not tell it, and what is not valid any more is refused
 */
export async function sendAgain(ports: WalletPorts, run: Run, tip: Block | null): Promise<Run> {
  const waiting = run.open.filter(({ phase }) => isWaiting(phase));
  const hashes = new Set(waiting.map(({ hash }) => hash));
  const hangsOn = ({ inputs }: WalletTransaction, some: ReadonlySet<string>) =>
    inputs.some((input) => some.has(makerOf(input)));
  const isLate = (one: WalletTransaction) =>
    one.phase === "Sent" && !hangsOn(one, hashes) && ports.now() - one.movedAt >= EVICTED_MS;
  const valid = waiting.filter(({ validTo }) => tip === null || tip.slot < validTo);
  if (!valid.some((one) => one.phase !== "Sent" || isLate(one))) return run;
  const bytes = await readBytes(
    ports.db,
    valid.map(({ hash }) => hash),
  );
  const happenings: Happening[] = [];
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
      const isDue = isFirst && (one.phase !== "Sent" || isLate(one));
      const isWanted = isDue || missed.has(one.hash) || hangsOn(one, lost);
      if (cbor === undefined || !isWanted) continue;
      const answer = await send(ports, one, cbor);
      if (answer === "unknown") return happen(ports, run, happenings);
      happenings.push(...verdictOf(one, answer, false));
      if (answer === null && one.phase !== "Stored") lost.add(one.hash);
      for (const parent of answer === null ? [] : missedBy(answer.refused, one, valid))
        missed.add(parent);
    }
  }
  return happen(ports, run, happenings);
}

/** Those of some transactions that a node was taken to have, and whose outputs it refuses to know. */
function missedBy(
  refusal: string,
  { inputs }: WalletTransaction,
  among: readonly WalletTransaction[],
): string[] {
  const makers = new Set(namedIn(refusal, inputs).map(makerOf));
  return among
    .filter(({ hash, phase }) => phase === "Sent" && makers.has(hash))
    .map(({ hash }) => hash);
}

/**
 * Sends a transaction that was stored just now, so that nobody else has its bytes yet.
 *
 * @returns what the node says of it
 */
export async function sendNew(
  ports: WalletPorts,
  { open }: Run,
  transaction: WalletTransaction,
  cbor: Uint8Array,
): Promise<Happening[]> {
  const answer = await send(ports, transaction, cbor);
  if (answer === "unknown") return [];
  const makers = new Set(transaction.inputs.map(makerOf));
  const parents = open.filter(({ hash }) => makers.has(hash));
  return verdictOf(
    transaction,
    answer,
    parents.every(({ phase }) => isInChain(phase)),
  );
}

/** What a node's answer to a transaction says of it. */
type Answer = "unknown" | { refused: string } | null;

async function send(
  ports: WalletPorts,
  transaction: WalletTransaction,
  cbor: Uint8Array,
): Promise<Answer> {
  const { provider, journal, vkey, requestId } = ports;
  const { hash } = transaction;
  const handed = handedOf(transaction);
  const isKept = await askJournal(ports, ({ total, each }, after) =>
    journal.hand(handed, total, ports.now(), after, each),
  );
  if (!isKept) return "unknown";
  let answer: Answer;
  try {
    answer = await provider.submit(cbor);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log("warn", "wallet.submit_unknown", { wallet: vkey, hash, requestId, error: String(error) });
    return "unknown";
  }
  if (answer !== null) await ports.scriptsMissed(namedIn(answer.refused, transaction.reads ?? []));
  return answer;
}

/**
 * @param isFirst - nobody else has the bytes yet, and all that they spend is in blocks: whatever the
 *   node means by its refusal, waiting for it does not help
 */
function verdictOf(
  { hash }: WalletTransaction,
  answer: Exclude<Answer, "unknown">,
  isFirst: boolean,
): Happening[] {
  if (answer === null) return [{ hash, event: "Accepted" }];
  if (!isFirst && !isOfTheBytes(answer.refused)) return [];
  const error = `the network refused the transaction: ${answer.refused}`;
  return [{ hash, event: "Refused", facts: { error } }];
}
