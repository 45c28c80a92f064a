import { type Block, hashAt, type Provider } from "../../chain/provider/provider.ts";
import { isInChain, isWaiting, TRANSITIONS } from "../model/phases.ts";
import { creatorOf, type WalletTransaction } from "../model/wallet-transaction.ts";
import { isolate, logFailure } from "../queue/isolate.ts";
import type { WalletPorts } from "./context/wallet-ports.ts";
import type { TransactionEvent } from "./model/apply-events.ts";

/** Slots (seconds) after its validity in which a lagging provider may still show a transaction. */
const LATE_SLOTS = 120;
/** Transactions that are asked for before what they told is given back: a run may end before all are. */
const PORTION = 100;
/** Blocks above which nothing is undone any more, as far as wallets go. */
const FINAL_DEPTH = 20;

type Chain = Pick<Provider, "block" | "transaction">;

/**
 * Polls the chain for the phases of transactions, with few calls. It skips transactions in canonical blocks,
 * and descendants of transactions that no block has.
 *
 * @param open - all transactions that are not final, in the order of their storage.
 * @param tip - read before the call, so that absence up to the tip is certain.
 * @param threshold - confirmations that count, at least 1.
 * @returns events, in portions. The portions end if the chain changes meanwhile.
 * @throws ProviderError.
 */
export async function* pollChain(
  chain: Chain,
  open: readonly WalletTransaction[],
  tip: Block,
  threshold: number,
): AsyncGenerator<TransactionEvent[], void> {
  const gone = await findReorged(chain, open, tip);
  const isCanonical = (one: WalletTransaction) => isAnchored(one) && !gone.has(one);
  const standing = open.filter(isCanonical);
  // Of one that failed there is what its collateral returned.
  const inChain = new Set(standing.map(({ hash }) => hash));
  let events: TransactionEvent[] = [...gone].map(({ hash }) => ({ hash, event: "Gone" }));
  events.push(...standing.flatMap((one) => depthEvents(one, tip, threshold)));

  const known = new Set(open.map(({ hash }) => hash));
  const over = new Set<string>();
  const places = new Places(
    chain,
    open.filter(({ phase }) => isWaiting(phase)),
  );
  let reported = 0;
  for (const one of open) {
    if (isCanonical(one)) continue;
    if (places.asked - reported >= PORTION) {
      if (!(await isOfOneChain(chain, open, places.found, tip))) return;
      yield events;
      [events, reported] = [[], places.asked];
    }
    const makers = one.inputs.map(creatorOf).filter((hash) => known.has(hash));
    if (makers.every((hash) => inChain.has(hash))) {
      const seen = await findInclusion(places, one, tip, threshold);
      events.push(...seen);
      if (seen.length > 0) {
        inChain.add(one.hash);
        continue;
      }
    }
    const ending = expiryEvents(one, tip);
    if (ending.length === 0) continue;
    // An expired ancestor, and not the transaction, is at fault.
    if (!makers.some((hash) => over.has(hash))) events.push(...ending);
    over.add(one.hash);
  }
  if (await isOfOneChain(chain, open, places.found, tip)) yield events;
}

/**
 * Whether what was found since the tip was read is of the tip's chain, as what stands is. Of two chains, what
 * the first alone has would be taken to stand below what the second has, for ever.
 */
async function isOfOneChain(
  chain: Chain,
  open: readonly WalletTransaction[],
  found: readonly NonNullable<Found>[],
  tip: Block,
): Promise<boolean> {
  const others = found.filter(
    ({ blockHeight, blockHash }) => hashAt(tip, blockHeight) !== blockHash,
  );
  if (others.length === 0) return true;
  if (others.some(({ blockHeight }) => hashAt(tip, blockHeight) !== undefined)) return false;
  const isAbove = ({ blockHeight }: { blockHeight: number | null }) =>
    (blockHeight ?? 0) > tip.height;
  // Nobody has looked whether those stand that are above the tip already.
  if (others.some(isAbove) && open.some((one) => isAnchored(one) && isAbove(one))) return false;
  return (await chain.block(tip.height))?.hash === tip.hash;
}

/**
 * Finds pending transactions whose input a transaction in a block has spent, by the features' records.
 *
 * @throws transient errors
 */
export async function findReplaced(
  { features, vkey: wallet, requestId }: Pick<WalletPorts, "features" | "vkey" | "requestId">,
  open: readonly WalletTransaction[],
): Promise<TransactionEvent[]> {
  const waiting = open.filter(({ phase }) => isWaiting(phase));
  const spent = await Promise.all(
    features.map(async (feature) => {
      const isOurs = (one: { feature: string }) => one.feature === feature.name;
      const mine = waiting.filter(({ tasks }) => tasks.some(isOurs));
      const ids = mine.flatMap(({ tasks }) => tasks.filter(isOurs).map(({ id }) => id));
      const inputs = mine.flatMap((one) => one.inputs);
      if (mine.length === 0 || !feature.spentByOthers) return [];
      const { result, errors } = await isolate(
        ids,
        async (some) => (await feature.spentByOthers?.(some, inputs)) ?? [],
      );
      for (const { item, error } of errors)
        logFailure(error, { wallet, requestId, feature: feature.name, tasks: [item] });
      return result ?? [];
    }),
  );
  const names = new Set(spent.flat());
  const error = "an input was spent by another transaction";
  return waiting
    .filter(({ inputs }) => inputs.some((input) => names.has(input)))
    .map(({ hash }) => ({ hash, event: "Displaced", facts: { error } }));
}

