import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import {
  DOC_OR_ROW_SQL,
  type StoredDocument,
} from "../../../src/escrow/store/outdated-documents.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { wrapD1 } from "../../support/d1.ts";
import { sampled } from "../../support/effort.ts";
import { lockMany } from "../../support/sources/backfill.ts";
import {
  createSource,
  leftBehind,
  parseDoc,
  positionAt,
  runPass,
  settle,
} from "../../support/sources/sync.ts";
import { askFor } from "../../support/sources/wants.ts";

const V1 = "Web3ChainV1";
const lock = (as: string) => ({ do: "lock", as, version: V1 });
const act = (on: string, action: string) => ({ do: action, on });

/** What a sync that never saw the fork leaves, to hold against what this one left. */
async function expectAsIfNeverForked(chain: TestChain, source: string): Promise<void> {
  const undone = await comparable(source);
  await emptyTables();
  const fresh = await createSource(chain, V1);
  await settle(chain, fresh);
  expect(undone).toEqual(await comparable(fresh));
}

/** Stamps, ids, event sequences and rolled-back history may differ; a lost lock leaves its record. */
async function comparable(source: string): Promise<unknown> {
  const { escrows, steps, actions, cursor } = await leftBehind(source);
  return {
    escrows: escrows.filter(({ doc }) => (doc as { onChainState: unknown }).onChainState !== null),
    steps,
    actions,
    position: cursor?.position,
  };
}

const RESULT = "ab".repeat(32);

/** State and action of the payment and of the purchase. */
async function actions(): Promise<unknown[][]> {
  const rows = await openDb(env).all<StoredDocument>(
    `SELECT ${DOC_OR_ROW_SQL} FROM escrow AS page ORDER BY side`,
  );
  return rows.map((row) => {
    const { onChainState, NextAction } = parseDoc(row);
    return [onChainState, NextAction];
  });
}

/** What tells followers of records that something happened to them, by the records' ids. */
async function told(): Promise<Map<string, unknown>> {
  const rows = await openDb(env).all<{ id: string }>(
    `SELECT id, revision, sequence, chain_changed_at, action_changed_at, changed_at,
       (SELECT count(*) FROM event WHERE record_id = escrow.id) AS events
     FROM escrow ORDER BY id`,
  );
  return new Map(rows.map(({ id, ...rest }) => [id, rest]));
}

beforeEach(emptyTables);

