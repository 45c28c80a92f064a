import type { Block, ProtocolParameters, Provider } from "../../../chain/provider/provider.ts";
import { toWalletOutputs } from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import { isActive, isOpen } from "../../model/phases.ts";
import type { OwnOutput, WalletTransaction } from "../../model/wallet-transaction.ts";
import type { ForeignSpend } from "../store/wallet.ts";
import { Measurements } from "./measurements.ts";
import { TaskBackoff } from "./task-backoff.ts";

/** How long what the provider has shown is good enough. */
const OUTPUTS_MAX_AGE_MS = 60_000;
/** The same for protocol parameters, which change with an epoch. */
const PARAMETERS_MAX_AGE_MS = 5 * 60_000;

/** The same for the tip: each task wakes the wallet, and blocks are some twenty seconds apart. */
const TIP_MAX_AGE_MS = 2_000;

/** What is known of the node that evaluates scripts. */
export interface Evaluator {
  /** Whether it knows outputs of its mempool: so it is taken to do until it says that it does not. */
  knowsMempool: boolean;
}

/** What a transaction needs of a block: bytes, and units of memory. */
export type BlockSpace = Pick<WalletTransaction, "size" | "memory">;

/** A wallet's outputs as the provider showed them last, and what it tells all alike, kept between runs. */
export class OutputView {
  readonly evaluator: Evaluator = { knowsMempool: true };
  readonly measurements = new Measurements();
  readonly backoff = new TaskBackoff();
  /** Up to which tip (hash) what became of the wallet's transactions was looked for last, and when. */
  lastPoll: { tip: string; at: number } | null = null;
  /**
   * The room in a block that a feature's last transaction needs, by the feature's name. While there is no
   * room, the feature's transactions are not built again.
   */
  readonly requiredBlockSpace = new Map<string, BlockSpace>();
  #snapshot: { outputs: readonly WalletOutput[]; at: number } | null = null;
  #lastOutputs: readonly WalletOutput[] = [];
  #tip: { block: Block; at: number } | null = null;
  #parameters: { read: ProtocolParameters; epoch: number; at: number } | null = null;

  /**
   * Asks the provider at most once a minute.
   *
   * @param now - epoch milliseconds
   */
  async read(
    provider: Pick<Provider, "addressUtxos">,
    address: string,
    now: number,
  ): Promise<readonly WalletOutput[]> {
    if (this.#snapshot === null || now - this.#snapshot.at >= OUTPUTS_MAX_AGE_MS)
      this.#snapshot = { outputs: toWalletOutputs(await provider.addressUtxos(address)), at: now };
    this.#lastOutputs = this.#snapshot.outputs;
    return this.#lastOutputs;
  }

  /**
   * Asks for the tip at most every two seconds.
   *
   * @param now - epoch milliseconds
   */
  async loadTip(provider: Pick<Provider, "latestBlock">, now: number): Promise<Block> {
    if (this.#tip === null || now - this.#tip.at >= TIP_MAX_AGE_MS)
      this.#tip = { block: await provider.latestBlock(), at: now };
    return this.#tip.block;
  }

  /**
   * Asks for the protocol parameters at most every five minutes, and in each epoch.
   *
   * @param epoch - names it: the slot with which it ends
   * @param now - epoch milliseconds
   */
  async loadParameters(
    provider: Pick<Provider, "protocolParameters">,
    epoch: number,
    now: number,
  ): Promise<ProtocolParameters> {
    const known = this.#parameters;
    if (known?.epoch === epoch && now - known.at < PARAMETERS_MAX_AGE_MS) return known.read;
    const read = await provider.protocolParameters();
    this.#parameters = { read, epoch, at: now };
    return read;
  }

  /** What it has shown last, forgotten or not. */
  get lastOutputs(): readonly WalletOutput[] {
    return this.#lastOutputs;
  }

  /** Whether it was read at a time or later, epoch milliseconds. */
  wasReadSince(time: number): boolean {
    return this.#snapshot !== null && this.#snapshot.at >= time;
  }

  /** Has the provider asked again: funds are short, or what it showed is not what is there. */
  invalidate(): void {
    this.#snapshot = null;
    this.#tip = null;
    this.#parameters = null;
  }
}

/**
 * Derives the outputs that a wallet can spend. These are the provider's outputs without those that open
 * transactions spend, and with those that they make.
 *
 * @param shown - the provider's view, which may lag.
 * @param transactions - all transactions that are not final.
 * @param foreignSpends - outputs that foreign transactions have spent.
 * @param reserved - names of outputs of which nothing is built.
 */
export function deriveOwnOutputs(
  shown: readonly WalletOutput[],
  transactions: readonly WalletTransaction[],
  foreignSpends: readonly Pick<ForeignSpend, "output">[],
  reserved: ReadonlySet<string>,
): WalletOutput[] {
  const open = transactions.filter(({ phase }) => isOpen(phase));
  const living = open.filter(({ phase }) => isActive(phase));
  const failed = open.filter(({ phase }) => phase === "Failed");
  const made = [
    ...living.flatMap(({ hash, made: own }) => own.map((one) => toWalletOutput(hash, one))),
    ...failed.flatMap(({ hash, collateral }) =>
      collateral ? [toWalletOutput(hash, collateral.returned)] : [],
    ),
  ];
  const spent = new Set([
    ...living.flatMap(({ inputs }) => inputs),
    ...failed.flatMap(({ collateral }) => collateral?.inputs ?? []),
  ]);
  // What an ended transaction made is not there, whatever a node that is late says.
  const ended = new Set(open.filter((one) => !living.includes(one)).map(({ hash }) => hash));
  const there = shown.filter(({ txHash }) => !ended.has(txHash));
  const lost = new Set(foreignSpends.map(({ output }) => output));
  const left = made.filter((one) => !lost.has(formatOutputReference(one)));
  const all = new Map([...there, ...left].map((one) => [formatOutputReference(one), one]));
  return [...all].flatMap(([name, one]) => (spent.has(name) || reserved.has(name) ? [] : [one]));
}

function toWalletOutput(txHash: string, { index, value }: OwnOutput): WalletOutput {
  return { txHash, index, value };
}
