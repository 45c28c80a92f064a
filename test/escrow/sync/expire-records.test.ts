import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { openDb, violates } from "../../../src/db/client.ts";
import {
  findReturnableCharges,
  markChargesReturned,
} from "../../../src/escrow/purchases/charges.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  type ShownEscrow,
  storedRecords,
} from "../../support/escrow/payment-source-fixture.ts";
import { datumOf } from "../../support/escrow/quote-fixture.ts";
import { holdEventsToTheDocument } from "../../support/webhooks/declared.ts";

holdEventsToTheDocument();
beforeEach(emptyTables);

const HOUR = 60 * 60_000;

async function later(buying: PaymentSourceFixture, ms: number): Promise<void> {
  await buying.chain.advance(ms);
  await buying.chain.mine();
}

it("a payment without a lock expires for both sides, once the sync has passed its pay-by time", async () => {
  const buying = await PaymentSourceFixture.open();
  await buying.buy();
  await buying.sync();
  expect((await buying.only("purchase")).NextAction.requestedAction).toBe("FundsLockingRequested");
  await later(buying, HOUR + 60_000);
  expect((await buying.only("purchase")).NextAction.requestedAction).toBe("FundsLockingRequested");
  await buying.sync();
  for (const side of ["purchase", "payment"] as const)
    expect(await buying.only(side)).toMatchObject({
      onChainState: null,
      NextAction: { requestedAction: "None", errorType: null },
      expiredAt: expect.stringMatching(/^20/),
    });
  await buying.work();
  expect(await env.DB.prepare("SELECT count(*) AS n FROM wallet_transaction").first("n")).toBe(0);
});

it("the sync finds a quote paid that was paid in time, however late it reads the lock", async () => {
  const buying = await PaymentSourceFixture.open();
  await buying.buy();
  await buying.work();
  await later(buying, 2 * HOUR);
  // The cron's run in the middle of the outage, and then what the sync finds.
  expect((await buying.only("purchase")).NextAction.requestedAction).toBe("FundsLockingInitiated");
  await buying.work();
  await buying.sync();
  for (const side of ["purchase", "payment"] as const)
    expect(await buying.only(side)).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
    });
  const told = "SELECT count(*) AS n FROM event WHERE kind LIKE '%_ON_ERROR'";
  expect(await env.DB.prepare(told).first("n")).toBe(0);
});

it("a purchase waits for a lock that may still land, and keeps its charge until then", async () => {
  const buying = await PaymentSourceFixture.open();
  const { id } = await buying.buy();
  await env.DB.prepare("UPDATE escrow SET charge = 'held' WHERE id = ?").bind(id).run();
  await buying.chain.faults({ match: "/tx/submit", status: 504 });
  await buying.work();
  await buying.chain.faults();
  await later(buying, HOUR + 60_000);
  await buying.sync();
  expect((await buying.only("purchase")).NextAction.requestedAction).toBe("FundsLockingInitiated");
  await buying.work();
  await buying.sync();
  await later(buying, 60_000);
  await buying.sync();
  expect((await buying.only("purchase")).NextAction.requestedAction).toBe("None");
  const toReturn = () => findReturnableCharges(openDb(env), "Preprod", 10);
  expect(await toReturn()).toEqual([]);

  await buying.chain.mine(25);
  await buying.work();
  expect(await toReturn()).toEqual([{ id, requestedById: "env-admin" }]);
  await openDb(env).batch([markChargesReturned([id])]);
  expect(await toReturn()).toEqual([]);
  const twice = await openDb(env)
    .batch([markChargesReturned([id])])
    .catch((error: unknown) => error);
  expect(violates(twice, "escrow.revision")).toBe(true);
});