describe("a rollback", () => {
  it.each([
    ["whose transactions do not return", () => [], "FundsLocked"],
    ["whose transactions return in other blocks", (gone: string[]) => gone, "ResultSubmitted"],
  ])("of one block, %s, leaves what was read with it alone", async (_, returning, state) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    const others = lockMany("old", 20);
    await chain.act([lock("a"), ...others, act("old-3", "submitResult"), act("a", "submitResult")]);
    await settle(chain, source);
    const before = await told();
    const hit = await openDb(env).all<{ id: string }>(
      `SELECT record_id AS id FROM escrow_undo
       WHERE block_height = (SELECT max(block_height) FROM escrow_undo)`,
    );

    const gone = await chain.rollback(1);
    await chain.mine(2);
    await chain.replay(returning(gone));
    await settle(chain, source);
    const after = await told();
    expect(hit.length).toBe(2);
    for (const { id } of hit) {
      expect(after.get(id)).not.toEqual(before.get(id));
      before.delete(id);
      after.delete(id);
    }
    expect(after).toEqual(before);
    const [left] = await openDb(env).all<{ state: string }>(
      "SELECT on_chain_state AS state FROM escrow WHERE id = ?",
      hit[0]?.id,
    );
    expect(left).toEqual({ state });
    await expectAsIfNeverForked(chain, source);
  });

  it("that puts a transaction among those that were read undoes those after it", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a"), lock("b"), lock("c")]);
    await settle(chain, source);
    const gone = await chain.rollback(2);
    await chain.act([lock("x")]);
    await chain.replay(gone);
    await chain.mine();
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });

  it.each(sampled(3, [1, 3, 20]))(
    "of %i blocks ends as if the fork had never been",
    async (blocks) => {
      const chain = await TestChain.create();
      const source = await createSource(chain, V1);
      await chain.act([lock("a"), lock("b"), act("a", "submitResult")]);
      await settle(chain, source);
      for (let i = 0; i < blocks - 1; i++) await chain.act([lock(`c${i}`)]);
      await chain.act([act("a", "withdraw")]);
      await settle(chain, source);

      await chain.rollback(blocks);
      await chain.act([act("b", "withdrawRefund")]);
      await chain.mine(blocks);
      await settle(chain, source);
      await expectAsIfNeverForked(chain, source);
    },
  );

  it("whose transactions come again in other blocks ends as if it had never been", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a"), act("a", "submitResult"), act("a", "requestRefund")]);
    await settle(chain, source);
    await chain.rollback(2, true);
    await chain.mine(3);
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });

  it("of a withdraw brings back the state before it, and shows the step as RolledBack", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a"), act("a", "submitResult"), act("a", "withdraw")]);
    await settle(chain, source);
    await chain.rollback(1);
    await chain.mine(2);
    await settle(chain, source);
    const { escrows } = await leftBehind(source);
    for (const { doc } of escrows)
      expect(doc).toMatchObject({
        onChainState: "ResultSubmitted",
        NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
      });
    const steps = await openDb(env).all<{ status: string; n: number }>(
      "SELECT status, count(*) AS n FROM escrow_transaction GROUP BY status ORDER BY status",
    );
    expect(steps).toEqual([
      { status: "Confirmed", n: 4 },
      { status: "RolledBack", n: 2 },
    ]);
  });

  it("Rollback fault: keeps a step that was requested since, or lets the step wait for its block", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a")]);
    await settle(chain, source);
    await chain.act([act("a", "requestRefund")]);
    await settle(chain, source);
    await askFor("payment", "SubmitResult", RESULT);
    await askFor("purchase", "UnSetRefundRequested");
    const submits = {
      requestedAction: "SubmitResultRequested",
      errorType: null,
      errorNote: null,
      resultHash: RESULT,
    };

    const gone = await chain.rollback(1);
    await chain.mine(2);
    await settle(chain, source);
    expect(await actions()).toMatchObject([
      ["FundsLocked", submits],
      [
        "FundsLocked",
        {
          requestedAction: "UnSetRefundRequestedRequested",
          errorType: null,
          errorNote: null,
        },
      ],
    ]);

    await chain.replay(gone);
    await settle(chain, source);
    expect(await actions()).toMatchObject([
      ["RefundRequested", submits],
      [
        "RefundRequested",
        {
          requestedAction: "UnSetRefundRequestedRequested",
          errorType: null,
          errorNote: null,
        },
      ],
    ]);
  });

  it("Rollback fault: of a lock and later transactions restores the requested steps", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a"), act("a", "submitResult")]);
    await settle(chain, source);
    await askFor("payment", "Withdraw");
    await chain.rollback(2, true);
    await chain.mine(3);
    await settle(chain, source);
    expect(await actions()).toMatchObject([
      ["ResultSubmitted", { requestedAction: "WithdrawRequested", errorNote: null }],
      ["ResultSubmitted", { requestedAction: "WaitingForExternalAction", errorNote: null }],
    ]);
  });

  it("of a lock leaves the record without a state, and the record continues when the lock returns", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a")]);
    await settle(chain, source);
    const [before] = await openDb(env).all<{ id: string; stamp: number }>(
      "SELECT id, chain_changed_at AS stamp FROM escrow ORDER BY id",
    );
    const gone = await chain.rollback(1);
    await chain.mine(2);
    await settle(chain, source);
    const [without] = await openDb(env).all<StoredDocument & { id: string; stamp: number }>(
      `SELECT id, chain_changed_at AS stamp, ${DOC_OR_ROW_SQL} FROM escrow AS page ORDER BY id`,
    );
    expect(without?.id).toBe(before?.id);
    expect(without?.stamp).toBeGreaterThan(before?.stamp ?? Number.POSITIVE_INFINITY);
    expect(parseDoc(without)).toMatchObject({
      onChainState: null,
      CurrentTransaction: null,
      NextAction: { requestedAction: "WaitingForExternalAction" },
    });

    await chain.replay(gone);
    await settle(chain, source);
    const [again] = await openDb(env).all<StoredDocument & { id: string }>(
      `SELECT id, ${DOC_OR_ROW_SQL} FROM escrow AS page ORDER BY id`,
    );
    expect(again?.id).toBe(before?.id);
    expect(parseDoc(again)).toMatchObject({ onChainState: "FundsLocked" });
    await expectAsIfNeverForked(chain, source);
  });

  it("across the border of a page of 100 transactions ends as if it had never been", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act(Array.from({ length: 97 }, (_, i) => lock(`a${i}`)));
    await settle(chain, source);
    await chain.act(Array.from({ length: 8 }, (_, i) => lock(`b${i}`)));
    await settle(chain, source);
    await chain.rollback(6);
    await chain.act([act("a5", "submitResult"), act("b0", "submitResult")]);
    await chain.mine(6);
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });

  it("deeper than every checkpoint but the oldest undoes all above that", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    for (const as of ["a", "b", "c", "d"]) {
      await chain.act([lock(as)]);
      await settle(chain, source);
    }
    await chain.rollback(3);
    await chain.act([act("a", "submitResult")]);
    await chain.mine(4);
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });

  it("after the cursor was moved back skips nothing of what is to be read again", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    const [first] = await chain.act([lock("a")]);
    await openDb(env).batch(moveCursor(source, await positionAt(chain, first?.txHash)));
    await chain.act([lock("b")]);
    await settle(chain, source);
    await openDb(env).batch(moveCursor(source, null));
    await chain.rollback(1);
    await chain.mine(2);
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });

  it("undone by half when the lost blocks return ends as if they had never been away", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    const locks = lockMany("old", 70);
    await chain.act([...locks, act("old-0", "submitResult")]);
    await settle(chain, source);

    await chain.rollback(locks.length + 1);
    await chain.mine(locks.length + 3);
    let undos = 0;
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      const undoes = sql.some((one) => one.includes("SET status = 'RolledBack'"));
      if (undoes && ++undos > 1) throw new Error("stopped here");
      return run();
    });
    await runPass(chain, source, { env: { DB: d1 } });
    expect(undos).toBe(2);

    await chain.faults({ fork: 0 });
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });
});

