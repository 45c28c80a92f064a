import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { isWritingBatch } from "../../support/d1.ts";
import { insertKey } from "../../support/keys.ts";
import { facilitate } from "../facilitator.ts";
import { broadcasts, SettlementFixture } from "../settlement-fixture.ts";
import { settle } from "../x402-fixture.ts";

/** What one settlement may cost: $1 per million rows. */
const MAX_ROWS_WRITTEN = 8;
const FINALITY_BLOCKS = 12;

let fixture: SettlementFixture;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-storage");
});
afterEach(() => vi.unstubAllGlobals());

/** What the payment's object stores. */
function stored(): Promise<{ keys: number; alarm: number | null }> {
  return runInDurableObject(fixture.objects().payment, async (_, { storage }) => ({
    keys: [...storage.kv.list()].length,
    alarm: await storage.getAlarm(),
  }));
}

const EMPTY = { keys: 0, alarm: null };

/** Counts the rows that the payment's object writes: each value, deletion and alarm is one. */
async function countRowsWritten(): Promise<() => number> {
  let rows = 0;
  await runInDurableObject(fixture.objects().payment, (instance, { storage }) => {
    const { kv } = storage;
    const counted = {
      kv: {
        get: (key: string) => kv.get(key),
        put: (key: string, value: unknown) => {
          rows++;
          kv.put(key, value);
        },
      },
      getAlarm: () => storage.getAlarm(),
      setAlarm: (at: number) => {
        rows++;
        return storage.setAlarm(at);
      },
      deleteAll: () => {
        // The value and the alarm.
        rows += 2;
        return storage.deleteAll();
      },
    };
    Object.defineProperty(instance, "ctx", { value: { storage: counted }, configurable: true });
  });
  return () => rows;
}

/** So many blocks that no re-org reaches the settlement, which both objects then see. */
async function becomeFinal(): Promise<void> {
  await fixture.x402.rpc("anvil_mine", FINALITY_BLOCKS);
  await fixture.fireAlarms();
}

/** D1 as it was before the payment. */
async function setDatabaseBack(): Promise<void> {
  await env.DB.batch([
    env.DB.prepare("DELETE FROM x402_settlement"),
    env.DB.prepare("DELETE FROM x402_payment_attempt"),
  ]);
}

describe("the object of a settled payment", () => {
  it("writes at most eight rows until it is empty, once the settlement is final", async () => {
    const rows = await countRowsWritten();
    expect((await fixture.settle()).data.settleResponse.success).toBe(true);
    expect(await stored()).toEqual({ keys: 1, alarm: expect.any(Number) });
    await becomeFinal();
    expect(await stored()).toEqual(EMPTY);
    expect(rows()).toBeLessThanOrEqual(MAX_ROWS_WRITTEN);
  });

  it("writes nothing while it waits for the settlement to be final, but its next alarm", async () => {
    expect((await fixture.settle()).data.settleResponse.success).toBe(true);
    const rows = await countRowsWritten();
    await fixture.fireAlarms();
    expect(rows()).toBe(1);
  });

  it.each(["eip3009", "permit2"] as const)(
    "is empty and lets nothing be sent when the database is set back (%s)",
    async (method) => {
      await fixture.beImpatient({ method }, 20);
      expect((await fixture.settle()).data.settleResponse.success).toBe(true);
      const paidIn = await fixture.paidIn();
      await becomeFinal();
      await setDatabaseBack();
      let sent = 0;
      fixture.onRpc((request) => {
        if (broadcasts(request)) sent++;
        return request.forward();
      });
      const { status, data } = await fixture.settle();
      expect({ status, data }).toMatchObject({
        status: 200,
        data: { replay: false, settleResponse: { success: false, transaction: "" } },
      });
      if (method === "eip3009")
        expect(data.settleResponse.errorReason).toBe("invalid_exact_evm_nonce_already_used");
      expect(sent).toBe(0);
      expect(await stored()).toEqual(EMPTY);
      expect(await fixture.paidIn()).toEqual(paidIn);
    },
  );

  it("is empty and answers from the database: the same payment with its settlement, others with 409", async () => {
    const { data: first } = await fixture.settle();
    await becomeFinal();
    // Neither the node nor the wallet knows more.
    fixture.onRpc(() => Promise.reject(new TypeError("the node is gone")));
    const { data } = await fixture.settle();
    expect(data).toEqual({ ...first, replay: true, attemptId: expect.any(String) });
    const disguised = { ...fixture.payment, extensions: {} };
    const { status, message } = await settle(fixture.source, disguised);
    expect({ status, message }).toEqual({
      status: 409,
      message: expect.stringContaining(first.attemptId),
    });
    expect(await stored()).toEqual(EMPTY);
    expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
  });

  it("is empty and answers 409 to another key's terms, and a duplicate to the same terms", async () => {
    const { network } = fixture.payment.accepted;
    const limits = { canPay: true, networkLimit: [network] };
    const token = await insertKey({ id: "bob", ...limits });
    const { transaction } = (await facilitate("settle", fixture.payment)).body;
    await becomeFinal();
    const settleAsBob = (changes: object) =>
      facilitate("settle", fixture.payment, { ...fixture.payment.accepted, ...changes }, { token });
    expect((await settleAsBob({ amount: "1" })).status).toBe(409);
    expect((await settleAsBob({})).body).toMatchObject({
      success: false,
      errorReason: "duplicate_settlement",
      transaction,
    });
    expect(await stored()).toEqual(EMPTY);
  });

  it("remembers a success that nobody has learned of, and reports the success once", async () => {
    await fixture.impatiently(
      () => facilitate("settle", fixture.payment),
      ({ body }) => body.transaction,
      { isMining: false },
    );
    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.x402.rpc("evm_mine");
    await fixture.fireAlarms();
    await becomeFinal();
    expect(await stored()).toEqual({ keys: 1, alarm: expect.any(Number) });
    expect((await facilitate("settle", fixture.payment)).body).toMatchObject({ success: true });
    expect(await stored()).toEqual(EMPTY);
    expect((await facilitate("settle", fixture.payment)).body).toMatchObject({
      success: false,
      errorReason: "duplicate_settlement",
    });
  });

  it("forgets a success that nobody has asked for with its next alarm", async () => {
    await fixture.settlePending();
    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.x402.rpc("evm_mine");
    await fixture.fireAlarms();
    await becomeFinal();
    await fixture.fireAlarms();
    expect(await stored()).toEqual(EMPTY);
    expect((await fixture.settle()).data).toMatchObject({
      replay: true,
      settleResponse: { success: true },
    });
  });
});

describe("the object of a payment that is refused", () => {
  it("stores nothing", async () => {
    const rows = await countRowsWritten();
    await fixture.x402.emptyAccount(fixture.payer);
    expect((await fixture.settle()).data.settleResponse.success).toBe(false);
    fixture.onRpc(() => Promise.reject(new TypeError("the node is gone")));
    expect((await fixture.settle()).status).toBe(502);
    expect(rows()).toBe(0);
    expect(await stored()).toEqual(EMPTY);
  });

  it("stores the refusal until the database has it", async () => {
    await fixture.x402.emptyAccount(fixture.payer);
    await fixture.onDatabase((call, run) =>
      isWritingBatch(call)
        ? Promise.reject(new Error("D1_ERROR: Network connection lost."))
        : run(),
    );
    expect((await fixture.settle()).data.settleResponse.success).toBe(false);
    expect(await fixture.attempts()).toEqual([]);
    await fixture.onDatabase((_, run) => run());
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("invalid_exact_evm_insufficient_balance");
    expect(await stored()).toEqual(EMPTY);
  });
});
