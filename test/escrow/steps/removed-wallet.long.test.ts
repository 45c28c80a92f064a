import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS, type RecordError } from "../../../src/escrow/model/intent.ts";
import { createEscrowWalletFinder } from "../../../src/escrow/tasks/wallets-with-escrows.ts";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  type ShownEscrow,
  storedRecords,
} from "../../support/escrow/payment-source-fixture.ts";
import { HOUR } from "../../support/escrow/quote-fixture.ts";
import { StepFixture } from "../../support/escrow/step-fixture.ts";

beforeEach(emptyTables);

const NOTE =
  "Its wallet or payment source was removed, so the service does not act on it. Add the wallet again to go on";
const REMOVED = {
  requestedAction: "WaitingForManualAction",
  errorType: "Unknown",
  errorNote: NOTE,
};
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null, errorNote: null };

interface SellingWallet {
  id: string;
  walletVkey: string;
  drives: string;
}

async function change(buying: PaymentSourceFixture, fields: object): Promise<void> {
  const { fixture } = buying;
  const { status, message } = await fixture.ask("PATCH", "/payment-source-extended", {
    id: fixture.sourceId,
    ...fields,
  });
  expect(status, message).toBe(200);
}

async function seller({ fixture }: PaymentSourceFixture): Promise<SellingWallet> {
  const { data } = await fixture.ask<{ Wallets: SellingWallet[] }>(
    "GET",
    "/wallet/list?walletType=Selling",
  );
  const own = data.Wallets.find(({ walletVkey }) => walletVkey === fixture.sellers[0].vkey);
  if (!own) throw new Error("the seller's wallet is not there");
  return own;
}

async function remove(buying: PaymentSourceFixture): Promise<void> {
  const { id } = await seller(buying);
  await change(buying, { RemoveSellingWallets: [{ id }], force: true });
}

const addAgain = (buying: PaymentSourceFixture, more: object = {}) =>
  change(buying, {
    AddSellingWallets: [{ walletMnemonic: buying.fixture.sellers[0].mnemonic, ...more }],
  });

const decide = (fixture: StepFixture, path: string, more: object = {}) =>
  fixture.buying.fixture.ask("POST", `/payment/${path}`, {
    network: "Preprod",
    blockchainIdentifier: fixture.identifier,
    ...more,
  });

const next = (shown: ShownEscrow) => shown.Next as { action: string; waitsFor: string | null };

/** Writes a record's error as if a lock beside it had been found. */
async function findOtherFunds(fixture: StepFixture, side: Side): Promise<RecordError> {
  const note = "The wallet has locked the funds once more, in abc#0";
  const error = {
    isManual: true,
    type: "Unknown",
    note,
    txHash: null,
    isOfOtherFunds: true,
  } as const;
  await fixture.put(side, { progress: { ...IDLE_PROGRESS, error } });
  return error;
}

