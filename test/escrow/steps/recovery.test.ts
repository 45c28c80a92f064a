import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS, type Intent, type RecordError } from "../../../src/escrow/model/intent.ts";
import { emptyTables } from "../../support/app.ts";
import { storedRecords } from "../../support/escrow/payment-source-fixture.ts";
import type { Shown } from "../../support/escrow/quote-fixture.ts";
import { RESULT, StepFixture } from "../../support/escrow/step-fixture.ts";
import { insertKey } from "../../support/keys.ts";

beforeEach(emptyTables);

const intent = (step: Intent["step"], more: Partial<Intent> = {}): Intent => ({
  ...{ id: "intent-a", step, resultHash: null, by: "key-a", since: 1, ...more },
});
const failed = (more: Partial<RecordError> = {}): RecordError => ({
  ...{ isManual: false, type: "Unknown", note: "It failed", txHash: null, ...more },
});
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null, errorNote: null };

const progress = async (side: Side) => (await storedRecords(side))[0]?.progress;

/** Takes the decision on a side's record as it is now. */
async function decide(fixture: StepFixture, side: Side, retry?: boolean, headers = {}) {
  const { updatedAt } = await fixture.buying.only(side);
  return fixture.buying.fixture.ask<Shown>(
    "POST",
    `/${side}/error-state-recovery`,
    {
      network: "Preprod",
      blockchainIdentifier: fixture.identifier,
      updatedAt,
      ...(retry !== undefined && { retryPreviousAction: retry }),
    },
    headers,
  );
}

const retry = (fixture: StepFixture, side: Side, headers = {}) =>
  fixture.buying.fixture.ask(
    "POST",
    `/${side}/retry`,
    { network: "Preprod", blockchainIdentifier: fixture.identifier },
    headers,
  );

describe("POST …/error-state-recovery", () => {
  it("clears whatever error there is, on a record as it was read", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    expect(await decide(fixture, "payment")).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the payment has no error to clear",
    });
    const parked = failed({ endedIntent: intent("SubmitResult", { resultHash: RESULT }) });
    await fixture.put("payment", { progress: { ...IDLE_PROGRESS, error: parked } });
    const old = await fixture.buying.fixture.ask("POST", "/payment/error-state-recovery", {
      network: "Preprod",
      blockchainIdentifier: fixture.identifier,
      updatedAt: "2026-01-01",
    });
    expect(old).toMatchObject({
      status: 409,
      message: expect.stringMatching(/^updatedAt: the payment changed at 20/),
    });
    const other = { token: await insertKey({ canPay: true }) };
    expect((await decide(fixture, "payment", false, other)).status).toBe(403);
    expect(await decide(fixture, "payment")).toMatchObject({
      status: 200,
      data: { NextAction: WAITING },
    });

    const manual = failed({ isManual: true });
    const invalid = { onChainState: "FundsOrDatumInvalid" } as const;
    await fixture.put("payment", { state: invalid, progress: { ...IDLE_PROGRESS, error: manual } });
    expect((await fixture.buying.only("payment")).NextAction.requestedAction).toBe(
      "WaitingForManualAction",
    );
    expect(await decide(fixture, "payment", true)).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the payment has no step to retry",
    });
    expect((await decide(fixture, "payment")).data.NextAction).toMatchObject(WAITING);

    const over = { onChainState: "Withdrawn" } as const;
    await fixture.put("purchase", { state: over, progress: { ...IDLE_PROGRESS, error: failed() } });
    expect((await decide(fixture, "purchase")).data.NextAction).toMatchObject({
      requestedAction: "None",
      errorType: null,
    });
  });

  it("retries a failed step that is still possible, but no lock that could land twice", async () => {
    const fixture = await StepFixture.open("Web3ChainV2");
    const submit = intent("SubmitResult", { resultHash: RESULT, failures: 10, tryAt: 5e15 });
    await fixture.put("payment", {
      progress: { ...IDLE_PROGRESS, error: failed({ endedIntent: submit }) },
    });
    expect(await decide(fixture, "payment", true)).toMatchObject({
      status: 200,
      data: {
        NextAction: {
          requestedAction: "SubmitResultRequested",
          resultHash: RESULT,
          errorType: null,
        },
      },
    });
    await fixture.act("payment");
    expect(await fixture.state()).toBe("ResultSubmitted");

    const lost = intent("SetRefundRequested", { lostCollaterals: 2 });
    await fixture.put("purchase", {
      progress: { intent: lost, error: failed({ isManual: true }) },
    });
    expect((await decide(fixture, "purchase", true)).data.NextAction).toMatchObject({
      requestedAction: "SetRefundRequestedRequested",
    });
    expect((await progress("purchase"))?.intent).toMatchObject({ lostCollaterals: 2 });
    await fixture.put("purchase", {
      progress: { intent: null, error: failed({ endedIntent: intent("WithdrawRefund") }) },
    });
    expect(await decide(fixture, "purchase", true)).toMatchObject({
      status: 409,
      message: expect.stringMatching(/is ResultSubmitted, and WithdrawRefund is possible while/),
    });

    const lock = intent("FundsLocking", { tryAt: 5e15 });
    const short = failed({ type: "InsufficientFunds" });
    await fixture.put("purchase", { progress: { intent: lock, error: short } });
    expect(await decide(fixture, "purchase", true)).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the purchase's funds are locked",
    });
    await fixture.put("purchase", { state: { onChainState: null } });
    for (const isRetried of [false, true]) {
      await fixture.put("purchase", { progress: { intent: lock, error: short } });
      expect((await decide(fixture, "purchase", isRetried)).data.NextAction).toMatchObject({
        requestedAction: "FundsLockingRequested",
        errorType: null,
      });
      expect((await progress("purchase"))?.intent).toMatchObject({ id: lock.id });
      expect((await progress("purchase"))?.intent?.tryAt).toBeUndefined();
    }
    await fixture.put("purchase", {
      progress: { ...IDLE_PROGRESS, expiredAt: 5, error: failed({ endedIntent: lock }) },
    });
    expect(await decide(fixture, "purchase", true)).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the purchase can no longer be locked",
    });
  });
});