it("a lock with other terms does not use up a quote, whether it comes before, with or after the right lock", async () => {
  const buying = await PaymentSourceFixture.open();
  const { chain, fixture } = buying;
  const quotes: ShownEscrow[] = [];
  for (const name of ["before", "beside", "beside, later", "after", "late", "never"]) {
    const { id } = await buying.buy();
    await env.DB.prepare("UPDATE escrow SET charge = 'held' WHERE id = ?").bind(id).run();
    const known = quotes.map(({ id: one }) => one);
    const quote = (await buying.shown("payment")).find(({ id: one }) => !known.includes(one));
    if (!quote) throw new Error(`there is no quote for ${name}`);
    quotes.push(quote);
  }
  const [before, beside, besideLater, after, late, never] = quotes;
  const lock = (quote: ShownEscrow | undefined, amount: string) => ({
    ...{ as: crypto.randomUUID(), version: "Web3ChainV1", buyer: "buyer-0", collateral: "0" },
    funds: [{ unit: "", amount }],
    datum: quote && datumOf(quote, fixture.sellers[0].address),
  });
  const fits = (quote?: ShownEscrow) => lock(quote, "5000000");
  const deviates = (quote?: ShownEscrow) => lock(quote, "4999999");
  const one = (order: object) => ({ do: "lock", ...order });
  const together = (...orders: object[]) => ({ do: "lockAll", orders });
  await chain.holdBlocks();
  const [, good, both, bothLater, first] = await chain.act([
    one(deviates(before)),
    one(fits(before)),
    together(deviates(beside), fits(beside)),
    together(fits(besideLater), deviates(besideLater)),
    one(fits(after)),
    one(deviates(after)),
    one(deviates(late)),
    one(deviates(never)),
  ]);
  await chain.mine();
  await buying.sync();
  const shown = async (side: "payment" | "purchase") => {
    const all = await buying.shown(side);
    return quotes.map(({ blockchainIdentifier }) => {
      const found = all.find((record) => record.blockchainIdentifier === blockchainIdentifier);
      const { requestedAction, errorNote } = found?.NextAction ?? {};
      const note = errorNote?.includes("locks other terms") ? "noted" : "silent";
      return [found?.onChainState, requestedAction, note, found?.CurrentTransaction?.txHash];
    });
  };
  const locked = (note: string, step?: { txHash: string }) => [
    ...["FundsLocked", "WaitingForExternalAction"],
    ...[note, step?.txHash],
  ];
  const settled = [
    locked("silent", good),
    locked("silent", both),
    locked("silent", bothLater),
    locked("silent", first),
  ];
  const waiting = [null, "WaitingForExternalAction", "noted", undefined];
  expect(await shown("payment")).toEqual([...settled, waiting, waiting]);

  // One of which everybody thought that it was over: its lock was in time all the same.
  const over = (await storedRecords("payment")).filter(({ id }) => id === late?.id);
  const changes = new ChangeSet(over, Date.now(), 0);
  for (const record of over)
    changes.setProgress(
      record,
      { ...record.progress, expiredAt: 1 },
      { ...record.state, onChainState: "FundsOrDatumInvalid" },
    );
  await openDb(env).batch(
    writeChanges(changes, { sourceId: fixture.sourceId, network: "Preprod" }),
  );
  const invalid = ["FundsOrDatumInvalid", "None", "noted", undefined];
  expect(await shown("payment")).toEqual([...settled, invalid, waiting]);
  const [inTime] = await chain.act([one(fits(late))]);
  await chain.mine();
  await buying.sync();
  expect(await shown("payment")).toEqual([...settled, locked("silent", inTime), waiting]);

  await later(buying, HOUR + 60_000);
  // Twice: a cursor that was moved back reads it all again.
  for (let pass = 0; pass < 2; pass++) {
    await buying.sync();
    expect(await shown("payment")).toEqual([...settled, locked("silent", inTime), invalid]);
    expect((await shown("purchase")).at(-1)).toEqual(invalid);
    await openDb(env).batch(moveCursor(fixture.sourceId, null));
  }
  const ended = (await storedRecords("purchase")).find(
    ({ blockchainIdentifier }) => blockchainIdentifier === never?.blockchainIdentifier,
  );
  expect(await findReturnableCharges(openDb(env), "Preprod", 10)).toMatchObject([
    { id: ended?.id },
  ]);
  const told = await env.DB.prepare(
    "SELECT kind FROM event WHERE record_id = ? AND kind = 'PURCHASE_ON_ERROR'",
  )
    .bind(ended?.id)
    .all();
  expect(told.results).toHaveLength(2);
});
