import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { EscrowRecord } from "../../../src/escrow/model/escrow-record.ts";
import type { Intent, Progress } from "../../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { toRecordError } from "../../../src/escrow/tasks/retry-intent.ts";
import { call, emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { makeRecord, stepTo, Writer } from "../../support/sources/records.ts";

const SINCE = Date.UTC(2026, 0, 2);
const PAST = String(Date.UTC(2026, 0, 1));
const LATER = String(Date.UTC(9000, 0, 1));

const intent = (step: Intent["step"], more: Partial<Intent> = {}): Intent => ({
  ...{ id: newId(SINCE), step, resultHash: null, by: "key-a", since: SINCE },
  ...more,
});

/** Writes payments with a result, or purchases that are not locked, that something is wanted of. */
async function write(progress: readonly Partial<Progress>[]): Promise<EscrowRecord[]> {
  const changes = new ChangeSet([], Date.now(), 100);
  const records = progress.map((one, i) => {
    const isLock = one.intent?.step === "FundsLocking";
    const record = makeRecord(isLock ? "purchase" : "payment", { id: `record-${i}` });
    record.terms = { ...record.terms, unlockTime: i === 0 ? LATER : PAST, payByTime: LATER };
    record.wallet = { id: `wallet-${i % 2}`, vkey: "22".repeat(28), address: "addr" };
    const at = { txHash: newId(0).padEnd(64, "0"), blockHeight: 90, txIndex: 0, blockTime: 1 };
    if (!isLock)
      changes.advance(record, stepTo(record, { onChainState: "ResultSubmitted" }), at, "1");
    changes.setProgress(record, { ...record.progress, ...one });
    return record;
  });
  await openDb(env).batch(writeChanges(changes, { sourceId: "source-a", network: "Preprod" }));
  return records;
}

async function tasks(query = "", token?: string) {
  const response = await call(
    `/api/v1/task?network=Preprod${query}`,
    token ? { headers: { token } } : {},
  );
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: { Tasks: Record<string, unknown>[] } }).data.Tasks;
}

beforeEach(emptyTables);

describe("GET /task", () => {
  it("lists waiting and pending tasks with their reasons and deadlines, newest escrows first", async () => {
    const transaction = new ChangeSet([], SINCE, 1).createTransaction(
      makeRecord("payment"),
      "ab".repeat(32),
    );
    await write([
      { intent: intent("Withdraw") },
      { intent: intent("Withdraw"), pendingTransaction: { transaction, spends: null } },
      {
        intent: intent("FundsLocking", { failures: 2, tryAt: SINCE }),
        error: toRecordError("too poor", "InsufficientFunds"),
      },
      {
        intent: intent("Withdraw"),
        error: { ...toRecordError("lost its collateral twice"), isManual: true },
      },
      { intent: intent("AuthorizeRefund") },
      { intent: intent("Withdraw", { by: "automatic" }) },
      {},
    ]);
    const shown = await tasks();
    const of = (i: number) => shown.find(({ id }) => id === `record-${i}`);
    expect(shown.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1, 0].map((i) => `record-${i}`));
    const waits = { status: "Waiting", txHash: null, failedTries: 0, nextTryAt: null };
    expect(of(0)).toMatchObject({
      ...{ ...waits, kind: "Payment", step: "Withdraw", walletId: "wallet-0", deadline: null },
      ...{ since: "2026-01-02T00:00:00.000Z", notBefore: "9000-01-01T00:00:00.000Z" },
      reasonCode: "chain",
      reason: "the contract does not allow it before 9000-01-01T00:00:00.000Z",
    });
    expect(of(1)).toMatchObject({
      status: "UnderWay",
      reasonCode: "chain",
      txHash: "ab".repeat(32),
    });
    expect(of(2)).toMatchObject({
      ...{ kind: "Purchase", step: "FundsLocking", status: "Waiting", reason: "too poor" },
      ...{ failedTries: 2, nextTryAt: "2026-01-02T00:00:00.000Z" },
      deadline: "9000-01-01T00:00:00.000Z",
    });
    expect(of(3)).toMatchObject({
      status: "NeedsPerson",
      reasonCode: "person",
      reason: "lost its collateral twice",
    });
    // Web3ChainV1 has no such step from this state.
    expect(of(4)).toMatchObject({
      ...waits,
      notBefore: null,
      reason: expect.stringMatching(/return/),
    });
    expect(of(5)).toMatchObject({
      requestedById: "automatic",
      reason: "waits for its wallet's turn",
    });

    expect((await tasks("&limit=2&cursorId=record-4")).map(({ id }) => id)).toEqual([
      "record-3",
      "record-2",
    ]);
    const token = await insertKey({ walletLimit: ["wallet-1"] });
    expect((await tasks("", token)).map(({ id }) => id)).toEqual([
      "record-5",
      "record-3",
      "record-1",
    ]);
  });

  it("says what holds up a task's wallet or its source, as the record does", async () => {
    await Writer.create(env.DB);
    await write([{}, { intent: intent("Withdraw") }]);
    const reason = async () => {
      const [task] = await tasks();
      return [task?.reasonCode, task?.reason];
    };
    const run = (sql: string) => env.DB.prepare(sql).run();
    expect(await reason()).toEqual(["turn", "waits for its wallet's turn"]);
    await run("UPDATE source_cursor SET error = 'secret words of a provider'");
    const unread = "waits for the chain provider of its payment source";
    expect(await reason()).toEqual(["provider", unread]);
    await run(
      `INSERT INTO hot_wallet (network, vkey, version, sequence, blocker, blocker_code, blocked_since)
       VALUES ('Preprod', '${"22".repeat(28)}', 1, 0, 'waits for the line', 'chain', 1)`,
    );
    expect(await reason()).toEqual(["chain", "waits for the line"]);
    await run(
      `INSERT INTO managed_wallet (id, source_id, network, role, vkey, address, mnemonic, note,
         drives, created_by_id, created_at)
       VALUES ('wallet-1', 'source-a', 'Preprod', 'Selling', '${"22".repeat(28)}', 'addr', '', '',
         'nothing', 'key-a', 1)`,
    );
    const undriven = "waits for its wallet, whose drives is nothing";
    expect(await reason()).toEqual(["source", undriven]);
  });

  it("shows a key that is bound to wallets what waits until one of them is chosen, and no other's", async () => {
    const lock = { intent: intent("FundsLocking") };
    await write([lock, lock, lock]);
    const bind = (id: string, walletIds: string[]) =>
      env.DB.prepare(
        "UPDATE escrow SET wallet_id = NULL, wallet_vkey = NULL, wallet_address = NULL, wallet_ids = json(?) WHERE id = ?",
      )
        .bind(JSON.stringify(walletIds), id)
        .run();
    await bind("record-0", ["wallet-1", "wallet-2"]);
    await bind("record-1", ["wallet-1", "wallet-3"]);
    await env.DB.prepare(
      "UPDATE escrow SET wallet_id = NULL, wallet_vkey = NULL, wallet_address = NULL WHERE id = 'record-2'",
    ).run();
    const token = await insertKey({ walletLimit: ["wallet-1", "wallet-2"] });
    expect(await tasks("", token)).toMatchObject([{ id: "record-0", walletId: null }]);
  });
});
