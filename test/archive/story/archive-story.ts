import fc from "fast-check";
import { moveFinalRecords } from "../../../src/archive/move-records.ts";
import { openArchives } from "../../../src/archive/open-archives.ts";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/model/escrow-record.ts";
import { MOVED_ESCROWS } from "../../../src/escrow/store/archived-escrows.ts";
import { readCursor } from "../../../src/escrow/sync/cursor.ts";
import { followNewTransactions } from "../../../src/escrow/sync/follower.ts";
import { runPass } from "../../../src/indexer/run-pass.ts";
import { insertCursor } from "../../../src/sources/cursor.ts";
import { wrapD1 } from "../../support/d1.ts";
import { makeRecord } from "../../support/sources/records.ts";
import { StepChain } from "./step-chain.ts";

/** Blocks that a rollback replaces at most. */
const MAX_ROLLBACK_BLOCKS = 2_160;
/** Empty blocks after which the block before a later one is final. */
export const FINAL_AFTER_BLOCKS = MAX_ROLLBACK_BLOCKS + 2;
const PASS_MS = 60_000;
/** Further than any stamp is ahead of the clock. */
const LATER_MS = 60 * 60_000;
const NETWORK = "Preprod";
export const WALLETS = ["wallet-a", "wallet-b"] as const;
const SIDES: readonly Side[] = ["payment", "payment", "purchase"];
const RECORDS = 10;

const SOURCE = {
  id: "source-a",
  network: NETWORK,
  type: "Web3ChainV1",
  contractAddress: "addr_test1wcontract",
  policyId: "00".repeat(28),
  feeReceiverAddress: null,
  feeRatePermille: 0,
  wallets: [],
} as const;

/** The databases of a service; without archives nothing moves. */
export type Databases = { DB: D1Database; ARCHIVE_1?: D1Database; ARCHIVE_2?: D1Database };

/** The call of a databases before which something happens, counted from 1; 0: none. */
export interface Disturbance<During> {
  stopsAt: number;
  during: { at: number; change: During } | null;
}

type ChainChange =
  | { do: "step"; picks: number[]; isEnd: boolean }
  | { do: "grow"; blocks: number }
  | { do: "replace"; blocks: number; kept: boolean[] };
/** Another run of the mover. */
export type PlainMove = { do: "move"; isFirstFull: boolean };
export type Change =
  | (ChainChange & Disturbance<PlainMove>)
  | (PlainMove & Disturbance<ChainChange | PlainMove>);

const picks = fc.array(fc.nat(RECORDS - 1), { minLength: 1, maxLength: 4 });
const chainChange: fc.Arbitrary<ChainChange> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("step"), picks, isEnd: fc.constant(false) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("step"), picks, isEnd: fc.constant(true) }) },
  // Blocks beyond a rollback make records final.
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("grow"),
      blocks: fc.constantFrom(1, 30, MAX_ROLLBACK_BLOCKS, ...Array(3).fill(FINAL_AFTER_BLOCKS)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("replace"),
      blocks: fc.constantFrom(1, 2, 3, 31, MAX_ROLLBACK_BLOCKS - 1, MAX_ROLLBACK_BLOCKS),
      kept: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    }),
  },
);
export const plainMove: fc.Arbitrary<PlainMove> = fc.record({
  do: fc.constant("move"),
  isFirstFull: fc.boolean(),
});

export function disturbed<One extends object, During>(
  one: fc.Arbitrary<One>,
  change: fc.Arbitrary<During>,
): fc.Arbitrary<One & Disturbance<During>> {
  const disturbance = fc.record({
    stopsAt: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })),
    during: fc.option(fc.record({ at: fc.integer({ min: 1, max: 10 }), change })),
  });
  return fc.tuple(one, disturbance).map(([a, b]) => ({ ...a, ...b }));
}

/** What happens to records, and what happens meanwhile. */
export const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: disturbed(chainChange, plainMove) },
  { weight: 3, arbitrary: disturbed(plainMove, fc.oneof(chainChange, plainMove)) },
);

export const UNDISTURBED = { stopsAt: 0, during: null };

/** Numbers its calls, before one of which the process stops or something else happens. */
export class Disturbed<During> {
  readonly #disturbance: Disturbance<During>;
  readonly #apply: (change: During) => Promise<void>;
  #calls = 0;
  isStopped = false;

  constructor(disturbance: Disturbance<During>, apply: (change: During) => Promise<void>) {
    this.#disturbance = disturbance;
    this.#apply = apply;
  }

  wrap(databases: Databases): Databases {
    return mapDatabases(databases, (d1) => wrapD1(d1, (_, run) => this.#call(run)));
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    const { stopsAt, during } = this.#disturbance;
    const call = ++this.#calls;
    if (this.isStopped || call === stopsAt) this.#stop();
    if (call === during?.at) await this.#apply(during.change);
    const result = await run();
    // A process may stop once the database has done what it asked for.
    if (call + 1 === stopsAt && call % 2 === 0) this.#stop();
    return result;
  }

  #stop(): never {
    this.isStopped = true;
    throw new Error("the process was stopped");
  }
}

function mapDatabases(databases: Databases, map: (d1: D1Database) => D1Database): Databases {
  const entries = Object.entries(databases).map(([name, d1]) => [name, map(d1)]);
  return Object.fromEntries(entries) as Databases;
}

/** The records that a story may have, before their first step. */
export function makeRecords(): EscrowRecord[] {
  return Array.from({ length: RECORDS }, (_, i) => {
    const id = newId(Date.now());
    const wallet = {
      id: WALLETS[i % WALLETS.length] ?? "",
      vkey: "22".repeat(28),
      address: "addr",
    };
    return makeRecord(SIDES[i % SIDES.length] ?? "payment", { id, wallet });
  });
}

/** A service that follows a chain and may have archives. What follows, brings back and moves is the service's code. */
export class ArchiveStory {
  readonly #databases: Databases;
  readonly #chain: StepChain;
  readonly #records: readonly EscrowRecord[];

