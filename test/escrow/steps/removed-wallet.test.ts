import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { db } from "../../../src/db/client.ts";
import type { Side } from "../../../src/escrow/record.ts";
import { walletsWithEscrows } from "../../../src/escrow/tasks/wake.ts";
import { NOTHING_WANTED, type RecordError } from "../../../src/escrow/wanted.ts";
import { emptyTables } from "../../support/app.ts";
import { BuyDesk, type ShownEscrow, storedRecords } from "../../support/escrow/buying.ts";
import { HOUR } from "../../support/escrow/quoting.ts";
import { StepDesk } from "../../support/escrow/stepping.ts";

beforeEach(emptyTables);

const NOTE =
  "Its wallet or payment source was removed: nothing is done for it any more. Add the wallet again to go on";
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

async function change(buying: BuyDesk, fields: object): Promise<void> {
  const { desk } = buying;
  const { status, message } = await desk.ask("PATCH", "/payment-source-extended", {
    id: desk.sourceId,
    ...fields,
  });
  expect(status, message).toBe(200);
}

async function seller({ desk }: BuyDesk): Promise<SellingWallet> {
  const { data } = await desk.ask<{ Wallets: SellingWallet[] }>(
    "GET",
    "/wallet/list?walletType=Selling",
  );
  const own = data.Wallets.find(({ walletVkey }) => walletVkey === desk.sellers[0].vkey);
  if (!own) throw new Error("the seller's wallet is not there");
  return own;
}

async function remove(buying: BuyDesk): Promise<void> {
  const { id } = await seller(buying);
  await change(buying, { RemoveSellingWallets: [{ id }], force: true });
}

const addAgain = (buying: BuyDesk, more: object = {}) =>
  change(buying, {
    AddSellingWallets: [{ walletMnemonic: buying.desk.sellers[0].mnemonic, ...more }],
  });

const decide = (desk: StepDesk, path: string, more: object = {}) =>
  desk.buying.desk.ask("POST", `/payment/${path}`, {
    network: "Preprod",
    blockchainIdentifier: desk.identifier,
    ...more,
  });

const next = (shown: ShownEscrow) => shown.Next as { action: string; waitsFor: string | null };

/** Writes a record's error as if a lock beside it had been found. */
async function findOtherFunds(desk: StepDesk, side: Side): Promise<RecordError> {
  const note = "The wallet has locked the funds once more, in abc#0";
  const error = {
    isManual: true,
    type: "Unknown",
    note,
    txHash: null,
    isOfOtherFunds: true,
  } as const;
  await desk.put(side, { wanted: { ...NOTHING_WANTED, error } });
  return error;
}

