import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { type Database, openDb, violates } from "../../../src/db/client.ts";
import type { EscrowRecord } from "../../../src/escrow/model/escrow-record.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../../src/escrow/store/load-records.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { applyTaskUpdates } from "../../../src/escrow/tasks/apply-task-updates.ts";
import { LOCK_FEATURE, taskIdOf } from "../../../src/escrow/tasks/task-id.ts";
import type { TransactionPhase } from "../../../src/wallets/model/phases.ts";
import type { TaskUpdate } from "../../../src/wallets/model/wallet-transaction.ts";
import { call, emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { makeRecord } from "../../support/sources/records.ts";
import { createSource, settle } from "../../support/sources/sync.ts";
import { askFor } from "../../support/sources/wants.ts";

const TX = "ab".repeat(32);
const OTHER_TX = "cd".repeat(32);
const WALLET = { id: "wallet-b", vkey: "33".repeat(28), address: "addr_test1wallet" };

beforeEach(emptyTables);

/** Purchases that want to be locked. */
async function purchases(count: number): Promise<EscrowRecord[]> {
  const changes = new ChangeSet([], Date.now(), 0);
  for (let i = 0; i < count; i++) {
    const record = makeRecord("purchase", { wallet: null });
    changes.setProgress(record, record.progress);
  }
  const place = { sourceId: "source-a", network: "Preprod" } as const;
  await openDb(env).batch(writeChanges(changes, place));
  await askFor("purchase", "FundsLocking");
  return stored();
}

async function stored(): Promise<EscrowRecord[]> {
  const ids = "SELECT id FROM escrow WHERE ?2 = ?2";
  return (await loadRecords(openDb(env), [], ids, 1)).records;
}

function movesOf(records: EscrowRecord[], hash: string, phase: TransactionPhase): TaskUpdate[] {
  const tasks = records.flatMap((record) => {
    const { intent } = record.progress;
    return intent ? [{ feature: LOCK_FEATURE, id: taskIdOf(record, intent), detail: {} }] : [];
  });
  const transaction: TaskUpdate["transaction"] = {
    ...{ hash, phase, sequence: 1, sourceId: "source-a", tasks, inputs: [], made: [] },
    ...{
      chainedInput: null,
      changeOutput: null,
      collateral: null,
      validFrom: 0,
      validTo: 1,
      fee: 170_000n,
    },
    ...{
      size: 300,
      memory: 0,
      isReplaceable: false,
      blockHeight: null,
      blockHash: null,
      blockTime: null,
      overHeight: null,
    },
    ...{ error: null, movedAt: Date.now() },
  };
  return tasks.map((task) => ({ task, transaction }));
}

const statementsFor = (moves: TaskUpdate[], ledger: Pick<Database, "all"> = openDb(env)) =>
  applyTaskUpdates(ledger, "Preprod", WALLET, moves, Date.now());

/** Tells records of a transaction, as the wallet's batch does. */
async function tell(records: EscrowRecord[], hash: string, phase: TransactionPhase): Promise<void> {
  await openDb(env).batch(await statementsFor(movesOf(records, hash, phase)));
}

interface Shown {
  NextAction: { requestedAction: string; errorType: string | null };
  CurrentTransaction: { id: string; txHash: string; status: string; fees: string | null } | null;
  TransactionHistory: { id: string; txHash: string; status: string }[];
  ActionHistory: { requestedAction: string }[];
  SmartContractWallet: { id: string } | null;
  nextActionLastChangedAt: string;
}

async function show(side: "purchase" | "payment" = "purchase"): Promise<Shown> {
  const answer = await call(`/api/v1/${side}?network=Preprod&includeHistory=true`);
  const { data } = (await answer.json()) as { data: Record<string, Shown[]> };
  const [item] = Object.values(data)[0] ?? [];
  if (!item) throw new Error(`no ${side} is shown`);
  return item;
}

const events = async () =>
  (await env.DB.prepare("SELECT count(*) AS n FROM event").first<number>("n")) ?? 0;

describe("a wallet's transaction for a record", () => {
  it("is shown from the moment it is stored, and what became of it keeps its id", async () => {
    await purchases(1);
    expect(await show()).toMatchObject({
      NextAction: { requestedAction: "FundsLockingRequested" },
      CurrentTransaction: null,
      SmartContractWallet: null,
    });
    const toldBefore = await events();

    await tell(await stored(), TX, "Stored");
    const begun = await show();
    expect(begun).toMatchObject({
      NextAction: { requestedAction: "FundsLockingInitiated" },
      CurrentTransaction: { txHash: TX, status: "Pending", fees: null, blockHeight: null },
      TransactionHistory: [],
      SmartContractWallet: { id: "wallet-b" },
    });
    expect(await events()).toBe(toldBefore + 1);

    await tell(await stored(), TX, "Expired");
    const over = await show();
    expect(over).toMatchObject({
      NextAction: { requestedAction: "FundsLockingRequested", errorType: null },
      CurrentTransaction: null,
      TransactionHistory: [{ txHash: TX, status: "FailedViaTimeout" }],
    });
    expect(over.TransactionHistory[0]?.id).toBe(begun.CurrentTransaction?.id);
    expect(over.nextActionLastChangedAt > begun.nextActionLastChangedAt).toBe(true);
    expect(over.ActionHistory.map(({ requestedAction }) => requestedAction)).toEqual([
      ...["FundsLockingInitiated", "FundsLockingRequested", "WaitingForExternalAction"],
    ]);

    await tell(await stored(), OTHER_TX, "Stored");
    expect(await show()).toMatchObject({
      CurrentTransaction: { txHash: OTHER_TX, status: "Pending" },
      TransactionHistory: [{ txHash: TX }],
    });
  });

  it.each(["Refused", "Orphaned"] as const)("that ends as %s is RolledBack", async (phase) => {
    await purchases(1);
    await tell(await stored(), TX, "Stored");
    await tell(await stored(), TX, phase);
    expect(await show()).toMatchObject({
      NextAction: { requestedAction: "FundsLockingRequested", errorType: null },
      TransactionHistory: [{ txHash: TX, status: "RolledBack" }],
    });
  });

  it("that loses its collateral is tried once more, then requires a person", async () => {
    await purchases(1);
    await tell(await stored(), TX, "Stored");
    await tell(await stored(), TX, "Failed");
    expect((await show()).NextAction.requestedAction).toBe("FundsLockingRequested");
    await tell(await stored(), OTHER_TX, "Stored");
    await tell(await stored(), OTHER_TX, "Failed");
    expect((await show()).NextAction).toMatchObject({
      requestedAction: "WaitingForManualAction",
      errorType: "Unknown",
      errorNote: expect.stringContaining("2 times"),
    });
  });

  it("that a block has all the same takes the place of the one stored after it", async () => {
    await purchases(1);
    await tell(await stored(), TX, "Stored");
    await tell(await stored(), TX, "Expired");
    await tell(await stored(), OTHER_TX, "Stored");
    await tell(await stored(), TX, "InBlock");
    expect(await show()).toMatchObject({
      NextAction: { requestedAction: "FundsLockingInitiated" },
      CurrentTransaction: { txHash: TX, status: "Pending" },
      TransactionHistory: [{ txHash: OTHER_TX, status: "RolledBack" }],
    });
  });

  it("moves all its records by as many statements as one", async () => {
    await purchases(1);
    const one = await statementsFor(movesOf(await stored(), TX, "Stored"));
    await emptyTables();
    await purchases(30);
    const many = await statementsFor(movesOf(await stored(), TX, "Stored"));
    expect(many).toHaveLength(one.length);
    await openDb(env).batch(many);
    const open = "SELECT count(*) AS n FROM escrow_transaction WHERE status = 'Pending'";
    expect(await env.DB.prepare(open).first("n")).toBe(30);
  });
});

describe("the batch that tells records of a transaction is not written", () => {
  const failure = async (batch: Promise<unknown>) => {
    const error = await batch.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(violates(error, "escrow.revision")).toBe(true);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM escrow_transaction").first("n")).toBe(0);
  };

  it("when a record was changed since it was read", async () => {
    await purchases(3);
    const statements = await statementsFor(movesOf(await stored(), TX, "Stored"));
    await env.DB.prepare(
      "UPDATE escrow SET revision = revision + 1 WHERE id = (SELECT min(id) FROM escrow)",
    )
      .bind()
      .run();
    await failure(openDb(env).batch(statements));
  });

  it("when something else is wanted of a record by then", async () => {
    await purchases(2);
    const moves = movesOf(await stored(), TX, "Stored");
    await askFor("purchase", "FundsLocking");
    await failure(openDb(env).batch(await statementsFor(moves)));
  });

  it("when another transaction is under way for a record", async () => {
    await purchases(1);
    const first = await statementsFor(movesOf(await stored(), TX, "Stored"));
    await openDb(env).batch(first);
    const second = await statementsFor(movesOf(await stored(), OTHER_TX, "Stored"));
    const error = await openDb(env)
      .batch(second)
      .catch((reason: unknown) => reason);
    expect(violates(error, "escrow.revision")).toBe(true);
    expect((await show()).CurrentTransaction?.txHash).toBe(TX);
  });
});

it("Rollback fault: an undone step of the service is pending again, and its wallet sends it again", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain, "Web3ChainV1");
  await chain.act([{ do: "lock", as: "a", version: "Web3ChainV1" }]);
  await settle(chain, source);
  await askFor("payment", "SubmitResult", "ab".repeat(32));
  const [sent] = await chain.act([{ do: "submitResult", on: "a" }]);
  const hash = sent?.txHash ?? "";
  const records = await stored();
  await tell(
    records.filter(({ side }) => side === "payment"),
    hash,
    "Stored",
  );
  await env.DB.prepare(
    `INSERT INTO wallet_transaction (hash, network, wallet_vkey, source_id, phase, sequence, tasks,
       fee, valid_to, request_id, created_at, updated_at, block_height)
     VALUES (?, 'Preprod', ?, ?, 'Confirmed', 1, '[]', '0', 1, '', 1, 1, 5)`,
  )
    .bind(hash, WALLET.vkey, source)
    .run();
  const begun = await show("payment");

  await settle(chain, source);
  const done = await show("payment");
  expect(done).toMatchObject({
    NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
    CurrentTransaction: { id: begun.CurrentTransaction?.id, status: "Confirmed" },
  });

  await chain.rollback(1);
  await chain.mine(2);
  await settle(chain, source);
  expect(await show("payment")).toMatchObject({
    onChainState: "FundsLocked",
    NextAction: { requestedAction: "SubmitResultInitiated", resultHash: "ab".repeat(32) },
    CurrentTransaction: { id: begun.CurrentTransaction?.id, status: "RolledBack" },
  });
  const { results } = await env.DB.prepare(
    "SELECT phase, due_at IS NOT NULL AS isDue FROM wallet_transaction",
  ).all();
  expect(results).toEqual([{ phase: "RolledBack", isDue: 1 }]);

  await tell(
    (await stored()).filter(({ side }) => side === "payment"),
    hash,
    "Expired",
  );
  expect((await show("payment")).NextAction.requestedAction).toBe("SubmitResultRequested");
});
