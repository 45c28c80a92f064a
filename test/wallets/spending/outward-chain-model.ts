import type { WalletOutput } from "../../../src/chain/transaction/transaction-plan.ts";
import { isInChain, isOpen, isPending, progressOf } from "../../../src/wallets/model/phases.ts";
import {
  toTaskKey,
  type WalletTransaction,
} from "../../../src/wallets/model/wallet-transaction.ts";
import { deriveOwnOutputs } from "../../../src/wallets/spending/context/output-view.ts";
import {
  applyEvents,
  type TransactionEvent,
} from "../../../src/wallets/spending/model/apply-events.ts";
import {
  advanceChainRoot,
  mayMoveChainRoot,
  type OutwardPosition,
} from "../../../src/wallets/spending/model/outward-chain.ts";
import { transaction } from "./transactions.ts";

/** What can happen to a wallet and its transactions, each with a number that says to which. */
export const STORY_ACTIONS = [
  "ask",
  "build",
  "build",
  "build",
  "refuse",
  "expire",
  "land",
  "land",
  "look",
  "look",
  "rollback",
  "bury",
  "foreign",
  "save",
  "restore",
] as const;
export type StoryAction = readonly [kind: (typeof STORY_ACTIONS)[number], n: number];

export type Rule = (
  tasks: readonly string[],
  root: string,
  transactions: readonly WalletTransaction[],
) => OutwardPosition;

/** The wallet's knowledge, as its database has it. */
interface Known {
  root: string;
  open: WalletTransaction[];
  tasks: ReadonlyMap<string, "Asked" | "UnderWay" | "Landed">;
}

interface Landed {
  hash: string;
  inputs: readonly string[];
}

const FIRST = 4;
const named = (name: string): WalletOutput => {
  const [txHash = "", index] = name.split("#");
  return { txHash, index: Number(index), value: new Map([["", 1n]]) };
};

/** A wallet whose transactions some network takes or not, and which learns of it late or never. */
export class OutwardChainModel {
  readonly #rule: Rule;
  /** Every transaction that was ever stored, whatever the wallet knows of it now. */
  readonly #stored = new Map<string, WalletTransaction>();
  /** Those that no block can take any more. */
  readonly #impossible = new Set<string>();
  /** Tasks that the chain has shown to be done, for good, while the wallet stood still. */
  readonly #settled = new Set<string>();
  #chain: Landed[] = [];
  /** So many of the chain are final. */
  #final = 0;
  #known: Known = { root: "genesis#0", open: [], tasks: new Map() };
  #saved: Known = this.#known;
  #count = 0;

  constructor(rule: Rule) {
    this.#rule = rule;
  }

  do([kind, n]: StoryAction): void {
    switch (kind) {
      case "ask":
        this.#setTasks([[`t${++this.#count}`, "Asked"]]);
        break;
      case "build":
        this.#build(n);
        break;
      case "refuse":
        this.#happenToWaiting(n, "Refused");
        break;
      case "expire":
        this.#happenToWaiting(n, "Over");
        break;
      case "land":
        this.#land(n);
        break;
      case "look":
        this.#look();
        break;
      case "rollback":
        this.#chain = this.#chain.slice(0, Math.max(this.#final, this.#chain.length - (n % 4)));
        break;
      case "bury":
        this.#bury();
        break;
      case "foreign":
        this.#spendByStranger(n);
        break;
      case "save":
        this.#saved = this.#known;
        break;
      case "restore":
        this.#restore();
    }
  }

  /** Lands all that can land in an order that a number gives. @returns tasks that landed twice */
  doneTwice(order: number): string[] {
    const chain = this.#chain.slice(0, this.#final);
    const candidates = [...this.#stored.values()].filter(({ hash }) => !this.#impossible.has(hash));
    let state = order;
    const shuffled = candidates
      .map((one) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return { one, at: state };
      })
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
    // As often as it takes for children that came before their parents.
    for (let landed = -1; landed !== chain.length; ) {
      landed = chain.length;
      for (const { hash, inputs } of shuffled)
        if (this.#fits(chain, { hash, inputs })) chain.push({ hash, inputs });
    }
    const done = chain.flatMap(({ hash }) => this.#stored.get(hash)?.tasks.map(toTaskKey) ?? []);
    return done.filter((task, i) => done.indexOf(task) !== i);
  }

  #build(n: number): void {
    const { root, open, tasks } = this.#known;
    const asked = [...tasks].filter(([, state]) => state === "Asked").map(([key]) => key);
    const chosen = asked.slice(n % Math.max(asked.length, 1)).slice(0, 1 + (n % 2));
    if (chosen.length === 0) return;
    const shown = deriveOwnOutputs(this.#unspent().map(named), open, [], new Set()).map(
      ({ txHash, index }) => `${txHash}#${index}`,
    );
    const start = shown.includes(root) || !mayMoveChainRoot(open) ? root : shown[0];
    if (start === undefined) return;
    const context = this.#rule(
      chosen.map((id) => toTaskKey({ feature: "pay", id })),
      start,
      open,
    );
    if (!("output" in context) || !shown.includes(context.output)) return;
    // More inputs, as a wallet needs them that holds many small outputs.
    const more = shown.filter((one, i) => one !== context.output && (n >> (i + 2)) % 2 === 1);
    const hash = `tx${++this.#count}`;
    const value = new Map([["", 1n]]);
    const stored = transaction(hash, [context.output, ...more], {
      phase: "Stored",
      sequence: this.#count,
      tasks: chosen.map((id) => ({ feature: "pay", id, detail: {} })),
      made: [0, 1].map((index) => ({ index, value })),
      chainedInput: context.output,
      changeOutput: `${hash}#0`,
      validTo: 0,
    });
    this.#stored.set(hash, stored);
    this.#known = { ...this.#known, root: start, open: [...open, stored] };
    this.#setTasks(chosen.map((key) => [key, "UnderWay"]));
  }