const isAnchored = ({ phase }: WalletTransaction) => isInChain(phase) || phase === "Failed";

/** Those whose block another one has replaced. What the provider does not show yet is not gone. */
async function findReorged(
  chain: Chain,
  open: readonly WalletTransaction[],
  tip: Block,
): Promise<ReadonlySet<WalletTransaction>> {
  const gone = new Set<WalletTransaction>();
  const byBlock = Map.groupBy(open.filter(isAnchored), ({ blockHash }) => blockHash);
  const newestFirst = [...byBlock].sort(
    ([, [a]], [, [b]]) => (b?.blockHeight ?? 0) - (a?.blockHeight ?? 0),
  );
  for (const [hash, ones] of newestFirst) {
    const height = ones[0]?.blockHeight ?? 0;
    const there = hashAt(tip, height) ?? (await blockUpTo(chain, height, tip))?.hash;
    if (there === hash) break;
    if (there !== undefined) for (const one of ones) gone.add(one);
  }
  return gone;
}

const blockUpTo = (chain: Chain, height: number, tip: Block) =>
  height > tip.height ? null : chain.block(height);

type Found = Awaited<ReturnType<Chain["transaction"]>>;

/**
 * The blocks of transactions, with at most one call for each. If the first and the last of a chain of
 * spends are in one block, so are all between them.
 */
class Places {
  readonly #chain: Chain;
  readonly #found = new Map<string, Found>();
  /** What spends from a transaction and waits for a block too. */
  readonly #next: ReadonlyMap<string, WalletTransaction>;

  constructor(chain: Chain, waiting: readonly WalletTransaction[]) {
    this.#chain = chain;
    this.#next = new Map(
      waiting.flatMap((one) => one.inputs.map((input) => [creatorOf(input), one] as const)),
    );
  }

  /** How many were asked for. */
  get asked(): number {
    return this.#found.size;
  }

  /** What some block has of all that was asked for. */
  get found(): NonNullable<Found>[] {
    return [...this.#found.values()].filter((one) => one !== null);
  }

  async of(one: WalletTransaction): Promise<Found> {
    const found = await this.#ask(one);
    if (found?.validContract) await this.#inBlockOf(one, found);
    return found;
  }

  async #ask({ hash }: WalletTransaction): Promise<Found> {
    const known = this.#found.get(hash);
    if (known !== undefined) return known;
    const found = await this.#chain.transaction(hash);
    this.#found.set(hash, found);
    return found;
  }

  async #inBlockOf(first: WalletTransaction, found: NonNullable<Found>): Promise<void> {
    const line: WalletTransaction[] = [];
    for (let one = this.#next.get(first.hash); one; one = this.#next.get(one.hash)) line.push(one);
    const last = line.pop();
    if (!last || line.every(({ hash }) => this.#found.has(hash))) return;
    const end = await this.#ask(last);
    if (!end?.validContract || end.blockHash !== found.blockHash) return;
    for (const { hash } of line) this.#found.set(hash, { ...found, hash });
  }
}

async function findInclusion(
  places: Places,
  one: WalletTransaction,
  tip: Block,
  threshold: number,
): Promise<TransactionEvent[]> {
  const found = await places.of(one);
  if (found === null) return [];
  const { blockHeight, blockHash, blockTime, validContract } = found;
  const facts = { blockHeight, blockHash, blockTime };
  if (!validContract) return [{ hash: one.hash, event: "ScriptFailed", facts }];
  return [
    { hash: one.hash, event: "Seen", facts },
    ...depthEvents({ ...one, ...facts }, tip, threshold),
  ];
}

function depthEvents(
  { hash, blockHeight }: WalletTransaction,
  tip: Block,
  threshold: number,
): TransactionEvent[] {
  const above = tip.height - (blockHeight ?? tip.height);
  return [
    ...(above + 1 >= threshold ? [{ hash, event: "Deep" } as const] : []),
    ...(above >= FINAL_DEPTH ? [{ hash, event: "Buried" } as const] : []),
  ];
}

/** The end of the validity of one that no block has. */
function expiryEvents(
  { hash, phase, validTo, overHeight }: WalletTransaction,
  tip: Block,
): TransactionEvent[] {
  if (tip.slot <= validTo + LATE_SLOTS) return [];
  if (overHeight === null)
    return [{ hash, event: "Over", facts: { overHeight: tip.height, ...reasonOf(phase) } }];
  const isBuried =
    TRANSITIONS[phase].Impossible !== undefined && tip.height - overHeight >= FINAL_DEPTH;
  if (isBuried) return [{ hash, event: "Buried" }];
  return isWaiting(phase) ? [{ hash, event: "Over", facts: reasonOf(phase) }] : [];
}

const reasonOf = (phase: WalletTransaction["phase"]) =>
  isWaiting(phase) ? { error: "the network did not accept the transaction in time" } : {};