  private constructor(databases: Databases, records: readonly EscrowRecord[], chain: StepChain) {
    this.#databases = databases;
    this.#records = records;
    this.#chain = chain;
  }

  static async begin(
    databases: Databases,
    records: readonly EscrowRecord[],
    chain = new StepChain(),
  ): Promise<ArchiveStory> {
    await openDb(databases as never).batch(insertCursor(SOURCE, null));
    return new ArchiveStory(databases, records, chain);
  }

  /** Another service that follows the same chain. */
  beginBeside(databases: Databases): Promise<ArchiveStory> {
    return ArchiveStory.begin(databases, this.#records, this.#chain);
  }

  /** @param follow - lets the service follow the chain after a change of it */
  async apply(change: Change, follow: (disturbance: Disturbance<PlainMove>) => Promise<void>) {
    const { stopsAt, during } = change;
    if (change.do === "move") {
      const inner = (one: ChainChange | PlainMove) =>
        this.apply({ ...one, ...UNDISTURBED } as Change, follow);
      await this.move(change, { stopsAt, during } as Disturbance<ChainChange | PlainMove>, inner);
      return;
    }
    if (change.do === "step") {
      const picked = [...new Set(change.picks)].flatMap((i) => this.#records[i] ?? []);
      const onChainState = change.isEnd ? "Withdrawn" : "ResultSubmitted";
      this.#chain.add(picked.map((record) => ({ record, onChainState })));
    } else if (change.do === "grow") this.#chain.grow(change.blocks);
    else this.#chain.replace(change.blocks, (i) => change.kept[i % change.kept.length] ?? false);
    await follow({ stopsAt, during } as Disturbance<PlainMove>);
  }

  /** Moves what is final, and again once the mover was stopped. */
  async move<During>(
    { isFirstFull }: Omit<PlainMove, "do">,
    disturbance: Disturbance<During>,
    apply: (change: During) => Promise<void>,
  ): Promise<void> {
    const disturbed = new Disturbed(disturbance, apply);
    const { ARCHIVE_1, ...others } = disturbed.wrap(this.#databases);
    const first = ARCHIVE_1 && isFirstFull ? fill(ARCHIVE_1) : ARCHIVE_1;
    const bindings = { ...others, ...(first && { ARCHIVE_1: first }), ARCHIVE_AFTER_MINUTES: "0" };
    const now = Date.now() + LATER_MS;
    try {
      await moveFinalRecords(bindings as never, [MOVED_ESCROWS], now, Date.now() + PASS_MS);
    } catch (error) {
      if (!disturbed.isStopped) throw error;
    }
  }

  /**
   * Follows the chain up to its tip: once more if the process was stopped.
   *
   * @param now - epoch milliseconds
   */
  async follow(now: number, disturbance: Disturbance<PlainMove>): Promise<void> {
    const disturbed = new Disturbed(disturbance, (change) =>
      this.move(change, UNDISTURBED, async () => {}),
    );
    try {
      await this.#runPass(disturbed.wrap(this.#databases), now);
    } catch (error) {
      if (!disturbed.isStopped) throw error;
      await this.#runPass(this.#databases, now);
    }
  }

  async #runPass(databases: Databases, now: number): Promise<void> {
    const chain = this.#chain;
    const db = openDb(databases as never, NETWORK);
    const cursor = await readCursor(db, SOURCE.id);
    if (!cursor) throw new Error("the source has no cursor");
    const context = {
      db,
      provider: chain.provider,
      source: { ...SOURCE, wallets: [] },
      archives: openArchives(databases as never),
      threshold: 1,
      warnBeforeMs: 0,
      now: () => now,
      onCommit: async () => {},
    };
    const follower = {
      ...followNewTransactions(context, cursor),
      list: async (recent: readonly (typeof cursor.recent)[number][]) =>
        chain.list(recent.at(-1) ?? null),
      read: async (at: Parameters<StepChain["read"]>[0]) => chain.read(at),
      blockOf: async (read: Parameters<StepChain["blockOf"]>[0]) => chain.blockOf(read),
      apply: async (...[changes, read]: Parameters<StepChain["apply"]>) => {
        chain.apply(changes, read);
        return true;
      },
      async *listAbove(checkpoint: { height: number } | null) {
        for (const at of chain.list(null))
          if (at.blockHeight > (checkpoint?.height ?? -1))
            yield {
              position: [at.blockHeight, at.txIndex, at.txHash] as const,
              blockTime: at.blockTime,
            };
      },
    };
    if (await runPass(follower, chain.tip, now + PASS_MS))
      throw new Error("the pass has not come to the tip");
  }
}

/** The archive as one that has no room. */
export function fill(archive: D1Database): D1Database {
  return wrapD1(archive, async (_, run) => {
    const result = await run();
    for (const one of [result].flat()) (one as D1Result).meta.size_after = 1e12;
    return result;
  });
}
