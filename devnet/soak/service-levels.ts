/** How long everything takes, with and without faults. */
import { percentile } from "../../bench/support/statistics.ts";
import { escrowsOf } from "../drills/evidence.ts";
import type { Block } from "../ledger/blocks.ts";
import type { ChainWatcher } from "./deployment.ts";

/** What is measured, in the order of the table. */
const LEVELS = [
  "purchase to node",
  "block to record",
  "record to webhook",
  "poll",
  "settle",
] as const;
export type Level = (typeof LEVELS)[number];

interface Sample {
  from: number;
  to: number;
}

export class ServiceLevels implements ChainWatcher {
  /** When the first fault began, epoch milliseconds: its consequences may last until the end. */
  faultsSince = Number.POSITIVE_INFINITY;
  readonly #samples = new Map<Level, Sample[]>();
  readonly #acceptedAt = new Map<string, number>();
  readonly #minedAt = new Map<string, number>();
  readonly #lockOf = new Map<string, string>();
  readonly #seen = new Set<string>();

  add(level: Level, from: number, to: number): void {
    const samples = this.#samples.get(level) ?? [];
    this.#samples.set(level, samples);
    samples.push({ from, to });
  }

  onAccepted(txHash: string, at: number): void {
    if (!this.#acceptedAt.has(txHash)) this.#acceptedAt.set(txHash, at);
  }

  /** A transaction that is in a block again, after a rollback, counts from its latest block. */
  onBlock(block: Block, at: number): void {
    for (const tx of block.txs) {
      this.#minedAt.set(tx.hash, at);
      for (const { signature } of escrowsOf(tx))
        if (!this.#lockOf.has(signature)) this.#lockOf.set(signature, tx.hash);
    }
  }

  /** Measures how long the lock of a purchase took to the node. @param signature - see `signatureOf` */
  addPurchase(signature: string, boughtAt: number): void {
    const at = this.#acceptedAt.get(this.#lockOf.get(signature) ?? "");
    if (at === undefined || !this.#isNew(`purchase ${signature}`)) return;
    // The wallet may be faster than the answer to its buyer.
    this.add("purchase to node", Math.min(boughtAt, at), at);
  }

  /** Measures how long a record took to show its newest transaction. @param stamp - of its change */
  addRecord(id: string, txHash: string, stamp: number): void {
    const at = this.#minedAt.get(txHash);
    if (at === undefined || stamp < at || !this.#isNew(`record ${id} ${txHash}`)) return;
    this.add("block to record", at, stamp);
  }

  /** Measures how long an event took to its receiver. @param stamp - of its change */
  addEvent(eventId: string, stamp: number, arrivedAt: number): void {
    if (this.#isNew(`event ${eventId}`)) this.add("record to webhook", stamp, arrivedAt);
  }

  /** Rows of the table: each level without faults and with them. */
  rows(): Record<string, string | number>[] {
    return LEVELS.flatMap((level) =>
      (["before the faults", "since the first fault"] as const).flatMap((when, i) => {
        const ms = (this.#samples.get(level) ?? [])
          .filter(({ to }) => to < this.faultsSince === (i === 0))
          .map(({ from, to }) => to - from);
        if (ms.length === 0) return [];
        const at = (share: number) => percentile(ms, share);
        const figures = { "p50 ms": at(0.5), "p95 ms": at(0.95), "p99 ms": at(0.99) };
        return [{ "service level": level, when, count: ms.length, ...figures }];
      }),
    );
  }

  #isNew(what: string): boolean {
    if (this.#seen.has(what)) return false;
    this.#seen.add(what);
    return true;
  }
}