describe("a provider that lags is waited for: nothing undone, nothing lost", () => {
  const LAGS = [
    ["an older tip", { behind: 2 }],
    ["an older listing", { match: "transactions", behind: 2 }],
    ["a listing without its last rows", { match: "transactions", dropRows: 1 }],
    ["an unknown contract", { match: "/addresses/", status: 404 }],
    ["unknown transactions", { match: "^/txs/", status: 404 }],
    ["an unknown block", { match: "^/blocks/\\d+", status: 404 }],
    ["errors", { status: 500 }],
    ["half a body", { truncate: true }],
    ["dropped connections", { match: "^/txs/", reset: true }],
    ["a listing from its beginning", { match: "transactions", ignore: ["from"] }],
  ] as const;

  it.each(sampled(3, LAGS))("%s", async (_, fault) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a"), lock("b"), act("a", "submitResult")]);
    await settle(chain, source);
    const before = await leftBehind(source);

    await chain.act([act("b", "requestRefund"), act("a", "withdraw")]);
    await chain.faults(fault);
    for (let i = 0; i < 2; i++) await runPass(chain, source);
    const during = await leftBehind(source);
    const steps = await openDb(env).all(
      "SELECT 1 FROM escrow_transaction WHERE status = 'RolledBack'",
    );
    expect(steps).toEqual([]);
    expect(during.steps.length).toBeGreaterThanOrEqual(before.steps.length);

    await chain.faults();
    await chain.mine();
    await settle(chain, source);
    const after = await leftBehind(source);
    expect(after.cursor?.error).toBeNull();
    await expectAsIfNeverForked(chain, source);
  });

  it("a transaction it shows late is done with those after it, though one of them cannot be read", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a")]);
    await settle(chain, source);
    const [late, after] = await chain.act([lock("b"), act("b", "requestRefund")]);
    await chain.faults({ match: "^/addresses/", hideTransaction: late?.txHash });
    await settle(chain, source);
    expect((await leftBehind(source)).escrows).toHaveLength(2);

    await chain.mine();
    await chain.faults({ match: `^/txs/${after?.txHash}/cbor`, status: 404, times: 1 });
    const warn = vi.spyOn(console, "warn");
    await settle(chain, source);
    const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
    warn.mockRestore();
    expect(lines).toContainEqual(
      expect.objectContaining({ event: "sync.transaction_late", source, tx: late?.txHash }),
    );
    await chain.faults();
    await expectAsIfNeverForked(chain, source);
  });

  it("a chain that switches between two pages is not mixed into one", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act(Array.from({ length: 104 }, (_, i) => lock(`a${i}`)));
    await chain.rollback(8);
    await chain.act([lock("x"), lock("y")]);
    await chain.mine(8);
    // The first page and the tip come from the fork that was given up, the rest from the chain.
    await chain.faults(
      { match: "blocks/latest", fork: 0, times: 1 },
      { match: "page=1", fork: 0, times: 1 },
    );
    await runPass(chain, source);
    await chain.faults();
    await settle(chain, source);
    await expectAsIfNeverForked(chain, source);
  });
});
