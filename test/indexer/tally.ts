import { env } from "cloudflare:workers";
import type { TransactionPosition } from "../../src/chain/provider/provider.ts";
import { openDb, statement } from "../../src/db/client.ts";
import type { Checkpoint } from "../../src/indexer/checkpoints.ts";
import { commitCursor, type FollowerTables } from "../../src/indexer/cursor.ts";
import type { Follower } from "../../src/indexer/follower.ts";
import { listPendingTransactions } from "../../src/indexer/list-pending.ts";
import { comparePositions, type Position } from "../../src/indexer/position.ts";
import { runPass } from "../../src/indexer/run-pass.ts";
import type { FakeChain, Listed } from "./fake-chain.ts";

const TABLES: FollowerTables = {
  cursor: "registry_cursor",
  revision: "tally.revision",
  hasLease: false,
  steps: { table: "tally_step", blockTime: "NULL" },
};

/** A letter in the name of a transaction. */
interface Step extends Listed {
  letter: string;
}

/** What a run of transactions does: the tallies it changes, and a step for each letter. */
interface Changes {
  tallies: Map<string, { count: number; revision: number }>;
  counted: Set<string>;
  steps: Step[];
}

const SOURCE = "source-a";
const FAR_AWAY_MS = 60_000;
/** Steps that a batch takes back, and at which it takes in no more. */
const BATCH = 3;

/** The tables of a follower that counts the letters in the names of transactions. */
export async function createTally(): Promise<void> {
  await env.DB.batch([
    env.DB.prepare(
      "CREATE TABLE IF NOT EXISTS tally (letter PRIMARY KEY, count, revision NOT NULL)",
    ),
    env.DB.prepare(
      `CREATE TABLE IF NOT EXISTS tally_step (source_id, block_height, tx_index, tx_hash, letter,
         PRIMARY KEY (tx_hash, letter))`,
    ),
    env.DB.prepare(
      `INSERT INTO registry_cursor (source_id, network, version, recent)
       VALUES ('${SOURCE}', 'Preprod', 0, '[]')`,
    ),
  ]);
}

/** What a pass may be disturbed by. */
export interface PassOptions {
  d1?: D1Database;
  threshold?: number;
  /** Called with each transaction that is read. */
  read?(txHash: string): void;
  committed?(): void;
  /** Where the provider shows a transaction in place of where it is. */
  place?(found: TransactionPosition): TransactionPosition;
  /** What the provider lists in place of what there is. */
  list?(listed: Listed[]): Listed[];
}

/** @returns whether there is more to do */
export async function pass(chain: FakeChain, options: PassOptions = {}): Promise<boolean> {
  const tally = await follow(chain, options);
  return runPass(tally, chain.tip, Date.now() + FAR_AWAY_MS);
}

/** Counts by letter, and what was counted, in chain order. */
export async function tallied(): Promise<{ counts: Record<string, number>; steps: string[] }> {
  const counts = await openDb(env).all<{ letter: string; count: number }>(
    "SELECT letter, count FROM tally WHERE count <> 0",
  );
  const steps = await openDb(env).all<{ tx: string }>(
    `SELECT tx_hash || iif(count(*) > 1, ' ' || count(*), '') AS tx FROM tally_step
     GROUP BY tx_hash ORDER BY block_height, tx_index`,
  );
  return {
    counts: Object.fromEntries(counts.map(({ letter, count }) => [letter, count])),
    steps: steps.map(({ tx }) => tx),
  };
}

/** What a chain comes to. */
export function expected(chain: FakeChain): Awaited<ReturnType<typeof tallied>> {
  const hashes = chain.transactions().map(({ txHash }) => txHash);
  const letters = Object.entries(Object.groupBy(hashes.flatMap(lettersOf), (letter) => letter));
  return {
    counts: Object.fromEntries(letters.map(([letter, all = []]) => [letter, all.length])),
    steps: hashes.map((hash) => {
      const { length } = lettersOf(hash);
      return length > 1 ? `${hash} ${length}` : hash;
    }),
  };
}

const lettersOf = (txHash: string) => txHash.match(/[a-z]/g) ?? [];

