import { beforeAll, expect, it } from "vitest";
import { moveFinalRecords } from "../../../src/archive/move-records.ts";
import { openArchives } from "../../../src/archive/open-archives.ts";
import type { Block, Provider } from "../../../src/chain/provider/provider.ts";
import { openDb, type Statement } from "../../../src/db/client.ts";
import { MOVED_ESCROWS } from "../../../src/escrow/store/archived-escrows.ts";
import { readCursor } from "../../../src/escrow/sync/cursor.ts";
import type { ContractTransaction } from "../../../src/escrow/sync/escrow-source.ts";
import {
  followBackfill,
  followNewTransactions,
  type SyncContext,
} from "../../../src/escrow/sync/follower.ts";
import { toPosition } from "../../../src/escrow/sync/list-contract-transactions.ts";
import { isAfter } from "../../../src/indexer/position.ts";
import { applyPendingTransactions, runPass } from "../../../src/indexer/run-pass.ts";
import { insertCursor, moveCursor, startBackfill } from "../../../src/sources/cursor.ts";
import { sized } from "../../support/effort.ts";
import { EscrowChain, SOURCE, signLock } from "../escrow-chain.ts";
import { ReplicatedSqlite } from "./replicated-sqlite.ts";

/** Each is locked, gets a result, and is withdrawn. The service sells and buys, so it has two records of each. */
const ESCROWS = sized(50, 5_000);
const LIFE = ["FundsLocking", "SubmitResult", "Withdraw"] as const;
const BLOCK_TRANSACTIONS = 30;
const FIRST_HEIGHT = 100;
/** More than a rollback replaces. */
const FINAL_BLOCKS = 2_162;
const HOUR_MS = 60 * 60_000;
const HOT_TABLES = [
  ...["escrow", "escrow_transaction", "escrow_action", "escrow_request", "escrow_open"],
  ...["escrow_identity", "escrow_undo", "event", "clock"],
  ...["archive_range", "archived_escrow_count"],
];
const ARCHIVE_TABLES = ["archive_operation", "escrow", "escrow_transaction", "escrow_action"];

const hot = new ReplicatedSqlite("migrations");
const archive = new ReplicatedSqlite("migrations-archive");
const BINDINGS = { DB: hot.d1, ARCHIVE_1: archive.d1 };
const DEADLINE = Date.now() + HOUR_MS;
const db = openDb(BINDINGS as never, SOURCE.network, { deadline: DEADLINE });
/** The transactions of all escrows, in the order of the chain. */
const reads: ContractTransaction[] = [];

function createLife(index: number): ContractTransaction[] {
  const lock = signLock({ buyerNonce: index.toString(16).padStart(64, "0") });
  const chain = new EscrowChain(lock, index * 2 * LIFE.length);
  return LIFE.map((step, i) => {
    const transaction = chain.make(step, chain.live());
    if (!transaction) throw new Error(`the contract does not allow ${step}`);
    chain.mine(transaction);
    const number = index * LIFE.length + i;
    const height = FIRST_HEIGHT + Math.floor(number / BLOCK_TRANSACTIONS);
    const read = chain.read({ ...createBlock(height), transaction });
    return { ...read, at: { ...read.at, txIndex: number % BLOCK_TRANSACTIONS } };
  });
}

function createBlock(height: number): Block {
  const [hash = "", previousHash = ""] = [height, height - 1].map((one) =>
    one.toString(16).padStart(64, "b"),
  );
  return { height, hash, previousHash, slot: height, time: 1_700_000_000 + height };
}

/** Follows the chain up to its tip as the service does, and then for wallets that were added later. */
async function follow(tip: Block): Promise<void> {
  const provider: Pick<Provider, "block"> = { block: async (at) => createBlock(Number(at)) };
  const context = {
    ...{ db, source: SOURCE, provider: provider as Provider, archives: openArchives(BINDINGS) },
    ...{ threshold: 1, warnBeforeMs: 0, now: Date.now, onCommit: async () => {} },
  } satisfies SyncContext;
  const byHash = new Map(reads.map((read) => [read.at.txHash, read]));
  const chain = {
    list: async (recent: readonly ReturnType<typeof toPosition>[]) =>
      reads.map(({ at }) => at).filter((at) => isAfter(toPosition(at), recent.at(-1) ?? null)),
    read: async ({ txHash }: ContractTransaction["at"]) => byHash.get(txHash) as never,
    blockOf: async ({ at }: ContractTransaction) => ({
      ...{ hash: at.txHash, blockHash: createBlock(at.blockHeight).hash, validContract: true },
      ...{ blockHeight: at.blockHeight, txIndex: at.txIndex, blockTime: at.blockTime },
    }),
  };
  const cursor = await readCursor(db, SOURCE.id);
  if (!cursor) throw new Error("the source has no cursor");
  const live = { ...followNewTransactions(context, cursor), ...chain };
  if (await runPass(live, tip, DEADLINE)) throw new Error("the pass has not come to the tip");
  for (let { backfill } = cursor; backfill; { backfill } = cursor) {
    const past = { ...followBackfill(context, cursor, live, backfill), ...chain };
    const pending = await past.list(past.cursor.recent);
    await applyPendingTransactions(past, tip, pending, DEADLINE);
  }
}

const readTables = (database: ReplicatedSqlite, tables: readonly string[]) =>
  tables.map((table) => JSON.stringify(database.all(`SELECT * FROM ${table}`)));
const readAll = () => [...readTables(hot, HOT_TABLES), ...readTables(archive, ARCHIVE_TABLES)];

beforeAll(async () => {
  for (let i = 0; i < ESCROWS; i++) reads.push(...createLife(i));
  await db.batch(insertCursor(SOURCE, null));
  await follow(createBlock(FIRST_HEIGHT + reads.length));
  await follow(createBlock(FIRST_HEIGHT + reads.length + FINAL_BLOCKS));
  const mover = { ...BINDINGS, ARCHIVE_AFTER_MINUTES: "0" };
  await moveFinalRecords(mover as never, [MOVED_ESCROWS], DEADLINE, DEADLINE);
});

it.each<[what: string, begin: Statement[]]>([
  ["from the beginning", moveCursor(SOURCE.id, null)],
  ["for wallets that were added later", [startBackfill(SOURCE.id, SOURCE.wallets)].flat()],
])("A replay over many archived escrows %s writes none of them", async (_, begin) => {
  const [range] = hot.all<{ count: number }>("SELECT count FROM archive_range");
  expect(range).toEqual({ count: ESCROWS * SOURCE.wallets.length });
  expect(hot.all("SELECT id FROM escrow")).toEqual([]);
  const before = readAll();
  await db.batch(begin);
  const [{ version } = { version: 0 }] = hot.all<{ version: number }>(
    "SELECT version FROM source_cursor",
  );
  await follow(createBlock(FIRST_HEIGHT + reads.length + FINAL_BLOCKS));
  expect(hot.all("SELECT version FROM source_cursor WHERE version > ?", version)).toHaveLength(1);
  expect(readAll()).toEqual(before);
});
