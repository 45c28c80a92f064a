/**
 * A Preprod chain in memory: the emulator decides what the ledger accepts, blocks record what it accepted.
 */
import { type Block, genesisBlock, nextBlock, slotAt } from "./blocks.ts";
import { Clock, type ClockState } from "./clock.ts";
import { decode } from "./decode.ts";
import { type Evaluation, openLedger } from "./emulator.ts";
import { evaluate } from "./evaluation.ts";
import { type GenesisFunds, genesisOutputs } from "./genesis.ts";
import type { ChainEvent, Journal } from "./journal.ts";
import { type Limits, lowerLimits, requireWithinLimits } from "./limits.ts";
import { Mempool, MempoolFull } from "./mempool.ts";
import { LedgerRejection } from "./rejection.ts";
import type { AssetQuantity, OutputReference } from "./transaction.ts";
import { LedgerView } from "./view.ts";

export interface DevnetChainOptions {
  /** What the chain starts with. */
  funds: GenesisFunds[];
  /** Chains of different seeds never share a transaction or block hash. Default `""`. */
  seed?: string;
  /** Mines a block for each accepted transaction at once. Default false. */
  autoMine?: boolean;
  /** When the chain begins, epoch milliseconds; default now. */
  begins?: number;
  /** Whether its clock runs with the wall clock, or stops until it is moved. Default `runs`. */
  clock?: ClockState["kind"];
  /** Limits below the network's; see `limits.ts`. */
  limits?: Partial<Limits>;
  /** The earlier events of the chain, which it repeats, and to which it appends new events. */
  journal?: Journal;
}

/** An output that nobody has spent. */
export interface Utxo extends OutputReference {
  address: string;
  amount: AssetQuantity[];
  dataHash: string | null;
  /** CBOR in hex. */
  inlineDatum: string | null;
  /** The output as the ledger's CBOR has it. */
  cbor: Uint8Array;
}

export interface Replay {
  /** Hashes of the transactions that the ledger accepted again. */
  accepted: string[];
  rejected: { hash: string; reason: string }[];
}

/** Which past of the chain a node shows. */
export interface ViewOptions {
  /** Blocks by which the node lags behind the tip; it stops at the genesis block. */
  behind?: number;
  /** An abandoned fork: 0 for the last rollback, 1 for the one before. */
  fork?: number;
}

export interface MineOptions {
  /** The node that makes it, from its own mempool; default 0. */
  node?: number;
  /** Hashes of transactions whose scripts its producer finds failing: they cost their collateral. */
  failed?: readonly string[];
}

/**
 * Several nodes follow the same chain. Each has a number and a mempool. Only node 0 exists from the start. Nodes
 * exchange transactions only by `gossip()`.
 */
export interface Chain {
  /** What a transaction and a block may hold. */
  readonly limits: Limits;
  /** Whether a block is mined for each accepted transaction at once. It may be changed. */
  autoMine: boolean;
  /**
   * Submits a transaction (CBOR) to a node, whose ledger validates it at the slot of `now()`. An accepted
   * transaction waits in the node's mempool until `mine()`. Other transactions may spend its outputs meanwhile.
   *
   * @returns the transaction's hash, hex.
   * @throws LedgerRejection, its message starting with the node's name of the rule; MempoolFull.
   */
  submit(cbor: Uint8Array, node?: number): string;
  /**
   * Runs the scripts of an unsigned or signed transaction, as node 0 would with its mempool.
   *
   * @throws LedgerRejection when one fails; UnknownInputs.
   */
  evaluate(cbor: Uint8Array): Evaluation[];
  /**
   * Makes a block of the first transactions of a mempool that fit; it may be empty. Every mempool then drops
   * transactions that conflict with the block or are no longer valid.
   *
   * @throws RangeError when a transaction of `failed` is not there, or runs no script.
   */
  mine(options?: MineOptions): Block;
  tip(): Block;
  /** Spendable outputs of an address (bech32), node 0's mempool included: oldest first. */
  utxosAt(address: string): Utxo[];
  /** Hashes of the transactions in a node's mempool, in its order. */
  mempool(node?: number): string[];
  /**
   * Drops transactions and their descendants from a node's mempool: all when none are named.
   *
   * @returns hashes of the dropped transactions.
   */
  evict(hashes?: readonly string[], node?: number): string[];
  /** Submits the transactions of every mempool to all other nodes. */
  gossip(): void;
  /**
   * Removes the last `blocks` blocks. Their transactions do not return to the mempools.
   *
   * @returns the removed transactions, CBOR, in their order
   * @throws RangeError when the chain has fewer blocks
   */
  rollback(blocks: number): Uint8Array[];
  /**
   * Submits again what `rollback()` returned. Each transaction is validated at the slot at which it was first
   * accepted. On a real chain a fork lasts seconds; here, the clock may have jumped past a validity interval.
   */
  replay(transactions: readonly Uint8Array[]): Replay;
  /** The ledger's clock in epoch milliseconds. */
  now(): number;
  /** Moves the ledger's clock forward. */
  advance(milliseconds: number): void;
  /**
   * Moves the ledger's clock to a time, epoch milliseconds.
   *
   * @throws RangeError when it would go back.
   */
  moveTo(at: number): void;
  /** Starts the ledger's clock, or stops it, at its present time. */
  setClock(kind: ClockState["kind"]): void;
  /** The confirmed part of the chain, indexed, as it is or as a late or forked node sees it. */
  view(options?: ViewOptions): LedgerView;
}

