/**
 * A Preprod chain in memory: the emulator decides what the ledger accepts, blocks record what it accepted.
 */
import { type Block, genesisBlock, nextBlock, slotAt } from "./blocks.ts";
import { type Evaluation, evaluateScripts, type Ledger, openLedger } from "./emulator.ts";
import { type GenesisFunds, genesisOutputs } from "./genesis.ts";
import type { ChainEvent, Journal } from "./journal.ts";
import { LedgerRejection } from "./rejection.ts";
import {
  type AssetQuantity,
  type LedgerOutput,
  type LedgerTransaction,
  type OutputReference,
  readTransaction,
} from "./transaction.ts";
import { LedgerView, outputKey } from "./view.ts";

export interface DevnetChainOptions {
  /** What the chain starts with. */
  funds: GenesisFunds[];
  /** Chains of different seeds never share a transaction or block hash. Default `""`. */
  seed?: string;
  /** Puts each accepted transaction into a block of its own at once. Default false. */
  autoMine?: boolean;
  /** What has happened to the chain before, which it takes up, and where it notes what happens. */
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
  /** Hashes of those that the ledger took again. */
  accepted: string[];
  rejected: { hash: string; reason: string }[];
}

/** Which of the chain's pasts a node shows. */
export interface ViewOptions {
  /** Blocks by which the node lags behind the tip; it stops at the genesis block. */
  behind?: number;
  /** An abandoned fork: 0 is what the last rollback took back, 1 the one before. */
  fork?: number;
}

export interface Chain {
  /**
   * Hands a transaction (CBOR) to the ledger, whose rules decide at the slot of `now()`. An
   * accepted one waits in the mempool until `mine()`, and its outputs may be spent meanwhile.
   *
   * @returns the transaction's hash, hex.
   * @throws LedgerRejection, its message starting with the node's name of the rule.
   */
  submit(cbor: Uint8Array): string;
  /**
   * Runs the scripts of an unsigned or signed transaction.
   *
   * @throws LedgerRejection when one fails, or an input is unknown.
   */
  evaluate(cbor: Uint8Array): Evaluation[];
  /** Puts every transaction of the mempool into one new block; it may be empty. */
  mine(): Block;
  tip(): Block;
  /** Spendable outputs of an address (bech32), with the mempool counted in: oldest first. */
  utxosAt(address: string): Utxo[];
  /**
   * Takes back the last `blocks` blocks and empties the mempool.
   *
   * @returns the transactions that are gone, CBOR, in the order they were accepted.
   * @throws RangeError when there are not as many blocks above the genesis block.
   */
  rollback(blocks: number): Uint8Array[];
  /**
   * Submits again what `rollback()` returned. Each transaction is judged at the slot at which it
   * was accepted first: on a real chain a fork lasts seconds, here the clock may have jumped past
   * a validity interval since.
   */
  replay(transactions: readonly Uint8Array[]): Replay;
  /** The ledger's clock in epoch milliseconds: wall time plus what `advance()` added. */
  now(): number;
  /** Moves the ledger's clock forward; what is mined from then on has the later time. */
  advance(milliseconds: number): void;
  /** The confirmed part of the chain, indexed, as it is or as a late or forked node sees it. */
  view(options?: ViewOptions): LedgerView;
}

/**
 * Makes a chain whose genesis block is its tip, or the chain that a journal tells of.
 *
 * @throws when the journal does not fit the options.
 */