describe("a record whose wallet was removed", () => {
  it("says so after a step that was on its way has landed, and goes on with the next when it is back", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    buying.fixture.bindings = { CHAIN_CLOCK: "tip" };
    expect((await fixture.ask("submit-result")).status).toBe(200);
    await buying.fixture.work();
    await remove(buying);
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    await buying.sync();
    await fixture.later(24 * HOUR);
    await buying.sync();
    const payment = await buying.only("payment");
    expect(payment).toMatchObject({ onChainState: "ResultSubmitted", NextAction: REMOVED });
    expect(next(payment).waitsFor).toBe("a person who adds its removed wallet again");
    expect(await createEscrowWalletFinder("tip")(openDb(env), Date.now())).toEqual([]);
    await buying.fixture.work();
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);

    await addAgain(buying);
    await fixture.act("payment");
    expect((await buying.only("payment")).onChainState).toBe("Withdrawn");
  });

  it("goes on with what is wanted of it when the wallet is back, which keeps its id and what it drives", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    expect((await fixture.ask("submit-result")).status).toBe(200);
    const before = await seller(buying);
    await remove(buying);
    await fixture.act("payment");
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    const { data } = await buying.fixture.ask<{ Tasks: object[] }>("GET", "/task?network=Preprod");
    expect(data.Tasks).toMatchObject([{ status: "NeedsPerson", reason: NOTE }]);
    await addAgain(buying);
    expect(await seller(buying)).toMatchObject({ id: before.id, drives: "all" });
    await fixture.act("payment");
    expect((await buying.only("payment")).onChainState).toBe("ResultSubmitted");
  });

  it("goes on although the other party has moved the escrow meanwhile", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    await remove(fixture.buying);
    await fixture.take("request-refund");
    expect(await fixture.buying.only("payment")).toMatchObject({
      onChainState: "RefundRequested",
      NextAction: REMOVED,
    });
    await addAgain(fixture.buying);
    await fixture.buying.sync();
    expect((await fixture.buying.only("payment")).NextAction).toMatchObject(WAITING);
    expect((await fixture.ask("submit-result")).status).toBe(200);
  });

  it("takes up the lock that came while its wallet was away, though its time was over meanwhile", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV1");
    await buying.buy();
    await remove(buying);
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    await buying.work();
    await buying.chain.advance(1.5 * HOUR);
    await buying.chain.mine();
    await buying.sync();
    expect(await buying.only("payment")).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: REMOVED,
    });
    await addAgain(buying);
    await buying.sync();
    expect(await buying.only("payment")).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: WAITING,
    });
  });

  it("says so of an escrow that had ended, when a rollback opens it again", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    buying.fixture.bindings = { CHAIN_CLOCK: "tip" };
    await fixture.take("submit-result");
    await fixture.later(24 * HOUR);
    await fixture.act("payment");
    const ended = await buying.only("payment");
    expect(ended.onChainState).toBe("Withdrawn");
    await remove(buying);
    expect(await buying.only("payment")).toEqual(ended);
    await buying.chain.rollback(1);
    await buying.chain.mine();
    await buying.sync();
    expect(await buying.only("payment")).toMatchObject({
      onChainState: "ResultSubmitted",
      NextAction: REMOVED,
    });
  });

  it("keeps what a person has to decide, and shows it too", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { note } = await findOtherFunds(fixture, "payment");
    await remove(fixture.buying);
    expect((await fixture.buying.only("payment")).NextAction).toMatchObject({
      ...REMOVED,
      errorNote: `${NOTE}; also: ${note}`,
    });
    await addAgain(fixture.buying);
    expect((await fixture.buying.only("payment")).NextAction).toMatchObject({
      requestedAction: "WaitingForManualAction",
      errorNote: note,
    });
  });

  it("refuses steps, retries and decisions, which change nothing of that", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    expect((await fixture.ask("submit-result")).status).toBe(200);
    await remove(buying);
    const refused = {
      status: 409,
      message: `blockchainIdentifier: the payment cannot go on. ${NOTE}`,
    };
    const { updatedAt } = await buying.only("payment");
    for (const retryPreviousAction of [false, true])
      expect(
        await decide(fixture, "error-state-recovery", { updatedAt, retryPreviousAction }),
      ).toMatchObject(refused);
    expect(await decide(fixture, "retry")).toMatchObject(refused);
    expect(await fixture.ask("submit-result")).toMatchObject(refused);
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    expect((await storedRecords("payment"))[0]?.progress.intent?.step).toBe("SubmitResult");
  });

  it("tells its followers when it is removed and when it is back, by a stamp and an event each", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    let last = (await buying.only("payment")).nextActionLastChangedAt;
    const changed = async () => {
      const { data } = await buying.fixture.ask<{ Payments: ShownEscrow[] }>(
        "GET",
        `/payment/diff/next-action?network=Preprod&lastUpdate=${last}`,
      );
      last = data.Payments[0]?.nextActionLastChangedAt ?? last;
      return data.Payments.map(({ NextAction }) => NextAction.requestedAction);
    };
    const events = async () => {
      const { results } = await env.DB.prepare("SELECT kind FROM event ORDER BY id").all();
      await env.DB.prepare("DELETE FROM event").run();
      return results.map(({ kind }) => kind);
    };
    await events();
    await remove(buying);
    expect(await changed()).toEqual(["WaitingForManualAction"]);
    expect(await events()).toEqual(["PAYMENT_ON_CHAIN_STATUS_CHANGED", "PAYMENT_ON_ERROR"]);
    await addAgain(buying);
    expect(await changed()).toEqual(["WaitingForExternalAction"]);
    expect(await events()).toEqual(["PAYMENT_ON_CHAIN_STATUS_CHANGED"]);
  });

  it("says that the wallet which is back drives nothing, whatever id it has", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    expect((await fixture.ask("submit-result")).status).toBe(200);
    await remove(buying);
    await addAgain(buying, { drives: "nothing" });
    // As versions did that gave it a new one.
    await env.DB.prepare("UPDATE managed_wallet SET id = 'another' WHERE vkey = ?")
      .bind(buying.fixture.sellers[0].vkey)
      .run();
    expect(next(await buying.only("payment")).waitsFor).toBe(
      "waits for its wallet, whose drives is nothing",
    );
  });

  it("is told of the removal by the wallet, where nobody else has come to it, and keeps what is wanted", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { buying } = fixture;
    expect((await fixture.ask("submit-result")).status).toBe(200);
    await findOtherFunds(fixture, "purchase");
    const inNoTime: object = { REQUEST_DEADLINE_MS: "5000" };
    buying.fixture.bindings = inNoTime;
    const { sourceId } = buying.fixture;
    const removal = { id: sourceId, force: true };
    expect((await buying.fixture.ask("DELETE", "/payment-source-extended", removal)).status).toBe(
      200,
    );
    buying.fixture.bindings = {};
    expect((await buying.only("payment")).NextAction.requestedAction).toBe("SubmitResultRequested");
    await buying.fixture.settle();
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    expect((await storedRecords("payment"))[0]?.progress.intent?.step).toBe("SubmitResult");
  });
});
