import { type Block, blockHashAt, type Provider } from "../../chain/provider/provider.ts";
import { isInChain, isPending, PHASE_TRANSITIONS } from "../model/phases.ts";
import { txHashOf, type WalletTransaction } from "../model/wallet-transaction.ts";
import { isolateFailures, logFailure } from "../queue/isolate-failures.ts";
import type { WalletPorts } from "./context/wallet-ports.ts";
import type { TransactionEvent } from "./model/apply-events.ts";

/** Slots (seconds) after its validity in which a lagging provider may still show a transaction. */
const PROVIDER_LAG_SLOTS = 120;
/** Transactions that are asked for before what they told is given back: a run may end before all are. */
const CHUNK_SIZE = 100;
/** Blocks above which nothing is undone any more, as far as wallets go. */
const FINAL_DEPTH = 20;

type ChainReader = Pick<Provider, "block" | "transaction">;

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
  chain: ChainReader,
  open: readonly WalletTransaction[],
  tip: Block,
  threshold: number,
): AsyncGenerator<TransactionEvent[], void> {
  const gone = await findReorgedTransactions(chain, open, tip);
  const isCanonical = (one: WalletTransaction) => isInBlock(one) && !gone.has(one);
  const standing = open.filter(isCanonical);
  // Of one that failed there is what its collateral returned.
  const inChain = new Set(standing.map(({ hash }) => hash));
  let events: TransactionEvent[] = [...gone].map(({ hash }) => ({ hash, event: "Gone" }));
  events.push(...standing.flatMap((one) => createDepthEvents(one, tip, threshold)));

  const known = new Set(open.map(({ hash }) => hash));
  const over = new Set<string>();
  const places = new InclusionCache(
    chain,
    open.filter(({ phase }) => isPending(phase)),
  );
  let reported = 0;
  for (const one of open) {
    if (isCanonical(one)) continue;
    if (places.requestCount - reported >= CHUNK_SIZE) {
      if (!(await isOfSameChain(chain, open, places.foundTransactions, tip))) return;
      yield events;
      [events, reported] = [[], places.requestCount];
    }
    const makers = one.inputs.map(txHashOf).filter((hash) => known.has(hash));
    if (makers.every((hash) => inChain.has(hash))) {
      const seen = await findInclusion(places, one, tip, threshold);
      events.push(...seen);
      if (seen.length > 0) {
        inChain.add(one.hash);
        continue;
      }
    }
    const ending = createExpiryEvents(one, tip);
    if (ending.length === 0) continue;
    // An expired ancestor, and not the transaction, is at fault.
    if (!makers.some((hash) => over.has(hash))) events.push(...ending);
    over.add(one.hash);
  }
  if (await isOfSameChain(chain, open, places.foundTransactions, tip)) yield events;
}

/**
 * Whether what was found since the tip was read is of the tip's chain, as what stands is. Of two chains, what
 * the first alone has would be taken to stand below what the second has, for ever.
 */
async function isOfSameChain(
  chain: ChainReader,
  open: readonly WalletTransaction[],
  found: readonly NonNullable<FoundTransaction>[],
  tip: Block,
): Promise<boolean> {
  const others = found.filter(
    ({ blockHeight, blockHash }) => blockHashAt(tip, blockHeight) !== blockHash,
  );
  if (others.length === 0) return true;
  if (others.some(({ blockHeight }) => blockHashAt(tip, blockHeight) !== undefined)) return false;
  const isAbove = ({ blockHeight }: { blockHeight: number | null }) =>
    (blockHeight ?? 0) > tip.height;
  // Nobody has looked whether those stand that are above the tip already.
  if (others.some(isAbove) && open.some((one) => isInBlock(one) && isAbove(one))) return false;
  return (await chain.block(tip.height))?.hash === tip.hash;
}

/**
 * Finds pending transactions whose input a transaction in a block has spent, by the features' records.
 *
 * @throws transient errors
 */