async function follow(
  chain: FakeChain,
  options: PassOptions,
): Promise<Follower<Position, Listed, Listed, Changes>> {
  const { d1 = env.DB, threshold = 1, read, committed } = options;
  const { list = (rows) => rows, place = (found) => found } = options;
  const ledger = openDb({ DB: d1 }, "Preprod", { writes: "idempotent" });
  const [row] = await ledger.all<{ version: number; recent: string; tipHash: string | null }>(
    "SELECT version, recent, tip_hash AS tipHash FROM registry_cursor",
  );
  if (!row) throw new Error("there is no cursor");
  const cursor = { ...row, sourceId: SOURCE, recent: JSON.parse(row.recent) as Position[] };
  const positionOf = ({ blockHeight, txIndex, txHash }: Listed): Position => [
    blockHeight,
    txIndex,
    txHash,
  ];
  const load = async (listed: Listed[]): Promise<Changes> => {
    const names = JSON.stringify(listed.map(({ txHash }) => txHash));
    const tallies = await ledger.all<{ letter: string; count: number; revision: number }>(
      "SELECT * FROM tally",
    );
    const counted = await ledger.all<{ name: string }>(
      `SELECT tx_hash || ' ' || letter AS name FROM tally_step
       WHERE tx_hash IN (SELECT value FROM json_each(?))`,
      names,
    );
    return {
      tallies: new Map(tallies.map(({ letter, ...one }) => [letter, one])),
      counted: new Set(counted.map(({ name }) => name)),
      steps: [],
    };
  };
  const count = ({ tallies, steps }: Changes, step: Step, by: 1 | -1) => {
    const known = tallies.get(step.letter) ?? { count: 0, revision: 0 };
    tallies.set(step.letter, { ...known, count: known.count + by });
    steps.push(step);
  };
  return {
    db: ledger,
    provider: chain.provider,
    threshold,
    now: Date.now,
    onCommit: async () => committed?.(),
    tables: TABLES,
    cursor,
    maxReads: 7,
    parallelReads: 2,
    rollbackEvent: "sync.rollback",
    async list(recent) {
      const rows = list(chain.list(recent[0]?.[0] ?? 0)).filter(
        (one) => recent[0] === undefined || comparePositions(positionOf(one), recent[0]) >= 0,
      );
      const pages = (async function* () {
        yield { rows, isLast: true };
      })();
      const isAt = (one: Listed, at: Position) => comparePositions(positionOf(one), at) === 0;
      return (await listPendingTransactions(SOURCE, recent, pages, isAt)).pending;
    },
    async read(listed) {
      read?.(listed.txHash);
      return listed;
    },
    positionOf,
    async blockOf({ txHash }) {
      const found = await chain.provider.transaction(txHash);
      if (found === null) throw new Error("the chain changed");
      return place(found);
    },
    load,
    async apply(changes, one) {
      for (const letter of lettersOf(one.txHash))
        if (!changes.counted.has(`${one.txHash} ${letter}`)) count(changes, { ...one, letter }, 1);
      return true;
    },
    isFull: ({ steps }) => steps.length >= BATCH,
    commit: ({ tallies, steps }, recent, more, done) =>
      commitCursor(
        ledger,
        TABLES,
        cursor,
        { recent },
        [
          statement(
            `INSERT INTO tally SELECT value->>0, value->>1, value->>2 FROM json_each(?) WHERE true
             ON CONFLICT (letter) DO UPDATE SET count = excluded.count,
               revision = iif(tally.revision = excluded.revision - 1, excluded.revision, NULL)`,
            JSON.stringify(
              [...tallies].map(([letter, one]) => [letter, one.count, one.revision + 1]),
            ),
          ),
          statement(
            done.length > 0
              ? `INSERT INTO tally_step SELECT '${SOURCE}', value->>0, value->>1, value->>2, value->>3
                 FROM json_each(?)`
              : `DELETE FROM tally_step WHERE (tx_hash, letter) IN
                   (SELECT value->>2, value->>3 FROM json_each(?))`,
            JSON.stringify(steps.map((step) => [...positionOf(step), step.letter])),
          ),
          ...more,
        ],
        Date.now(),
      ),
    recordTip: () => [],
    async *listAbove(checkpoint) {
      const above = checkpoint?.height ?? -1;
      for (const one of list(chain.list(0)))
        if (one.blockHeight > above) yield { position: positionOf(one) };
    },
    positionAt: ({ height, tx_index, tx_hash }: Checkpoint) => [height, tx_index, tx_hash],
    async undo(above) {
      const steps = await ledger.all<Step>(
        `SELECT tx_hash AS txHash, block_height AS blockHeight, tx_index AS txIndex, letter
         FROM tally_step WHERE block_height > ? ORDER BY block_height DESC, tx_index DESC LIMIT ${BATCH}`,
        above,
      );
      const changes = await load([]);
      for (const step of steps) count(changes, step, -1);
      return { changes, statements: [], isLast: steps.length < BATCH };
    },
  };
}
