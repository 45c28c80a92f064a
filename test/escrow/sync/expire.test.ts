import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { db, violates } from "../../../src/db/client.ts";
import { chargesReturned, chargesToReturn } from "../../../src/escrow/tasks/charge.ts";
import { emptyTables } from "../../support/app.ts";
import { BuyDesk } from "../../support/escrow/buying.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;

async function later(buying: BuyDesk, ms: number): Promise<void> {
  await buying.chain.advance(ms);
  await buying.chain.mine();
}

it("what is not locked in time expires, on both sides, once the chain was followed beyond it", async () => {
  const buying = await BuyDesk.open();
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
    });
  await buying.work();
  expect(await env.DB.prepare("SELECT count(*) AS n FROM wallet_transaction").first("n")).toBe(0);
});

it("a lock that may still land is waited for, and its charge is held until it cannot", async () => {
  const buying = await BuyDesk.open();
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
  const toReturn = () => chargesToReturn(db(env), "Preprod", 10);
  expect(await toReturn()).toEqual([]);

  await buying.chain.mine(25);
  await buying.work();
  expect(await toReturn()).toEqual([{ id, requestedById: "env-admin" }]);
  await db(env).batch([chargesReturned([id])]);
  expect(await toReturn()).toEqual([]);
  const twice = await db(env)
    .batch([chargesReturned([id])])
    .catch((error: unknown) => error);
  expect(violates(twice, "escrow.rev")).toBe(true);
});