export function createChain(options: DevnetChainOptions): Chain {
  const { seed = "", autoMine = false, journal } = options;
  const genesis = genesisOutputs(seed, options.funds);
  const [began, ...past] = journal?.events() ?? [];
  let offset = 0;
  const now = () => Date.now() + offset;

  const firstSlot = began?.kind === "began" ? began.slot : slotAt(now());
  let view = new LedgerView(genesis, [genesisBlock(seed, firstSlot)]);
  let mempool: LedgerTransaction[] = [];
  let ledger: Ledger = openLedger(genesis.map((entry) => ({ ...entry, cbor: entry.output.cbor })));
  /** The ledger after each block, by height. A snapshot shares its data with its neighbours. */
  let snapshots = [ledger.snapshot()];
  /** The blocks, from genesis, that each rollback left behind; the latest first. */
  const abandoned: Block[][] = [];
  /** Slot of the first acceptance, for `replay`. */
  const acceptedAt = new Map<string, number>();
  /** The view that was last asked for and is not the current one. */
  let otherView = view;
  /** The past is in the journal already, so nothing is noted until it has been taken up. */
  let note: (event: ChainEvent) => void = () => {};

  function accept(cbor: Uint8Array, slot: number): LedgerTransaction {
    const tx = decode(cbor);
    ledger.submit(cbor, slot);
    acceptedAt.set(tx.hash, acceptedAt.get(tx.hash) ?? slot);
    mempool.push(tx);
    note({ kind: "accepted", slot, cbor });
    return tx;
  }

  /** Blocks of the same second share a slot; a chain that waited would run ahead of its clock. */
  function mine(slot = Math.max(view.tip.slot, slotAt(now()))): Block {
    const block = nextBlock(view.tip, mempool, slot, abandoned.length);
    view.append(block);
    snapshots.push(ledger.snapshot());
    mempool = [];
    note({ kind: "mined", slot, hash: block.hash });
    return block;
  }

  function rollback(blocks: number): Uint8Array[] {
    const height = view.tip.height - blocks;
    if (!Number.isInteger(blocks) || blocks < 0 || height < 0) {
      throw new RangeError(`Cannot take back ${blocks} of ${view.tip.height} blocks`);
    }
    const gone = [...view.blocks.slice(height + 1).flatMap((block) => block.txs), ...mempool];
    abandoned.unshift([...view.blocks]);
    view = new LedgerView(genesis, upTo(view.blocks, height));
    snapshots = snapshots.slice(0, height + 1);
    ledger = snapshots[height]?.snapshot() ?? ledger;
    mempool = [];
    note({ kind: "rolledBack", blocks });
    return gone.map((tx) => tx.cbor);
  }

  function advance(milliseconds: number): void {
    if (!(milliseconds >= 0)) throw new RangeError("The ledger's clock only moves forward");
    offset += milliseconds;
    note({ kind: "advanced", milliseconds });
  }

  function repeat(event: ChainEvent): void {
    if (event.kind === "accepted") accept(event.cbor, event.slot);
    if (event.kind === "rolledBack") rollback(event.blocks);
    if (event.kind === "advanced") advance(event.milliseconds);
    if (event.kind === "mined" && mine(event.slot).hash !== event.hash)
      throw new Error(`block ${view.tip.height} has become another one`);
  }

  /** An output of a block or of the mempool, whether spent or not. */
  function findOutput(reference: OutputReference): LedgerOutput | undefined {
    const placed = view.output(reference)?.output;
    if (placed) return placed;
    const maker = mempool.find((tx) => tx.hash === reference.txHash);
    return maker?.produced.find(({ index }) => index === reference.index)?.output;
  }

  try {
    for (const event of past) repeat(event);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the chain that was kept does not fit this version: ${reason}`);
  }
  if (journal) note = (event) => journal.append(event);
  if (!began) note({ kind: "began", slot: firstSlot });

  return {
    now,
    mine: () => mine(),
    rollback,
    advance,
    tip: () => view.tip,

    submit(cbor) {
      const { hash } = accept(cbor, slotAt(now()));
      if (autoMine) mine();
      return hash;
    },

    evaluate(cbor) {
      const tx = decode(cbor);
      const needed = [...tx.inputs, ...tx.referenceInputs, ...tx.collateral];
      const byKey = new Map(needed.map((reference) => [outputKey(reference), reference]));
      const utxos = [...byKey.values()].map((reference) => {
        const output = findOutput(reference);
        if (!output) throw new LedgerRejection("BadInputsUTxO", `${outputKey(reference)} unknown`);
        return { ...reference, cbor: output.cbor };
      });
      return evaluateScripts(cbor, utxos);
    },

    utxosAt(address) {
      const spent = new Set(mempool.flatMap((tx) => tx.spent.map(outputKey)));
      const confirmed = [...(view.addresses.get(address)?.unspent.values() ?? [])];
      const pending = mempool.flatMap((tx) =>
        tx.produced
          .filter(({ output }) => output.address === address)
          .map(({ index, output }) => ({ txHash: tx.hash, index, output })),
      );
      return [...confirmed, ...pending]
        .filter((utxo) => !spent.has(outputKey(utxo)))
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
        try {
          accept(cbor, acceptedAt.get(hash) ?? slotAt(now()));
          if (autoMine) mine();
          replay.accepted.push(hash);
        } catch (error) {
          if (!(error instanceof LedgerRejection)) throw error;
          replay.rejected.push({ hash, reason: error.message });
        }
      }
      return replay;
    },

    view({ behind = 0, fork } = {}) {
      if (fork === undefined && behind === 0) return view;
      const blocks = fork === undefined ? view.blocks : abandoned[fork];
      if (!blocks) throw new RangeError(`No fork ${fork}: ${abandoned.length} were abandoned`);
      const wanted = upTo(blocks, Math.max(0, blocks.length - 1 - behind));
      const tip = wanted.at(-1);
      if (tip !== otherView.tip) otherView = new LedgerView(genesis, wanted);
      return otherView;
    },
  };
}

function upTo(blocks: readonly Block[], height: number): [Block, ...Block[]] {
  const [first, ...rest] = blocks.slice(0, height + 1);
  if (!first) throw new RangeError("A chain starts at height 0");
  return [first, ...rest];
}

/** @throws LedgerRejection on bytes that are no transaction, as a node that cannot decode them. */
function decode(cbor: Uint8Array): LedgerTransaction {
  try {
    return readTransaction(cbor);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new LedgerRejection("DecoderFailure", detail);
  }
}
