import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { Side } from "../../../src/escrow/record.ts";
import { NOTHING_WANTED, type RecordError, type Want } from "../../../src/escrow/wanted.ts";
import { emptyTables } from "../../support/app.ts";
import { storedRecords } from "../../support/escrow/buying.ts";
import type { Shown } from "../../support/escrow/quoting.ts";
import { RESULT, StepDesk } from "../../support/escrow/stepping.ts";
import { insertKey } from "../../support/keys.ts";

beforeEach(emptyTables);

const want = (step: Want["step"], more: Partial<Want> = {}): Want => ({
  ...{ id: "want-a", step, resultHash: null, by: "key-a", since: 1, ...more },
});
const failed = (more: Partial<RecordError> = {}): RecordError => ({
  ...{ isManual: false, type: "Unknown", note: "It failed", txHash: null, ...more },
});
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null, errorNote: null };

const wanted = async (side: Side) => (await storedRecords(side))[0]?.wanted;

/** Takes the decision on a side's record as it is now. */
async function decide(desk: StepDesk, side: Side, retry?: boolean, headers = {}) {
  const { updatedAt } = await desk.buying.only(side);
  return desk.buying.desk.ask<Shown>(
    "POST",
    `/${side}/error-state-recovery`,
    {
      network: "Preprod",
      blockchainIdentifier: desk.identifier,
      updatedAt,
      ...(retry !== undefined && { retryPreviousAction: retry }),
    },
    headers,
  );
}

const retry = (desk: StepDesk, side: Side, headers = {}) =>
  desk.buying.desk.ask(
    "POST",
    `/${side}/retry`,
    { network: "Preprod", blockchainIdentifier: desk.identifier },
    headers,
  );

describe("POST …/error-state-recovery", () => {
  it("clears whatever error there is, on a record as it was read", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    expect(await decide(desk, "payment")).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the payment has no error to clear",
    });
    const parked = failed({ ended: want("SubmitResult", { resultHash: RESULT }) });
    await desk.put("payment", { wanted: { ...NOTHING_WANTED, error: parked } });
    const old = await desk.buying.desk.ask("POST", "/payment/error-state-recovery", {
      network: "Preprod",
      blockchainIdentifier: desk.identifier,
      updatedAt: "2026-01-01",
    });
    expect(old).toMatchObject({
      status: 409,
      message: expect.stringMatching(/^updatedAt: the payment was changed at 20/),
    });
    const other = { token: await insertKey({ canPay: true }) };
    expect((await decide(desk, "payment", false, other)).status).toBe(403);
    expect(await decide(desk, "payment")).toMatchObject({
      status: 200,
      data: { NextAction: WAITING },
    });

    const manual = failed({ isManual: true });
    const invalid = { onChainState: "FundsOrDatumInvalid" } as const;
    await desk.put("payment", { state: invalid, wanted: { ...NOTHING_WANTED, error: manual } });
    expect((await desk.buying.only("payment")).NextAction.requestedAction).toBe(
      "WaitingForManualAction",
    );
    expect(await decide(desk, "payment", true)).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the payment has no step to retry",
    });
    expect((await decide(desk, "payment")).data.NextAction).toMatchObject(WAITING);

    const over = { onChainState: "Withdrawn" } as const;
    await desk.put("purchase", { state: over, wanted: { ...NOTHING_WANTED, error: failed() } });
    expect((await decide(desk, "purchase")).data.NextAction).toMatchObject({
      requestedAction: "None",
      errorType: null,
    });
  });

  it("retries a failed step that is still possible, but no lock that could land twice", async () => {
    const desk = await StepDesk.open("Web3ChainV2");
    const submit = want("SubmitResult", { resultHash: RESULT, failures: 10, tryAt: 5e15 });
    await desk.put("payment", { wanted: { ...NOTHING_WANTED, error: failed({ ended: submit }) } });
    expect(await decide(desk, "payment", true)).toMatchObject({
      status: 200,
      data: {
        NextAction: {
          requestedAction: "SubmitResultRequested",
          resultHash: RESULT,
          errorType: null,
        },
      },
    });
    await desk.act("payment");
    expect(await desk.state()).toBe("ResultSubmitted");

    const lost = want("SetRefundRequested", { lostCollaterals: 2 });
    await desk.put("purchase", { wanted: { want: lost, error: failed({ isManual: true }) } });
    expect((await decide(desk, "purchase", true)).data.NextAction).toMatchObject({
      requestedAction: "SetRefundRequestedRequested",
    });
    expect((await wanted("purchase"))?.want).toMatchObject({ lostCollaterals: 2 });
    await desk.put("purchase", {
      wanted: { want: null, error: failed({ ended: want("WithdrawRefund") }) },
    });
    expect(await decide(desk, "purchase", true)).toMatchObject({
      status: 409,
      message: expect.stringMatching(/is ResultSubmitted, and WithdrawRefund is possible while/),
    });

    const lock = want("FundsLocking", { tryAt: 5e15 });
    const short = failed({ type: "InsufficientFunds" });
    await desk.put("purchase", { wanted: { want: lock, error: short } });
    expect(await decide(desk, "purchase", true)).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the purchase's funds are locked",
    });
    await desk.put("purchase", { state: { onChainState: null } });
    for (const isRetried of [false, true]) {
      await desk.put("purchase", { wanted: { want: lock, error: short } });
      expect((await decide(desk, "purchase", isRetried)).data.NextAction).toMatchObject({
        requestedAction: "FundsLockingRequested",
        errorType: null,
      });
      expect((await wanted("purchase"))?.want).toMatchObject({ id: lock.id });
      expect((await wanted("purchase"))?.want?.tryAt).toBeUndefined();
    }
    await desk.put("purchase", {
      wanted: { ...NOTHING_WANTED, expiredAt: 5, error: failed({ ended: lock }) },
    });
    expect(await decide(desk, "purchase", true)).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the purchase can no longer be locked",
    });
  });
});

