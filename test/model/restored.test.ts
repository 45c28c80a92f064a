import { DatabaseSync } from "node:sqlite";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { OutputView } from "../../src/wallets/spending/context/output-view.ts";
import type { WalletPorts, WalletRun } from "../../src/wallets/spending/context/wallet-ports.ts";
import { toJournalEntry } from "../../src/wallets/spending/model/serialize-transaction.ts";
import { restoreFromJournal } from "../../src/wallets/spending/restore-from-journal.ts";
import { readOpenTransactions } from "../../src/wallets/spending/store/transactions.ts";
import {
  countStoredTransactions,
  readWallet,
  type WalletDatabase,
} from "../../src/wallets/spending/store/wallet.ts";
import { transaction } from "../wallets/spending/transactions.ts";
import { ModelDatabase } from "./database.ts";
import { newJournal } from "./journal.ts";
import { ProcessCrashed } from "./process-faults.ts";

const NETWORK = "Preprod";
const VKEY = "ab".repeat(28);
const NOW = Date.UTC(2026, 0, 1);
const MANY = 250;

const database = new ModelDatabase("", [
  "hot_wallet",
  "wallet_transaction",
  "wallet_transaction_content",
]);
const db = database.seenBy(async (run) => run(), false);

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});
beforeEach(() => database.empty());

/** A wallet whose database has forgotten many transactions, and was followed since. */
function forgetful() {
  const journal = newJournal();
  for (let i = 1; i <= MANY; i++)
    journal.append(VKEY, toJournalEntry(transaction(`t${i}`, [`t${i - 1}#0`])), i, NOW);
  journal.enter(VKEY, 0, NOW);
  journal.resume(0);
  let ids = 0;
  const ports = {
    ...{ network: NETWORK, vkey: VKEY, features: [], view: new OutputView(), requestId: "model" },
    journal: {
      enter: async (...asked) => journal.enter(VKEY, ...asked),
      append: async (...asked) => journal.append(VKEY, ...asked),
      resume: async (...stored) => journal.resume(...stored),
      markRestored: async (...told) => journal.markRestored(VKEY, ...told),
    },
    now: () => NOW,
    newId: () => `op${++ids}`,
  } satisfies Partial<WalletPorts>;
  const run = async (through: WalletDatabase): Promise<WalletRun | number> => {
    const before = {
      wallet: await readWallet(db, NETWORK, VKEY),
      openTransactions: await readOpenTransactions(db, NETWORK, VKEY),
      unsettledTransactions: [],
    };
    const stored = await countStoredTransactions(db, NETWORK);
    return restoreFromJournal({ ...ports, db: through } as unknown as WalletPorts, before, stored);
  };
  return { run };
}

describe("what a database that was set back has forgotten", () => {
  it("is stored again in portions, and a run goes on where the one before was ended", async () => {
    const { run } = forgetful();
    let batches = 0;
    const dying: WalletDatabase = {
      ...db,
      batch(statements) {
        if (++batches > 2) throw new ProcessCrashed();
        return db.batch(statements);
      },
    };
    await expect(run(dying)).rejects.toThrow(ProcessCrashed);
    expect(await readOpenTransactions(db, NETWORK, VKEY)).toHaveLength(200);
    expect(await run(db)).toMatchObject({ wallet: { sequence: MANY } });
    const open = await readOpenTransactions(db, NETWORK, VKEY);
    expect(open.map(({ hash }) => hash)).toEqual(
      Array.from({ length: MANY }, (_, i) => `t${i + 1}`),
    );
  });
});

/** As the version before made it, with two transactions that a wallet had handed over. */
function journalBefore(): DatabaseSync {
  const file = new DatabaseSync(":memory:");
  file.exec(`
    CREATE TABLE handed (
      hash TEXT PRIMARY KEY, vkey TEXT NOT NULL, stored INTEGER NOT NULL, handed_at INTEGER NOT NULL,
      written TEXT NOT NULL, is_forgotten INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE journal (
      id INTEGER PRIMARY KEY CHECK (id = 1), highest INTEGER NOT NULL, halted_until INTEGER
    );
    INSERT INTO handed VALUES ('t1', '${VKEY}', 4, 0, '{}', 0), ('t2', '${VKEY}', 5, 0, '{}', 0);
    INSERT INTO journal VALUES (1, 5, NULL);`);
  return file;
}

const OTHER = "cd".repeat(28);
const each = (mine: number, others: number) => JSON.stringify({ [VKEY]: mine, [OTHER]: others });
const handed = (hash: string) => toJournalEntry(transaction(hash, ["t0#0"]));

describe("a journal of the version before", () => {
  it("tells that transactions are missing, and those that are", () => {
    const journal = newJournal(journalBefore());
    expect(journal.enter(VKEY, 5, NOW, null, each(2, 3))).toEqual({
      ...{ haltedUntil: null, forgotten: [] },
    });
    expect(journal.enter(OTHER, 4, NOW, null, each(1, 3))).toEqual({ highest: '{"":5}' });
    expect(journal.enter(OTHER, 4, NOW, '{"":5}', each(1, 3))).toMatchObject({
      haltedUntil: expect.any(Number),
    });
    journal.resume(4, each(1, 3));
    expect(journal.enter(VKEY, 4, NOW, null, each(1, 3))).toMatchObject({
      forgotten: [{ hash: "t2" }],
    });
  });

  it("is asked by the version before as ever", () => {
    const journal = newJournal(journalBefore());
    expect(journal.enter(VKEY, 4, NOW, null)).toEqual({ highest: 5 });
    expect(journal.append(VKEY, handed("t3"), 6, NOW, 5)).toBe(true);
    expect(journal.enter(VKEY, 5, NOW)).toMatchObject({ haltedUntil: expect.any(Number) });
  });
});

describe("a wallet's lost transactions that others have made up for in number", () => {
  it("are noticed by any wallet, and told to the one that lost them, the newest alone", () => {
    const journal = newJournal();
    for (const [i, hash] of ["t1", "t2", "t3"].entries())
      expect(journal.append(VKEY, handed(hash), i + 1, NOW, null, each(i + 1, 0))).toBe(true);
    const told = journal.append(OTHER, handed("u1"), 3, NOW, null, each(2, 1));
    expect(told).toEqual({ highest: JSON.stringify({ [VKEY]: 3 }) });
    const { highest } = told as { highest: string };
    expect(journal.append(OTHER, handed("u1"), 3, NOW, highest, each(2, 1))).toBe(false);
    journal.resume(3, each(2, 1));
    expect(journal.enter(OTHER, 3, NOW, null, each(2, 1))).toMatchObject({ forgotten: [] });
    expect(journal.enter(VKEY, 3, NOW, null, each(2, 1))).toMatchObject({
      forgotten: [{ hash: "t3" }],
    });
  });
});