export async function findReplacedTransactions(
  { features, vkey: wallet, requestId }: Pick<WalletPorts, "features" | "vkey" | "requestId">,
  open: readonly WalletTransaction[],
): Promise<TransactionEvent[]> {
  const waiting = open.filter(({ phase }) => isPending(phase));
  const spent = await Promise.all(
    features.map(async (feature) => {
      const isOurs = (one: { feature: string }) => one.feature === feature.name;
      const mine = waiting.filter(({ tasks }) => tasks.some(isOurs));
      const ids = mine.flatMap(({ tasks }) => tasks.filter(isOurs).map(({ id }) => id));
      const inputs = mine.flatMap((one) => one.inputs);
      if (mine.length === 0 || !feature.selectForeignSpent) return [];
      const { result, errors } = await isolateFailures(
        ids,
        async (some) => (await feature.selectForeignSpent?.(some, inputs)) ?? [],
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

const isInBlock = ({ phase }: WalletTransaction) => isInChain(phase) || phase === "Failed";

/** Those whose block another one has replaced. What the provider does not show yet is not gone. */
async function findReorgedTransactions(
  chain: ChainReader,
  open: readonly WalletTransaction[],
  tip: Block,
): Promise<ReadonlySet<WalletTransaction>> {
  const gone = new Set<WalletTransaction>();
  const byBlock = Map.groupBy(open.filter(isInBlock), ({ blockHash }) => blockHash);
  const newestFirst = [...byBlock].sort(
    ([, [a]], [, [b]]) => (b?.blockHeight ?? 0) - (a?.blockHeight ?? 0),
  );
  for (const [hash, ones] of newestFirst) {
    const height = ones[0]?.blockHeight ?? 0;
    const there = blockHashAt(tip, height) ?? (await readBlockUpTo(chain, height, tip))?.hash;
    if (there === hash) break;
    if (there !== undefined) for (const one of ones) gone.add(one);
  }
  return gone;
}

const readBlockUpTo = (chain: ChainReader, height: number, tip: Block) =>
  height > tip.height ? null : chain.block(height);

type FoundTransaction = Awaited<ReturnType<ChainReader["transaction"]>>;

/**
 * The blocks of transactions, with at most one call for each. If the first and the last of a chain of
 * spends are in one block, so are all between them.
 */
class InclusionCache {
  readonly #chain: ChainReader;
  readonly #found = new Map<string, FoundTransaction>();
  /** What spends from a transaction and waits for a block too. */
  readonly #spenders: ReadonlyMap<string, WalletTransaction>;

  constructor(chain: ChainReader, waiting: readonly WalletTransaction[]) {
    this.#chain = chain;
    this.#spenders = new Map(
      waiting.flatMap((one) => one.inputs.map((input) => [txHashOf(input), one] as const)),
    );
  }

  /** How many were asked for. */
  get requestCount(): number {
    return this.#found.size;
  }

  /** What some block has of all that was asked for. */
  get foundTransactions(): NonNullable<FoundTransaction>[] {
    return [...this.#found.values()].filter((one) => one !== null);
  }

  async find(one: WalletTransaction): Promise<FoundTransaction> {
    const foundTransactions = await this.#load(one);
    if (foundTransactions?.validContract) await this.#fillSameBlock(one, foundTransactions);
    return foundTransactions;
  }

  async #load({ hash }: WalletTransaction): Promise<FoundTransaction> {
    const known = this.#found.get(hash);
    if (known !== undefined) return known;
    const foundTransactions = await this.#chain.transaction(hash);
    this.#found.set(hash, foundTransactions);
    return foundTransactions;
  }

  async #fillSameBlock(
    first: WalletTransaction,
    found: NonNullable<FoundTransaction>,
  ): Promise<void> {
    const descendants: WalletTransaction[] = [];
    for (let one = this.#spenders.get(first.hash); one; one = this.#spenders.get(one.hash))
      descendants.push(one);
    const last = descendants.pop();
    if (!last || descendants.every(({ hash }) => this.#found.has(hash))) return;
    const end = await this.#load(last);
    if (!end?.validContract || end.blockHash !== found.blockHash) return;
    for (const { hash } of descendants) this.#found.set(hash, { ...found, hash });
  }
}

async function findInclusion(
  places: InclusionCache,
  one: WalletTransaction,
  tip: Block,
  threshold: number,
): Promise<TransactionEvent[]> {
  const found = await places.find(one);
  if (found === null) return [];
  const { blockHeight, blockHash, blockTime, validContract } = found;
  const facts = { blockHeight, blockHash, blockTime };
  if (!validContract) return [{ hash: one.hash, event: "ScriptFailed", facts }];
  return [
    { hash: one.hash, event: "Seen", facts },
    ...createDepthEvents({ ...one, ...facts }, tip, threshold),
  ];
}

function createDepthEvents(
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
function createExpiryEvents(
  { hash, phase, validTo, overHeight }: WalletTransaction,
  tip: Block,
): TransactionEvent[] {
  if (tip.slot <= validTo + PROVIDER_LAG_SLOTS) return [];
  if (overHeight === null)
    return [{ hash, event: "Over", facts: { overHeight: tip.height, ...toExpiryFacts(phase) } }];
  const isBuried =
    PHASE_TRANSITIONS[phase].Impossible !== undefined && tip.height - overHeight >= FINAL_DEPTH;
  if (isBuried) return [{ hash, event: "Buried" }];
  return isPending(phase) ? [{ hash, event: "Over", facts: toExpiryFacts(phase) }] : [];
}

const toExpiryFacts = (phase: WalletTransaction["phase"]) =>
  isPending(phase) ? { error: "the network did not accept the transaction in time" } : {};
