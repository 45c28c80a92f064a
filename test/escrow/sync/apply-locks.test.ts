import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { type EscrowRecord, NO_LOCK_STATE } from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../../src/escrow/store/load-records.ts";
import {
  DOC_OR_ROW_SQL,
  type StoredDocument,
} from "../../../src/escrow/store/outdated-documents.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import {
  createRegistrySource,
  metadataOf,
  settleRegistry,
} from "../../support/registry/registry-sync.ts";
import { createSource, parseDoc, settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";

const lock = (as: string, version: string = V1) => ({ do: "lock", as, version });

beforeEach(emptyTables);

describe("a lock", () => {
  it("is priced as its agent's registration says, if that is known", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const registry = await createRegistrySource(chain);
    const metadata = metadataOf("agent", { agentPricing: { pricingType: "Dynamic" } });
    const [minted] = await chain.act([{ do: "mint", as: "agent", version: V1, metadata }]);
    await settleRegistry(chain, registry);
    await chain.act([{ ...lock("a"), agentIdentifier: minted?.unit }, lock("b")]);
    await settle(chain, source);
    const rows = await openDb(env).all<StoredDocument>(
      `SELECT ${DOC_OR_ROW_SQL} FROM escrow AS page`,
    );
    const priced = rows.map((row) => {
      const { agentIdentifier, pricingType } = parseDoc(row);
      return [agentIdentifier === minted?.unit, pricingType];
    });
    expect(priced.sort()).toEqual([
      [false, "Fixed"],
      [false, "Fixed"],
      [true, "Dynamic"],
      [true, "Dynamic"],
    ]);
  });

  it("that is ignored counts towards the end of a batch: none checks hundreds of them", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const forged = { version: V1, datum: { inputHash: "cd".repeat(32) } };
    await chain.act(
      Array.from({ length: 12 }, () => ({ do: "lockAll", orders: Array(10).fill(forged) })),
    );
    await settle(chain, source);
    const [cursor] = await openDb(env).all<{ ignored: number; version: number }>(
      "SELECT ignored_locks AS ignored, version FROM source_cursor",
    );
    expect(cursor?.ignored).toBe(120);
    expect(cursor?.version).toBeGreaterThan(1);
  });
});

describe("a lock of what was asked for", () => {
  /** Puts the record of a lock back to what a request had made it, with another price. */
  async function request(source: string, more: bigint): Promise<EscrowRecord["terms"]> {
    const ids = "SELECT id FROM escrow WHERE side = 'payment' AND ?2 = ?2";
    const { records } = await loadRecords(openDb(env), [], ids, 1);
    const [locked] = records;
    if (!locked) throw new Error("there is no record");
    await env.DB.batch(
      [
        ...["escrow", "escrow_identity", "escrow_open", "escrow_transaction", "escrow_undo"],
        "event",
      ].map((one) => env.DB.prepare(`DELETE FROM ${one}`)),
    );
    await openDb(env).batch(moveCursor(source, null));
    const funds = locked.terms.funds.map(({ unit, amount }) => ({
      unit,
      amount: String(BigInt(amount) + more),
    }));
    const nobody = { buyer: null, buyerVkey: null, collateralReturn: null };
    const terms = { ...locked.terms, ...nobody, funds, isRequested: true as const };
    const changes = new ChangeSet([], Date.now(), 0);
    const record = {
      ...locked,
      terms,
      state: NO_LOCK_STATE,
      output: null,
      revision: -1,
      sequence: 0,
    };
    changes.setProgress(record, IDLE_PROGRESS);
    await openDb(env).batch(writeChanges(changes, { sourceId: source, network: "Preprod" }));
    return terms;
  }

  async function payment() {
    const ids = "SELECT id FROM escrow WHERE side = 'payment' AND ?2 = ?2";
    const [record] = (await loadRecords(openDb(env), [], ids, 1)).records;
    const [row] = await openDb(env).all<StoredDocument>(
      `SELECT ${DOC_OR_ROW_SQL} FROM escrow AS page WHERE side = 'payment'`,
    );
    return { terms: record?.terms, doc: parseDoc(row) };
  }

  const errors = () =>
    env.DB.prepare("SELECT count(*) AS n FROM event WHERE kind = 'PAYMENT_ON_ERROR'").first("n");

  it("is compared with it, and changes nothing of it", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act([lock("a")]);
    await settle(chain, source);
    const before = await payment();
    const terms = await request(source, 0n);
    expect((await payment()).doc).toMatchObject({ BuyerWallet: null, onChainState: null });
    await settle(chain, source);
    const after = await payment();
    expect(after.terms).toEqual(terms);
    expect(after.doc).toMatchObject({
      onChainState: "FundsLocked",
      BuyerWallet: before.doc.BuyerWallet,
      collateralReturnMinorUnit: before.doc.collateralReturnMinorUnit,
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
    });
  });

  it("that deviates is noted once, and the record waits on", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [locked] = await chain.act([lock("a")]);
    await settle(chain, source);
    await request(source, 1n);
    for (let pass = 0; pass < 2; pass++) {
      await settle(chain, source);
      await openDb(env).batch(moveCursor(source, null));
    }
    expect((await payment()).doc).toMatchObject({
      onChainState: null,
      CurrentTransaction: null,
      NextAction: {
        requestedAction: "WaitingForExternalAction",
        errorType: "Unknown",
        errorNote: expect.stringMatching(
          new RegExp(`^Transaction ${locked?.txHash} locks other terms: \\d+ of the native coin`),
        ),
      },
    });
    expect(await errors()).toBe(1);
  });
});
