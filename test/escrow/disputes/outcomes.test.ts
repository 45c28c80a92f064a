import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { selectDefaultSigners } from "../../../src/escrow/disputes/administrators.ts";
import { createDisputeFeature } from "../../../src/escrow/disputes/dispute-feature.ts";
import { insertProposal, readProposals } from "../../../src/escrow/disputes/store.ts";
import {
  DISPUTE_FEATURE,
  type ProposalRow,
  type ProposalState,
} from "../../../src/escrow/disputes/tables.ts";
import type { TransactionPhase } from "../../../src/wallets/model/phases.ts";
import { emptyTables } from "../../support/app.ts";
import { transaction } from "../../wallets/spending/transactions.ts";

beforeEach(emptyTables);

const HASH = "ab".repeat(32);
const PREPARED = { unsigned: "", content: "{}" };

/** A proposal whose transaction was sent. */
const SENT: ProposalRow = {
  id: "a",
  network: "Preprod",
  sourceId: "source",
  identifierHash: "ff",
  output: { utxo: `${"cd".repeat(32)}#0`, value: [], datum: "" },
  walletVkey: "wallet",
  split: { buyer: [], seller: [] },
  message: HASH,
  prepared: null,
  reservedOutput: null,
  expiresAt: null,
  administrators: [],
  required: 1,
  signatures: [],
  opensAt: 0,
  state: "SettleInitiated",
  txHash: HASH,
  error: null,
  createdById: "key",
  createdAt: 0,
  updatedAt: 0,
  revision: 0,
  task: null,
};

interface Outcome {
  phase: TransactionPhase;
  becomes: ProposalState;
  /** What its error says; null: it has none. */
  error: string | null;
  /** Whether the wallet has more to do. */
  isDue: boolean;
}

const over = { error: "propose and sign again", isDue: false };
const again = { becomes: "SettleRequested", isDue: true } as const;
const SAME: Outcome[] = [
  { phase: "Sent", becomes: "SettleInitiated", error: null, isDue: false },
  { phase: "RolledBack", becomes: "SettleInitiated", error: null, isDue: false },
  { phase: "Confirmed", becomes: "Settled", error: null, isDue: false },
];
const OUTCOMES: Record<"message" | "transaction", Outcome[]> = {
  // Another transaction with the same signatures does as well.
  message: [
    ...SAME,
    { phase: "Orphaned", error: null, ...again },
    { phase: "Refused", error: "did not accept the transaction", ...again },
    { phase: "Expired", error: "did not accept the transaction", ...again },
    { phase: "Failed", error: "did not accept the transaction", ...again },
  ],
  // What was signed is over with it.
  transaction: [
    ...SAME,
    { phase: "Orphaned", becomes: "Failed", ...over },
    { phase: "Refused", becomes: "Failed", ...over },
    { phase: "Failed", becomes: "Failed", ...over },
    { phase: "Expired", becomes: "Expired", ...over },
  ],
};

/** What becomes of a proposal when its transaction comes to a phase. */
async function moved(rows: readonly ProposalRow[], phase: TransactionPhase) {
  const database = openDb(env, "Preprod", { writes: "idempotent" });
  await env.DB.exec("DELETE FROM dispute_proposal; DELETE FROM wallet_task;");
  for (const row of rows) await database.batch(insertProposal(database, row));
  const work = createDisputeFeature({
    db: database,
    source: {
      ...{ id: "source", network: "Preprod", type: "Web3ChainV2" },
      ...{ contractAddress: "", drives: "all" },
    },
    wallets: [],
    vkey: "wallet",
    chainTime: async (now) => now,
  });
  const task = { feature: DISPUTE_FEATURE, id: "a", detail: {} };
  const told = transaction(HASH, [], { phase });
  await database.batch(await work.onTransaction([{ task, transaction: told }], Date.now()));
  const [row] = await readProposals(database, ["a"]);
  return row && { ...row, error: row.error ?? row.task?.reason ?? null };
}

it("a proposal follows its transaction, and says what is to be done when that is over", async () => {
  for (const [signed, outcomes] of Object.entries(OUTCOMES))
    for (const { phase, becomes, error, isDue } of outcomes) {
      const row = await moved(
        [{ ...SENT, prepared: signed === "message" ? null : PREPARED }],
        phase,
      );
      expect([signed, phase, row?.state, typeof row?.task?.dueAt === "number"]).toEqual([
        ...[signed, phase, becomes, isDue],
      ]);
      if (error === null) expect(row?.error).toBeNull();
      else expect(row?.error).toContain(error);
    }
});

it("a proposal gives way to one that was made after it had failed, and that waits", async () => {
  const newer: ProposalRow = { ...SENT, id: "b", state: "Collecting", txHash: null };
  expect(await moved([SENT, newer], "Orphaned")).toMatchObject({ state: "Replaced", task: null });
  expect(await moved([SENT, newer], "Confirmed")).toMatchObject({ state: "Settled" });
  const other = { ...newer, sourceId: "another" };
  expect(await moved([SENT, other], "Orphaned")).toMatchObject({ state: "SettleRequested" });
});

it("as many administrators sign a transaction as are enough, by their places", () => {
  const cases: [administrators: string[], required: number, signers: string[]][] = [
    [["a", "b", "c"], 2, ["a", "b"]],
    [["a", "a", "b"], 2, ["a"]],
    [["a", "b", "b"], 3, ["a", "b"]],
    [["a", "b", "c"], 3, ["a", "b", "c"]],
  ];
  for (const [administrators, required, signers] of cases)
    expect(selectDefaultSigners(administrators, required)).toEqual(signers);
});