describe("a record whose wallet was removed", () => {
  it("says so after a step that was on its way has landed, and goes on with the next when it is back", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    buying.desk.bindings = { CHAIN_CLOCK: "tip" };
    expect((await desk.ask("submit-result")).status).toBe(200);
    await buying.desk.work();
    await remove(buying);
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    await buying.sync();
    await desk.later(24 * HOUR);
    await buying.sync();
    const payment = await buying.only("payment");
    expect(payment).toMatchObject({ onChainState: "ResultSubmitted", NextAction: REMOVED });
    expect(next(payment).waitsFor).toBe("its wallet, which was removed, to be added again");
    expect(await walletsWithEscrows("tip")(db(env), Date.now())).toEqual([]);
    await buying.desk.work();
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);

    await addAgain(buying);
    await desk.act("payment");
    expect((await buying.only("payment")).onChainState).toBe("Withdrawn");
  });

  it("goes on with what is wanted of it when the wallet is back, which keeps its id and what it drives", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    expect((await desk.ask("submit-result")).status).toBe(200);
    const before = await seller(buying);
    await remove(buying);
    await desk.act("payment");
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    const { data } = await buying.desk.ask<{ Tasks: object[] }>("GET", "/task?network=Preprod");
    expect(data.Tasks).toMatchObject([{ status: "NeedsPerson", reason: NOTE }]);
    await addAgain(buying);
    expect(await seller(buying)).toMatchObject({ id: before.id, drives: "all" });
    await desk.act("payment");
    expect((await buying.only("payment")).onChainState).toBe("ResultSubmitted");
  });

  it("goes on although the other party has moved the escrow meanwhile", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    await remove(desk.buying);
    await desk.take("request-refund");
    expect(await desk.buying.only("payment")).toMatchObject({
      onChainState: "RefundRequested",
      NextAction: REMOVED,
    });
    await addAgain(desk.buying);
    await desk.buying.sync();
    expect((await desk.buying.only("payment")).NextAction).toMatchObject(WAITING);
    expect((await desk.ask("submit-result")).status).toBe(200);
  });

  it("takes up the lock that came while its wallet was away, though its time was over meanwhile", async () => {
    const buying = await BuyDesk.open("Web3ChainV1");
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
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    buying.desk.bindings = { CHAIN_CLOCK: "tip" };
    await desk.take("submit-result");
    await desk.later(24 * HOUR);
    await desk.act("payment");
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
    const desk = await StepDesk.open("Web3ChainV1");
    const { note } = await findOtherFunds(desk, "payment");
    await remove(desk.buying);
    expect((await desk.buying.only("payment")).NextAction).toMatchObject({
      ...REMOVED,
      errorNote: `${NOTE}; beside that: ${note}`,
    });
    await addAgain(desk.buying);
    expect((await desk.buying.only("payment")).NextAction).toMatchObject({
      requestedAction: "WaitingForManualAction",
      errorNote: note,
    });
  });

  it("refuses steps, retries and decisions, which change nothing of that", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    expect((await desk.ask("submit-result")).status).toBe(200);
    await remove(buying);
    const refused = {
      status: 409,
      message: `blockchainIdentifier: the payment cannot go on. ${NOTE}`,
    };
    const { updatedAt } = await buying.only("payment");
    for (const retryPreviousAction of [false, true])
      expect(
        await decide(desk, "error-state-recovery", { updatedAt, retryPreviousAction }),
      ).toMatchObject(refused);
    expect(await decide(desk, "retry")).toMatchObject(refused);
    expect(await desk.ask("submit-result")).toMatchObject(refused);
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    expect((await storedRecords("payment"))[0]?.wanted.want?.step).toBe("SubmitResult");
  });

  it("tells its followers when it is removed and when it is back, by a stamp and an event each", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    let last = (await buying.only("payment")).nextActionLastChangedAt;
    const changed = async () => {
      const { data } = await buying.desk.ask<{ Payments: ShownEscrow[] }>(
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
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    expect((await desk.ask("submit-result")).status).toBe(200);
    await remove(buying);
    await addAgain(buying, { drives: "nothing" });
    // As versions did that gave it a new one.
    await env.DB.prepare("UPDATE managed_wallet SET id = 'another' WHERE vkey = ?")
      .bind(buying.desk.sellers[0].vkey)
      .run();
    expect(next(await buying.only("payment")).waitsFor).toBe(
      "waits for its wallet, whose drives is nothing",
    );
  });

  it("is told of the removal by the wallet, where nobody else has come to it, and keeps what is wanted", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    expect((await desk.ask("submit-result")).status).toBe(200);
    await findOtherFunds(desk, "purchase");
    const inNoTime: object = { REQUEST_DEADLINE_MS: "5000" };
    buying.desk.bindings = inNoTime;
    const { sourceId } = buying.desk;
    const removal = { id: sourceId, force: true };
    expect((await buying.desk.ask("DELETE", "/payment-source-extended", removal)).status).toBe(200);
    buying.desk.bindings = {};
    expect((await buying.only("payment")).NextAction.requestedAction).toBe("SubmitResultRequested");
    await buying.desk.settle();
    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    expect((await storedRecords("payment"))[0]?.wanted.want?.step).toBe("SubmitResult");
  });

  it("goes on when it was given up by the version that stored it as an error", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { buying } = desk;
    const other = "The wallet has locked the funds once more, in abc#0";
    const error = (note: string) => ({
      ...{ isManual: true, type: "Unknown", note, txHash: null },
    });
    await remove(buying);
    await env.DB.prepare("UPDATE escrow SET wallet_removed = NULL, doc_version = 'old'").run();
    const moved = "The escrow moved while a decision was due";
    await desk.put("payment", { wanted: { error: error(`${NOTE}; then: ${moved}`) } });
    await desk.put("purchase", {
      wanted: { error: { ...error(`${NOTE}; then: ${other}`), isOfOtherFunds: true } },
    });
    await env.DB.prepare("UPDATE escrow SET doc_version = 'old'").run();
    const migration = env.TEST_MIGRATIONS.find(({ name }) => name.startsWith("0037"));
    const update = migration?.queries.find((query) => query.includes("UPDATE"));
    await env.DB.prepare(update ?? "").run();

    expect((await buying.only("payment")).NextAction).toMatchObject(REMOVED);
    expect((await buying.only("purchase")).NextAction.errorNote).toBe(
      `${NOTE}; beside that: ${other}`,
    );
    await addAgain(buying);
    expect((await buying.only("payment")).NextAction).toMatchObject(WAITING);
  });
});