/**
 * Makes a chain with only a genesis block, or the chain of a journal.
 *
 * @throws when the journal does not fit the options.
 */
export function createChain(options: DevnetChainOptions): Chain {
  const { seed = "", journal } = options;
  const limits = lowerLimits(options.limits ?? {});
  const genesis = genesisOutputs(seed, options.funds);
  const [began, ...past] = journal?.events() ?? [];
  const clock = new Clock(options.begins ?? Date.now(), options.clock);

  const firstSlot = began?.kind === "began" ? began.slot : slotAt(clock.now());
  let view = new LedgerView(genesis, [genesisBlock(seed, firstSlot)]);
  /** The ledger after each block, by height. Blocks that change nothing share one. */
  let ledgers = [openLedger(genesis.map((entry) => ({ ...entry, cbor: entry.output.cbor })))];
  const mempools: Mempool[] = [];
  /** The blocks, from genesis, that each rollback left behind; the latest first. */
  const abandoned: Block[][] = [];
  /** Slot of the first acceptance, for `replay`. */
  const acceptedAt = new Map<string, number>();
  /** The last view that was requested other than the current one. */
  let otherView = view;
  /** The journal contains the past already, so nothing is appended until the past is repeated. */
  let note: (event: ChainEvent) => void = () => {};

  function confirmed() {
    const ledger = ledgers[view.tip.height];
    if (!ledger) throw new Error(`There is no ledger at height ${view.tip.height}`);
    return { view, ledger };
  }

  function mempoolOf(node: number): Mempool {
    for (let next = mempools.length; next <= node; next++)
      mempools.push(new Mempool(confirmed(), limits));
    const mempool = mempools[node];
    if (!mempool) throw new RangeError(`No node has the number ${node}`);
    return mempool;
  }

  function accept(cbor: Uint8Array, slot: number, node: number, isReplayed = false): string {
    const tx = decode(cbor);
    requireWithinLimits(tx, limits);
    mempoolOf(node).add(tx, slot, isReplayed);
    acceptedAt.set(tx.hash, acceptedAt.get(tx.hash) ?? slot);
    note({ kind: "accepted", slot, cbor, node, isReplayed });
    return tx.hash;
  }

  /** Blocks of the same second share a slot; a chain that waited would run ahead of its clock. */
  function mine(
    { node = 0, failed = [] }: MineOptions,
    slot = Math.max(view.tip.slot, slotAt(clock.now())),
  ): Block {
    const { txs, ledger } = mempoolOf(node).forge(slot, failed);
    const block = nextBlock(view.tip, txs, slot, abandoned.length);
    ledgers.push(txs.length === 0 ? confirmed().ledger : ledger);
    view.append(block);
    for (const mempool of mempools) mempool.rebase(confirmed());
    note({ kind: "mined", slot, hash: block.hash, node, failed });
    return block;
  }

  function evict(hashes: readonly string[] | undefined, node: number): string[] {
    const dropped = mempoolOf(node).evict(hashes);
    note({ kind: "evicted", node, ...(hashes && { hashes }) });
    return dropped.map(({ hash }) => hash);
  }

  function rollback(blocks: number): Uint8Array[] {
    const height = view.tip.height - blocks;
    if (!Number.isInteger(blocks) || blocks < 0 || height < 0) {
      throw new RangeError(`Cannot take back ${blocks} of ${view.tip.height} blocks`);
    }
    const inBlocks = view.blocks.slice(height + 1).flatMap((block) => block.txs);
    abandoned.unshift([...view.blocks]);
    view = new LedgerView(genesis, upTo(view.blocks, height));
    ledgers = ledgers.slice(0, height + 1);
    const dropped = mempools.flatMap((mempool) => mempool.rebase(confirmed()));
    note({ kind: "rolledBack", blocks });
    const gone = new Map([...inBlocks, ...dropped].map((tx) => [tx.hash, tx.cbor]));
    return [...gone.values()];
  }

  function noteClock(): void {
    note({ kind: "clock", state: clock.state });
  }

  function repeat(event: ChainEvent): void {
    switch (event.kind) {
      case "accepted":
        accept(event.cbor, event.slot, event.node, event.isReplayed);
        break;
      case "mined":
        if (mine(event, event.slot).hash !== event.hash)
          throw new Error(`block ${view.tip.height} has become another one`);
        break;
      case "evicted":
        evict(event.hashes, event.node);
        break;
      case "rolledBack":
        rollback(event.blocks);
        break;
      case "clock":
        clock.state = event.state;
        break;
      default:
        throw new Error(`nothing is known of ${event.kind}`);
    }
  }

  try {
    for (const event of past) repeat(event);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the chain that was kept does not fit this version: ${reason}`);
  }
  if (journal) note = (event) => journal.append(event);
  if (!began) {
    note({ kind: "began", slot: firstSlot });
    noteClock();
  }

  const chain: Chain = {
    limits,
    autoMine: options.autoMine ?? false,
    now: () => clock.now(),
    mine: (how = {}) => mine(how),
    rollback,
    tip: () => view.tip,
    mempool: (node = 0) => mempoolOf(node).transactions.map(({ hash }) => hash),
    evict: (hashes, node = 0) => evict(hashes, node),

    advance(milliseconds) {
      clock.advance(milliseconds);
      noteClock();
    },

    moveTo(at) {
      clock.moveTo(at);
      noteClock();
    },

    setClock(kind) {
      clock.become(kind);
      noteClock();
    },

    submit(cbor, node = 0) {
      const hash = accept(cbor, slotAt(clock.now()), node);
      if (chain.autoMine) mine({ node });
      return hash;
    },

    gossip() {
      const slot = slotAt(clock.now());
      for (const [from, { transactions }] of mempools.entries())
        for (const to of mempools.keys())
          for (const { cbor, hash } of from === to ? [] : transactions)
            if (!chain.mempool(to).includes(hash)) tryTo(() => accept(cbor, slot, to));
    },

    evaluate(cbor) {
      return evaluate(decode(cbor), (reference) => mempoolOf(0).unspent(reference)?.cbor);
    },

    utxosAt(address) {
      return mempoolOf(0)
        .unspentAt(address)
        .map(({ txHash, index, output }) => ({
          txHash,
          index,
          address,
          amount: output.amount,
          dataHash: output.dataHash,
          inlineDatum: output.inlineDatum,
          cbor: output.cbor,
        }));
    },

    replay(transactions) {
      const replay: Replay = { accepted: [], rejected: [] };
      for (const cbor of transactions) {
        const { hash } = decode(cbor);
        const slot = acceptedAt.get(hash);
        const reason = tryTo(() => accept(cbor, slot ?? slotAt(clock.now()), 0, true));
        if (reason !== null) replay.rejected.push({ hash, reason });
        else {
          replay.accepted.push(hash);
          if (chain.autoMine) mine({});
        }
      }
      return replay;
    },

    view({ behind = 0, fork } = {}) {
      if (fork === undefined && behind === 0) return view;
      const blocks = fork === undefined ? view.blocks : abandoned[fork];
      if (!blocks) throw new RangeError(`No fork ${fork}: ${abandoned.length} were abandoned`);
      const visible = upTo(blocks, Math.max(0, blocks.length - 1 - behind));
      const tip = visible.at(-1);
      if (tip !== otherView.tip) otherView = new LedgerView(genesis, visible);
      return otherView;
    },
  };
  return chain;
}

/** @returns why a node refuses; null when it does not. */
function tryTo(accept: () => void): string | null {
  try {
    accept();
    return null;
  } catch (error) {
    if (error instanceof LedgerRejection || error instanceof MempoolFull) return error.message;
    throw error;
  }
}

function upTo(blocks: readonly Block[], height: number): [Block, ...Block[]] {
  const [first, ...rest] = blocks.slice(0, height + 1);
  if (!first) throw new RangeError("A chain starts at height 0");
  return [first, ...rest];
}
