import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import { walletTransactions } from "../../support/escrow/payment-source-fixture.ts";
import { StepFixture } from "../../support/escrow/step-fixture.ts";
import { found } from "../../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NONE = { requestedAction: "None", errorType: null };
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null };
/** A node beside the one that the other service speaks to. */
const OUR_NODE = 1;

/** The statuses of a side's transactions, the oldest first. */
async function statuses(side: "payment" | "purchase"): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT t.status FROM escrow_transaction t JOIN escrow ON escrow.id = record_id
     WHERE side = ? AND t.intent IS NOT NULL ORDER BY t.id`,
  )
    .bind(side)
    .all<{ status: string }>();
  return results.map(({ status }) => status);
}

const action = async (fixture: StepFixture, side: "payment" | "purchase") =>
  (await fixture.buying.only(side)).NextAction.requestedAction;

/** Runs the seller's wallet, a few times at the most, until the escrow is in a state. */
async function actUntil(fixture: StepFixture, state: string): Promise<void> {
  for (let runs = 0; runs < 6 && (await fixture.state()) !== state; runs++)
    await fixture.act("payment");
  expect(await fixture.state()).toBe(state);
}

/** A service, and beside its own escrow one that another service with the seller's key may withdraw too. */
async function withAnotherService(type: PaymentSourceType) {
  const at = (ms: number) => Date.now() + ms;
  const fixture = await StepFixture.open(type, {
    submitResultTime: new Date(at(12 * HOUR)).toISOString(),
  });
  const { chain } = fixture.buying;
  const [locked] = await chain.act([
    {
      ...{ do: "lock", as: "a", version: type, payByTime: String(at(HOUR)) },
      ...{ submitResultTime: String(at(2 * HOUR)), unlockTime: String(at(4 * HOUR)) },
      externalDisputeUnlockTime: String(at(6 * HOUR)),
    },
    { do: "submitResult", on: "a" },
  ]);
  await fixture.later(5 * HOUR);
  await fixture.buying.sync();
  const blockchainIdentifier = locked?.escrows[0]?.identifier ?? "";
  const shown = async () =>
    found(
      await fixture.buying.shown("payment"),
      (one) => one.blockchainIdentifier === blockchainIdentifier,
    );
  return { fixture, blockchainIdentifier, shown };
}

describe.each(sampled(2, ["Web3ChainV1", "Web3ChainV2"] as const, 1))("with %s", (type) => {
  it("the wallet sends a withdrawal again after its transaction has timed out", async () => {
    const fixture = await StepFixture.open(type);
    const { chain, fixture: service } = fixture.buying;
    await fixture.take("submit-result");
    await fixture.later(24 * HOUR);
    service.bindings = { CHAIN_CLOCK: "tip" };
    await chain.holdBlocks();
    expect((await fixture.ask("withdraw")).status).toBe(200);
    await service.work();
    expect(await action(fixture, "payment")).toBe("WithdrawInitiated");
    await chain.evict();
    await fixture.later(10 * MINUTE);
    await service.work();
    for (let runs = 0; runs < 5 && (await chain.mempool()).length === 0; runs++) {
      await service.skipPauses();
      await service.work();
    }
    await chain.mine();
    await fixture.buying.sync();
    expect(await fixture.state()).toBe("Withdrawn");
    expect(await fixture.buying.only("payment")).toMatchObject({ NextAction: NONE });
    expect(await statuses("payment")).toEqual(["Confirmed", "FailedViaTimeout", "Confirmed"]);
  });

  it("the wallet sends a result and a withdrawal again after a rollback, and neither of them twice", async () => {
    const fixture = await StepFixture.open(type);
    const { chain, fixture: service } = fixture.buying;
    await fixture.take("submit-result");
    // It sees that the block has its transaction.
    await service.work();
    await chain.rollback(1);
    await chain.mine(2);
    await fixture.buying.sync();
    expect(await fixture.state()).toBe("FundsLocked");
    expect(await action(fixture, "payment")).toBe("SubmitResultInitiated");
    await actUntil(fixture, "ResultSubmitted");

    await fixture.later(24 * HOUR);
    await fixture.take("withdraw");
    await service.work();
    expect(await fixture.state()).toBe("Withdrawn");
    await chain.rollback(1);
    await chain.mine(2);
    await fixture.buying.sync();
    expect(await fixture.state()).toBe("ResultSubmitted");
    expect(await action(fixture, "payment")).toBe("WithdrawInitiated");
    await actUntil(fixture, "Withdrawn");
    expect(await statuses("payment")).toEqual(["Confirmed", "Confirmed"]);
  });

  it("the wallet repeats a withdrawal that a lagging node refuses, until it lands", async () => {
    const fixture = await StepFixture.open(type);
    const { chain, fixture: service } = fixture.buying;
    await fixture.take("submit-result");
    await fixture.later(24 * HOUR);
    const body = JSON.stringify({
      error: "Bad Request",
      status_code: 400,
      message: "BadInputsUTxO",
    });
    await chain.faults({ match: "/tx/submit", status: 400, body });
    await fixture.ask("withdraw");
    await service.work();
    await service.skipPauses();
    await service.work();
    await chain.faults();
    await fixture.later(10 * MINUTE);
    await actUntil(fixture, "Withdrawn");
    expect(await fixture.buying.only("payment")).toMatchObject({ NextAction: NONE });
  });

  it("the wallet sends a result once more after its script failed in a block and cost the collateral", async () => {
    const fixture = await StepFixture.open(type);
    const { chain, fixture: service } = fixture.buying;
    await chain.holdBlocks();
    await fixture.ask("submit-result");
    await service.work();
    const [failed = "", ...others] = await chain.mempool();
    expect(others).toEqual([]);
    await chain.mine(1, { failed: [failed] });
    await fixture.buying.sync();
    expect(await fixture.state()).toBe("FundsLocked");
    expect(await chain.get(`/txs/${failed}`)).toMatchObject({ valid_contract: false });
    for (let runs = 0; runs < 6 && (await chain.mempool()).length === 0; runs++) {
      await service.skipPauses();
      await service.work();
    }
    expect(await chain.mempool()).toHaveLength(1);
    await chain.mine();
    await fixture.buying.sync();
    expect(await fixture.state()).toBe("ResultSubmitted");
    expect((await fixture.buying.only("payment")).NextAction.errorType).toBeNull();
    expect(await statuses("payment")).toEqual(["RolledBack", "Confirmed"]);
  });

  it("a result whose submission got no answer is submitted once, and its record shows no error", async () => {
    const fixture = await StepFixture.open(type);
    const { chain, fixture: service } = fixture.buying;
    await fixture.ask("submit-result");
    await chain.faults({ match: "/tx/submit", truncate: true });
    await service.work();
    await chain.faults();
    expect(await action(fixture, "payment")).toBe("SubmitResultInitiated");
    await chain.stats();
    for (let runs = 0; runs < 2; runs++) await fixture.act("payment");
    expect((await chain.stats()).calls["POST /tx/submit"]).toBeUndefined();
    expect(await fixture.state()).toBe("ResultSubmitted");
    expect(await fixture.buying.only("payment")).toMatchObject({ NextAction: WAITING });
    expect(await statuses("payment")).toEqual(["Confirmed"]);
  });

  it("a withdrawal counts as done, without an error, when another service with the same key sends it first", async () => {
    const { fixture, blockchainIdentifier, shown } = await withAnotherService(type);
    expect((await fixture.ask("withdraw", { blockchainIdentifier })).status).toBe(200);
    await fixture.buying.chain.act([{ do: "withdraw", on: "a" }]);
    await fixture.buying.sync();
    expect(await shown()).toMatchObject({ onChainState: "Withdrawn", NextAction: NONE });
  });

  it.each([
    ["the other one's", 0, "RolledBack", "Orphaned"],
    ["ours", OUR_NODE, "Confirmed", "Confirmed"],
  ] as const)(
    "of two services' withdrawals of one output %s lands, and this service reports no error",
    async (_, landing, status, phase) => {
      const { fixture, blockchainIdentifier, shown } = await withAnotherService(type);
      const { chain, fixture: service } = fixture.buying;
      service.bindings = { CHAIN_CLOCK: "tip" };
      await chain.holdBlocks();
      await chain.faults({ match: "/tx/submit", node: OUR_NODE });
      expect((await fixture.ask("withdraw", { blockchainIdentifier })).status).toBe(200);
      await service.work();
      await chain.act([{ do: "withdraw", on: "a" }]);
      const sent = [await chain.mempool(0), await chain.mempool(OUR_NODE)];
      expect(sent.map(({ length }) => length)).toEqual([1, 1]);

      await chain.mine(1, { node: landing });
      for (let runs = 0; runs < 2; runs++) await fixture.act("payment");
      expect(await shown()).toMatchObject({
        onChainState: "Withdrawn",
        NextAction: NONE,
        CurrentTransaction: { txHash: sent[landing]?.[0], status: "Confirmed" },
      });
      expect(await statuses("payment")).toEqual([status]);
      expect(await walletTransactions()).toContainEqual({ hash: sent[OUR_NODE]?.[0], phase });
      for (const node of [0, OUR_NODE]) expect(await chain.mempool(node)).toEqual([]);

      // The wallet goes on with the outputs that it has now.
      expect((await fixture.ask("submit-result")).status).toBe(200);
      await service.work();
      await chain.mine(1, { node: OUR_NODE });
      await fixture.buying.sync();
      const states = (await fixture.buying.shown("payment")).map(
        ({ onChainState }) => onChainState,
      );
      expect(states.toSorted()).toEqual(["ResultSubmitted", "Withdrawn"]);
    },
  );
});

describe("a deadline", () => {
  it("that passes ends an open step visibly, and leaves the party the steps that are still possible", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { chain, fixture: service } = fixture.buying;
    expect((await fixture.ask("request-refund")).status).toBe(200);
    await chain.advance(24 * HOUR);
    await chain.mine();
    service.bindings = { CHAIN_CLOCK: "tip" };
    await fixture.act("purchase");
    expect((await fixture.buying.only("purchase")).onChainState).toBe("RefundWithdrawn");
  });
});