describe("POST …/retry", () => {
  it("runs a task at once that waits after failed tries, and does not change a task in progress", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    expect(await retry(fixture, "payment")).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the payment has no step to retry",
    });
    const waits = intent("SubmitResult", { resultHash: RESULT, failures: 3, tryAt: 5e15 });
    await fixture.put("payment", { progress: { intent: waits, error: failed() } });
    for (let i = 0; i < 2; i++)
      expect(await retry(fixture, "payment")).toMatchObject({
        status: 200,
        data: { NextAction: { requestedAction: "SubmitResultRequested", errorType: null } },
      });
    await fixture.buying.fixture.work();
    expect(await retry(fixture, "payment")).toMatchObject({
      status: 200,
      data: { NextAction: { requestedAction: "SubmitResultInitiated" } },
    });
    const { results } = await env.DB.prepare(
      "SELECT action FROM audit WHERE action LIKE '%.retry'",
    ).all();
    expect(results).toEqual([{ action: "payment.retry" }]);
  });

  it("tries nothing later by an Idempotency-Key that was answered that it goes on already", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const key = { "idempotency-key": "once" };
    expect((await fixture.ask("submit-result")).status).toBe(200);
    expect((await retry(fixture, "payment", key)).status).toBe(200);
    const waits = intent("SubmitResult", { resultHash: RESULT, failures: 3, tryAt: 5e15 });
    await fixture.put("payment", { progress: { intent: waits, error: failed() } });
    expect((await retry(fixture, "payment", key)).status).toBe(200);
    expect((await progress("payment"))?.intent).toEqual(waits);
  });
});

describe("a payment source of Web3ChainV1 that does not say who receives the fee", () => {
  it("has it said on the record, and to who asks for the withdrawal", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    await fixture.take("submit-result");
    await fixture.later(24 * 60 * 60_000);
    await env.DB.prepare("UPDATE payment_source SET fee_receiver_address = NULL").run();
    const sentence = expect.stringMatching(
      /the payment source lacks the recipient of the contract's fee: add the source again/,
    );
    expect(await fixture.ask("withdraw")).toMatchObject({ status: 409, message: sentence });
    fixture.buying.fixture.bindings = { CHAIN_CLOCK: "tip" };
    await fixture.act("payment");
    expect((await fixture.buying.only("payment")).NextAction).toMatchObject({
      requestedAction: "WithdrawRequested",
      errorType: "Unknown",
      errorNote: sentence,
    });
  });
});
