import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import type { Intent } from "../../../src/escrow/model/intent.ts";
import { applyTaskUpdates } from "../../../src/escrow/tasks/apply-task-updates.ts";
import { taskIdOf } from "../../../src/escrow/tasks/task-id.ts";
import { runSchedule } from "../../../src/schedule.ts";
import type { TransactionPhase } from "../../../src/wallets/model/phases.ts";
import { emptyTables } from "../../support/app.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { datumOf, type Shown } from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";
import { settle } from "../../support/sources/sync.ts";

beforeEach(emptyTables);

const TX = "ab".repeat(32);

async function opened() {
  const fixture = await PurchaseFixture.open();
  const quote = await fixture.quote();
  const token = await insertKey({ canPay: true, usageLimited: true, maxUsageCredits: 5 });
  const owner = { token };
  const { data } = await fixture.purchase(quote, {}, owner);
  const cancel = (headers: Record<string, string> = owner) => {
    const { blockchainIdentifier } = quote;
    return fixture.ask("/purchase/cancel", { network: "Preprod", blockchainIdentifier }, headers);
  };
  return { fixture, quote, owner, id: data.id as string, cancel };
}

const used = () =>
  env.DB.prepare(
    "SELECT accumulated_usage_credits AS used FROM api_key WHERE usage_limited = 1",
  ).first<number>("used");

const row = (id: string) =>
  env.DB.prepare("SELECT intent, due_at AS dueAt, charge FROM escrow WHERE id = ?")
    .bind(id)
    .first<{ intent: string | null; dueAt: number | null; charge: string | null }>();

/** Has a wallet tell the purchase what became of the transaction that locks it. */
async function tell(
  id: string,
  intent: Intent,
  fixture: PurchaseFixture,
  phase: TransactionPhase,
): Promise<void> {
  const { address, vkey } = fixture.buyer;
  const task = { id: taskIdOf({ id }, intent), detail: {} };
  const transaction: Shown = { hash: TX, phase, error: null };
  const statements = await applyTaskUpdates(
    openDb(env),
    "Preprod",
    { id: "wallet", vkey, address },
    [{ task, transaction } as Shown],
    Date.now(),
  );
  await env.DB.batch([
    ...statements.map(({ sql, params }) => env.DB.prepare(sql).bind(...params)),
    env.DB.prepare(
      `INSERT INTO wallet_transaction (hash, network, wallet_vkey, source_id, phase, sequence,
         tasks, fee, valid_to, request_id, created_at, updated_at, due_at)
       VALUES (?1, 'Preprod', 'vkey', 'source', ?2, 1, '[]', '0', 0, 'test', 0, 0, ?3)
       ON CONFLICT (hash) DO UPDATE SET phase = ?2, due_at = ?3`,
    ).bind(TX, phase, phase === "Dead" ? null : 1),
  ]);
}

describe("POST /purchase/cancel", () => {
  it("cancels a purchase before a wallet begins its lock, and refunds its charge once", async () => {
    const { fixture, id, cancel } = await opened();
    expect(await used()).toBe(1);
    expect(await row(id)).toMatchObject({ charge: "held", intent: expect.any(String) });
    for (const _ of ["first", "again"]) {
      expect(await cancel()).toMatchObject({
        status: 200,
        data: {
          id,
          onChainState: null,
          NextAction: { requestedAction: "None", errorType: null },
          expiredAt: expect.stringMatching(/^20/),
          CurrentTransaction: null,
        },
      });
      expect(await used()).toBe(0);
      expect(await row(id)).toEqual({ intent: null, dueAt: null, charge: "returned" });
    }
    await runSchedule(fixture.quotes.fixture.env());
    expect(await used()).toBe(0);
    const events = await openDb(env).all<{ data: string }>(
      "SELECT data FROM event WHERE record_id = ? ORDER BY sequence",
      id,
    );
    expect(events.map(({ data }) => JSON.parse(data).NextAction.requestedAction)).toEqual([
      "FundsLockingRequested",
      "None",
    ]);
    // The identifier is used up all the same.
    expect((await fixture.purchases())[0]).toMatchObject({ id });
  });

  it("holds what it cost until its transaction can land no more", async () => {
    const { fixture, id, cancel } = await opened();
    const intent = JSON.parse((await row(id))?.intent ?? "null") as Intent;
    await tell(id, intent, fixture, "Stored");
    expect(await cancel()).toMatchObject({
      status: 200,
      data: {
        NextAction: { requestedAction: "FundsLockingInitiated" },
        CurrentTransaction: { txHash: TX, status: "Pending" },
      },
    });
    await tell(id, intent, fixture, "Expired");
    await runSchedule(fixture.quotes.fixture.env());
    expect((await fixture.purchases())[0]).toMatchObject({
      NextAction: { requestedAction: "None" },
    });
    expect(await row(id)).toMatchObject({ dueAt: null, charge: "held" });
    expect(await used()).toBe(1);
    await tell(id, intent, fixture, "Dead");
    await runSchedule(fixture.quotes.fixture.env());
    expect(await row(id)).toMatchObject({ dueAt: null, charge: "returned" });
    expect(await used()).toBe(0);
  });

  it("is overtaken by the lock that lands all the same, which stays charged", async () => {
    const { fixture, quote, id, cancel } = await opened();
    const { chain, sourceId, sellers } = fixture.quotes.fixture;
    await cancel();
    await env.DB.prepare("UPDATE escrow SET charge = 'held' WHERE id = ?").bind(id).run();
    const datum = datumOf(quote, sellers[0].address);
    const funds = [{ unit: "", amount: "5000000" }];
    await chain.act([
      { do: "lock", as: "late", version: "Web3ChainV1", funds, collateral: "0", datum },
    ]);
    await settle(chain, sourceId, { env: { BLOCKFROST_URL_PREPROD: chain.url } });
    await runSchedule(fixture.quotes.fixture.env());
    expect((await fixture.purchases())[0]).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
    });
    expect(await row(id)).toMatchObject({ charge: "held" });
    expect(await cancel()).toMatchObject({
      status: 409,
      message:
        "blockchainIdentifier: the purchase is FundsLocked. Only a purchase without locked funds can be cancelled.",
    });
  });

  it("is for the purchase's owner and Admins, and for purchases that were asked for", async () => {
    const { fixture, quote, cancel } = await opened();
    const other = { token: await insertKey({ canPay: true }) };
    expect(await cancel(other)).toMatchObject({
      status: 403,
      message: "blockchainIdentifier: the purchase belongs to another API key",
    });
    const { blockchainIdentifier } = await fixture.quote();
    expect(
      await fixture.ask("/purchase/cancel", { network: "Preprod", blockchainIdentifier }),
    ).toMatchObject({ status: 404 });
    expect((await cancel({})).status).toBe(200);
    expect((await fixture.purchase(quote)).status).toBe(409);
  });
});
