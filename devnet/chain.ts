/**
 * A chain in memory: the emulator decides what the ledger accepts, blocks record what it accepted.
 */
import { type Block, genesisBlock, nextBlock, slotAt } from "./blocks.ts";
import COST_MODELS from "./cost-models.json" with { type: "json" };
import { Emulator, encodeUtxoSet, PREPROD_SLOTS, Scalus, scalusText } from "./emulator.ts";
import { type GenesisFunds, genesisOutputs } from "./genesis.ts";
import { LedgerRejection, ledgerRejection } from "./rejection.ts";
import {
  type AssetQuantity,
  type LedgerOutput,
  type LedgerTransaction,
  type OutputReference,
  type RedeemerPurpose,
  readTransaction,
} from "./transaction.ts";
import { LedgerView, outputKey } from "./view.ts";

export interface DevnetChainOptions {
  /** Slots, addresses and protocol parameters are those of Preprod; there is no other. */
  network?: "Preprod";
  /** What the chain starts with. */
  funds: GenesisFunds[];
  /** Chains of different seeds never share a transaction or block hash. Default `""`. */
  seed?: string;
  /** Puts each accepted transaction into a block of its own at once. Default false. */
  autoMine?: boolean;
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

/** What running one script costs. */
export interface Evaluation {
  tag: RedeemerPurpose;
  index: number;
  memory: number;
  steps: number;
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

/** Makes a chain whose genesis block is its tip. */
export function createChain(options: DevnetChainOptions): Chain {
  const { seed = "", autoMine = false } = options;
  const genesis = genesisOutputs(seed, options.funds);
  let offset = 0;
  const now = () => Date.now() + offset;

  const firstBlock = genesisBlock(seed, slotAt(now()));
  let view = new LedgerView(genesis, [firstBlock]);
  let mempool: LedgerTransaction[] = [];
  const utxoSet = genesis.map((entry) => ({ ...entry, cbor: entry.output.cbor }));
  let emulator = new Emulator(encodeUtxoSet(utxoSet), PREPROD_SLOTS);
  /** The ledger after each block, by height. A snapshot shares its data with its neighbours. */
  let snapshots = [emulator.snapshot()];
  /** The blocks, from genesis, that each rollback left behind; the latest first. */
  const abandoned: Block[][] = [];
  /** Slot of the first acceptance, for `replay`. */
  const acceptedAt = new Map<string, number>();
  /** The view that was last asked for and is not the current one. */
  let otherView = view;

  function accept(cbor: Uint8Array, slot: number): LedgerTransaction {
    const tx = decode(cbor);
    emulator.setSlot(slot);
    const refusal = submitTo(emulator, cbor);
    if (refusal !== null) throw ledgerRejection(refusal, "ApplyTxError");
    acceptedAt.set(tx.hash, acceptedAt.get(tx.hash) ?? slot);
    mempool.push(tx);
    return tx;
  }

  function mine(): Block {
    const parent = view.tip;
    // Blocks of the same second share a slot; a chain that waited would run ahead of its clock.
    const slot = Math.max(parent.slot, slotAt(now()));
    const block = nextBlock(parent, mempool, slot, abandoned.length);
    view.append(block);
    snapshots.push(emulator.snapshot());
    mempool = [];
    return block;
  }

  /** An output of a block or of the mempool, whether spent or not. */
  function findOutput(reference: OutputReference): LedgerOutput | undefined {
    const placed = view.output(reference)?.output;
    if (placed) return placed;
    const maker = mempool.find((tx) => tx.hash === reference.txHash);
    return maker?.produced.find(({ index }) => index === reference.index)?.output;
  }

  return {
    now,
    mine,
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
      const redeemers = runScripts(cbor, encodeUtxoSet(utxos));
      return redeemers.map(({ tag, index, budget }) => ({
        tag: evaluationTag(tag),
        index,
        memory: Number(budget.memory),
        steps: Number(budget.steps),
      }));
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

    rollback(count) {
      const height = view.tip.height - count;
      if (!Number.isInteger(count) || count < 0 || height < 0) {
        throw new RangeError(`Cannot take back ${count} of ${view.tip.height} blocks`);
      }
      const gone = [...view.blocks.slice(height + 1).flatMap((block) => block.txs), ...mempool];
      abandoned.unshift([...view.blocks]);
      view = new LedgerView(genesis, upTo(view.blocks, height));
      snapshots = snapshots.slice(0, height + 1);
      emulator = snapshots[height]?.snapshot() ?? emulator;
      mempool = [];
      return gone.map((tx) => tx.cbor);
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

    advance(milliseconds) {
      if (!(milliseconds >= 0)) throw new RangeError("The ledger's clock only moves forward");
      offset += milliseconds;
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

/** @returns the emulator's reason when it refuses the transaction. */
function submitTo(emulator: Emulator, cbor: Uint8Array): string | null {
  try {
    const { isSuccess, error } = emulator.submitTx(cbor);
    return isSuccess ? null : (error ?? "The emulator gave no reason");
  } catch (thrown) {
    return scalusText(thrown);
  }
}

function runScripts(cbor: Uint8Array, utxoSet: Uint8Array) {
  try {
    return Scalus.evalPlutusScripts(cbor, utxoSet, PREPROD_SLOTS, COST_MODELS);
  } catch (thrown) {
    throw ledgerRejection(scalusText(thrown), "PlutusFailure");
  }
}

function evaluationTag(tag: string): RedeemerPurpose {
  const lower = tag.toLowerCase();
  if (lower === "spend" || lower === "mint") return lower;
  throw new Error(`No script of purpose ${tag} is evaluated here`);
}