  #happenToWaiting(n: number, event: "Refused" | "Over"): void {
    const waiting = this.#known.open.filter(({ phase }) => isPending(phase));
    const one = waiting[n % Math.max(waiting.length, 1)];
    if (one)
      this.#learn([{ hash: one.hash, event, facts: event === "Over" ? { overHeight: 1 } : {} }]);
  }

  #land(n: number): void {
    const candidates = [...this.#stored.values()].filter(
      (one) => !this.#impossible.has(one.hash) && this.#fits(this.#chain, one),
    );
    const one = candidates[n % Math.max(candidates.length, 1)];
    if (one) this.#chain.push({ hash: one.hash, inputs: one.inputs });
  }

  /** The provider shows the chain as it is now. */
  #look(): void {
    const inChain = new Set(this.#chain.map(({ hash }) => hash));
    const gone = this.#known.open.filter(
      ({ hash, phase }) => isInChain(phase) && !inChain.has(hash),
    );
    this.#learn(gone.map(({ hash }) => ({ hash, event: "Gone" })));
    const seen = this.#known.open.filter(({ hash }) => inChain.has(hash));
    this.#learn(
      seen.flatMap(({ hash }): TransactionEvent[] => [
        { hash, event: "Seen" },
        { hash, event: "Deep" },
      ]),
    );
  }

  /** So many blocks stand above everything that it stays, and what is over can never come. */
  #bury(): void {
    this.#final = this.#chain.length;
    this.#look();
    const inChain = new Set(this.#chain.map(({ hash }) => hash));
    for (const { hash, overHeight } of this.#known.open)
      if (overHeight !== null && !inChain.has(hash)) this.#impossible.add(hash);
    this.#learn(
      this.#known.open
        .filter(({ hash }) => inChain.has(hash) || this.#impossible.has(hash))
        .map(({ hash }) => ({ hash, event: "Buried" })),
    );
  }

  #spendByStranger(n: number): void {
    const unspent = this.#unspent();
    const input = unspent[n % unspent.length];
    // A wallet keeps enough to go on.
    if (input !== undefined && unspent.length > 2 && n % 3 === 0)
      this.#chain.push({ hash: `stranger${++this.#count}`, inputs: [input] });
  }

  /**
   * The database is as it once was. The wallet stops until nothing sent before is valid any more, and
   * the source has followed the chain up to its tip.
   */
  #restore(): void {
    this.#known = this.#saved;
    const knows = new Set(this.#known.open.map(({ hash }) => hash));
    const inChain = new Set(this.#chain.map(({ hash }) => hash));
    for (const { hash } of this.#stored.values())
      if (!knows.has(hash) && !inChain.has(hash)) this.#impossible.add(hash);
    this.#final = this.#chain.length;
    this.#look();
    const landed = this.#chain.flatMap(({ hash }) => this.#stored.get(hash)?.tasks ?? []);
    this.#setTasks(landed.map(({ id }) => [id, "Landed"]));
    for (const { id } of landed) this.#settled.add(id);
  }

  #learn(events: readonly TransactionEvent[]): void {
    const { transactions, updates } = applyEvents(this.#known.open, events, 0);
    this.#known = {
      ...this.#known,
      root: advanceChainRoot(this.#known.root, transactions),
      open: transactions.filter(({ phase }) => isOpen(phase)),
    };
    const STATES = { UnderWay: "UnderWay", Landed: "Landed", Ended: "Asked" } as const;
    this.#setTasks(
      updates.flatMap(({ task, transaction }) =>
        this.#settled.has(task.id) ? [] : [[task.id, STATES[progressOf(transaction.phase)]]],
      ),
    );
  }

  #setTasks(changes: [string, "Asked" | "UnderWay" | "Landed"][]): void {
    this.#known = { ...this.#known, tasks: new Map([...this.#known.tasks, ...changes]) };
  }

  #unspent(): string[] {
    const spent = new Set(this.#chain.flatMap(({ inputs }) => inputs));
    return [
      ...Array.from({ length: FIRST }, (_, i) => `genesis#${i}`),
      ...this.#chain.flatMap(({ hash }) =>
        this.#stored.has(hash) ? [`${hash}#0`, `${hash}#1`] : [],
      ),
    ].filter((one) => !spent.has(one));
  }

  #fits(chain: readonly Landed[], { hash, inputs }: Landed): boolean {
    const made = new Set(chain.map((one) => one.hash));
    const spent = new Set(chain.flatMap((one) => one.inputs));
    return (
      !made.has(hash) &&
      inputs.every(
        (input) =>
          !spent.has(input) &&
          (input.startsWith("genesis#") || made.has(input.split("#")[0] ?? "")),
      )
    );
  }
}
