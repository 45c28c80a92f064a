import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import type { ShownEscrow } from "../../support/escrow/buying.ts";
import { StepDesk } from "../../support/escrow/stepping.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NONE = { requestedAction: "None", errorType: null };

/** The statuses of a side's transactions, the oldest first. */
async function statuses(side: "payment" | "purchase"): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT t.status FROM escrow_transaction t JOIN escrow ON escrow.id = record_id
     WHERE side = ? AND t.want IS NOT NULL ORDER BY t.id`,
  )
    .bind(side)
    .all<{ status: string }>();
  return results.map(({ status }) => status);
}

const action = async (desk: StepDesk, side: "payment" | "purchase") =>
  (await desk.buying.only(side)).NextAction.requestedAction;

/** Runs the seller's wallet, a few times at the most, until the escrow is in a state. */
async function actUntil(desk: StepDesk, state: string): Promise<void> {
  for (let runs = 0; runs < 6 && (await desk.state()) !== state; runs++) await desk.act("payment");
  expect(await desk.state()).toBe(state);
}

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("with %s", (type) => {
  it("§3.9a: a withdrawal whose transaction timed out is made again by itself", async () => {
    const desk = await StepDesk.open(type);
    const { chain, desk: service } = desk.buying;
    await desk.take("submit-result");
    await desk.later(24 * HOUR);
    service.bindings = { CHAIN_CLOCK: "tip" };
    await chain.holdBlocks();
    expect((await desk.ask("withdraw")).status).toBe(200);
    await service.work();
    expect(await action(desk, "payment")).toBe("WithdrawInitiated");
    await chain.evict();
    await desk.later(10 * MINUTE);
    await service.work();
    for (let runs = 0; runs < 5 && (await chain.mempool()).length === 0; runs++) {
      await service.skipPauses();
      await service.work();
    }
    await chain.mine();
    await desk.buying.sync();
    expect(await desk.state()).toBe("Withdrawn");
    expect(await desk.buying.only("payment")).toMatchObject({ NextAction: NONE });
    expect(await statuses("payment")).toEqual(["Confirmed", "FailedViaTimeout", "Confirmed"]);
  });

  it("§3.12 rollback of a submit, of a withdraw: a result and a withdrawal that are rolled back are sent again, and nothing twice", async () => {
    const desk = await StepDesk.open(type);
    const { chain, desk: service } = desk.buying;
    await desk.take("submit-result");
    // It sees that the block has its transaction.
    await service.work();
    await chain.rollback(1);
    await chain.mine(2);
    await desk.buying.sync();
    expect(await desk.state()).toBe("FundsLocked");
    expect(await action(desk, "payment")).toBe("SubmitResultInitiated");
    await actUntil(desk, "ResultSubmitted");

    await desk.later(24 * HOUR);
    await desk.take("withdraw");
    await service.work();
    expect(await desk.state()).toBe("Withdrawn");
    await chain.rollback(1);
    await chain.mine(2);
    await desk.buying.sync();
    expect(await desk.state()).toBe("ResultSubmitted");
    expect(await action(desk, "payment")).toBe("WithdrawInitiated");
    await actUntil(desk, "Withdrawn");
    expect(await statuses("payment")).toEqual(["Confirmed", "Confirmed"]);
  });

  it("§3.9b, §3.12 node's view lags: a withdrawal that no node takes keeps the output that it spends, and is made all the same", async () => {
    const desk = await StepDesk.open(type);
    const { chain, desk: service } = desk.buying;
    await desk.take("submit-result");
    await desk.later(24 * HOUR);
    const body = JSON.stringify({
      error: "Bad Request",
      status_code: 400,
      message: "BadInputsUTxO",
    });
    await chain.faults({ match: "/tx/submit", status: 400, body });
    await desk.ask("withdraw");
    await service.work();
    await service.skipPauses();
    await service.work();
    await chain.faults();
    await desk.later(10 * MINUTE);
    await actUntil(desk, "Withdrawn");
    expect(await desk.buying.only("payment")).toMatchObject({ NextAction: NONE });
  });

  it("§3.12 two services on one wallet: a withdrawal that another service with the same key makes first is done, and no error", async () => {
    const desk = await StepDesk.open(type);
    const { chain } = desk.buying;
    const at = (ms: number) => String(Date.now() + ms);
    await chain.act([
      {
        ...{
          do: "lock",
          as: "a",
          version: type,
          payByTime: at(HOUR),
          submitResultTime: at(2 * HOUR),
        },
        ...{ unlockTime: at(4 * HOUR), externalDisputeUnlockTime: at(6 * HOUR) },
      },
      { do: "submitResult", on: "a" },
    ]);
    await desk.later(5 * HOUR);
    await desk.buying.sync();
    const payments = await desk.buying.shown("payment");
    const { blockchainIdentifier } = payments.find(
      (one) => one.onChainState === "ResultSubmitted",
    ) as ShownEscrow;
    expect((await desk.ask("withdraw", { blockchainIdentifier })).status).toBe(200);
    await chain.act([{ do: "withdraw", on: "a" }]);
    await desk.buying.sync();
    const after = await desk.buying.shown("payment");
    expect(after.find((one) => one.blockchainIdentifier === blockchainIdentifier)).toMatchObject({
      onChainState: "Withdrawn",
      NextAction: NONE,
    });
  });
});

describe("a deadline", () => {
  it("§3.9c: that passes with a step undone ends it visibly, and what is left for the party is done", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { chain, desk: service } = desk.buying;
    expect((await desk.ask("request-refund")).status).toBe(200);
    await chain.advance(24 * HOUR);
    await chain.mine();
    service.bindings = { CHAIN_CLOCK: "tip" };
    await desk.act("purchase");
    expect((await desk.buying.only("purchase")).onChainState).toBe("RefundWithdrawn");
  });
});
