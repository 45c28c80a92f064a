import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { OutputView } from "../../src/wallets/spending/outputs.ts";
import type { Run, WalletPorts } from "../../src/wallets/spending/ports.ts";
import { readOpen } from "../../src/wallets/spending/stored/transactions.ts";
import { readWallet, type WalletDatabase } from "../../src/wallets/spending/stored/wallet.ts";
import { afterRestore } from "../../src/wallets/spending/trouble/restored.ts";
import { handedOf } from "../../src/wallets/spending/written.ts";
import { transaction } from "../wallets/spending/transactions.ts";
import { ModelDatabase } from "./database.ts";
import { Died } from "./dying.ts";
import { newJournal } from "./journal.ts";

const NETWORK = "Preprod";
const VKEY = "ab".repeat(28);
const NOW = Date.UTC(2026, 0, 1);
const MANY = 250;

const database = new ModelDatabase("", ["hot_wallet", "wallet_transaction"]);
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
    journal.hand(VKEY, handedOf(transaction(`t${i}`, [`t${i - 1}#0`])), i, NOW);
  journal.enter(VKEY, 0, NOW);
  journal.resume(0);
  let ids = 0;
  const ports = {
    ...{ network: NETWORK, vkey: VKEY, works: [], view: new OutputView(), requestId: "model" },
    journal: {
      enter: async (...asked) => journal.enter(VKEY, ...asked),
      hand: async (...asked) => journal.hand(VKEY, ...asked),
      resume: async (stored) => journal.resume(stored),
      remembered: async (...told) => journal.remembered(VKEY, ...told),
    },
    now: () => NOW,
    newId: () => `op${++ids}`,
  } satisfies Partial<WalletPorts>;
  const run = async (through: WalletDatabase): Promise<Run | number> =>
    afterRestore({ ...ports, db: through } as unknown as WalletPorts, {
      wallet: await readWallet(db, NETWORK, VKEY),
      open: await readOpen(db, NETWORK, VKEY),
    });
  return { run };
}

describe("what a database that was set back has forgotten", () => {
  it("is stored again in portions, and a run goes on where the one before was ended", async () => {
    const { run } = forgetful();
    let batches = 0;
    const dying: WalletDatabase = {
      ...db,
      batch(statements) {
        if (++batches > 2) throw new Died();
        return db.batch(statements);
      },
    };
    await expect(run(dying)).rejects.toThrow(Died);
    expect(await readOpen(db, NETWORK, VKEY)).toHaveLength(200);
    expect(await run(db)).toMatchObject({ wallet: { sequence: MANY } });
    const open = await readOpen(db, NETWORK, VKEY);
    expect(open.map(({ hash }) => hash)).toEqual(
      Array.from({ length: MANY }, (_, i) => `t${i + 1}`),
    );
  });
});