describe("POST …/retry", () => {
  it("runs a task at once that waits after failed tries, and does not change a task in progress", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    expect(await retry(desk, "payment")).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the payment has no step to retry",
    });
    const waits = want("SubmitResult", { resultHash: RESULT, failures: 3, tryAt: 5e15 });
    await desk.put("payment", { wanted: { want: waits, error: failed() } });
    for (let i = 0; i < 2; i++)
      expect(await retry(desk, "payment")).toMatchObject({
        status: 200,
        data: { NextAction: { requestedAction: "SubmitResultRequested", errorType: null } },
      });
    await desk.buying.desk.work();
    expect(await retry(desk, "payment")).toMatchObject({
      status: 200,
      data: { NextAction: { requestedAction: "SubmitResultInitiated" } },
    });
    const { results } = await env.DB.prepare(
      "SELECT action FROM audit WHERE action LIKE '%.retry'",
    ).all();
    expect(results).toEqual([{ action: "payment.retry" }]);
  });

  it("tries nothing later by an Idempotency-Key that was answered that it goes on already", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const key = { "idempotency-key": "once" };
    expect((await desk.ask("submit-result")).status).toBe(200);
    expect((await retry(desk, "payment", key)).status).toBe(200);
    const waits = want("SubmitResult", { resultHash: RESULT, failures: 3, tryAt: 5e15 });
    await desk.put("payment", { wanted: { want: waits, error: failed() } });
    expect((await retry(desk, "payment", key)).status).toBe(200);
    expect((await wanted("payment"))?.want).toEqual(waits);
  });
});

describe("a payment source of Web3ChainV1 that does not say who receives the fee", () => {
  it("has it said on the record, and to who asks for the withdrawal", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    await desk.take("submit-result");
    await desk.later(24 * 60 * 60_000);
    await env.DB.prepare("UPDATE payment_source SET fee_receiver_address = NULL").run();
    const sentence = expect.stringMatching(
      /the payment source does not say who receives the contract's fee: add it anew/,
    );
    expect(await desk.ask("withdraw")).toMatchObject({ status: 409, message: sentence });
    desk.buying.desk.bindings = { CHAIN_CLOCK: "tip" };
    await desk.act("payment");
    expect((await desk.buying.only("payment")).NextAction).toMatchObject({
      requestedAction: "WithdrawRequested",
      errorType: "Unknown",
      errorNote: sentence,
    });
  });
});
