import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { SettlementFixture } from "../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-outcome-event-${++nodes}`);
});

/** What receivers read before `data` was the whole record. */
const EARLIER_FIELDS = [
  ...["attemptId", "paymentPayloadHash", "supportedPaymentSourceId", "registryRequestId"],
  ...["caip2Network", "asset", "amount", "payTo", "payer", "txHash", "success"],
  ...["errorReason", "errorMessage", "settledAt"],
];

/** The newest event about an attempt. */
async function eventOf(attemptId: string): Promise<{ kind: string; data: object }> {
  const row = await env.DB.prepare(
    "SELECT kind, data FROM event WHERE record_id = ? ORDER BY seq DESC LIMIT 1",
  )
    .bind(attemptId)
    .first<{ kind: string; data: string }>();
  if (!row) throw new Error(`no event about ${attemptId}`);
  return { kind: row.kind, data: JSON.parse(row.data) };
}

describe("the event of a settlement", () => {
  test("has the record as GET /x402/payments shows it, and the event's earlier fields", async () => {
    const extensions = { "payment-identifier": { info: { id: "order_of_the_event_01" } } };
    fixture.payment = { ...fixture.payment, extensions };
    const { attemptId, settleResponse } = (await fixture.settle()).data;
    const [record] = await fixture.attempts();
    const { kind, data } = await eventOf(attemptId);
    expect(kind).toBe("X402_PAYMENT_SETTLED");
    expect(data).toEqual({
      ...record,
      attemptId,
      txHash: settleResponse.transaction,
      success: true,
      settledAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(record).toMatchObject({
      id: attemptId,
      resource: expect.any(String),
      paymentIdentifier: "order_of_the_event_01",
      Settlement: { success: true },
    });
    for (const field of EARLIER_FIELDS) expect(data).toHaveProperty(field);
  });

  test("that failed has the same record, without a settlement", async () => {
    fixture.payment = await fixture.x402.payment(await fixture.x402.buyer(1n), fixture.source);
    const { attemptId } = (await fixture.settle()).data;
    const [record] = await fixture.attempts();
    const { kind, data } = await eventOf(attemptId);
    expect(kind).toBe("X402_PAYMENT_FAILED");
    expect(record).toMatchObject({ id: attemptId, status: "Failed", Settlement: null });
    expect(data).toEqual({ ...record, attemptId, txHash: null, success: false, settledAt: null });
    for (const field of EARLIER_FIELDS) expect(data).toHaveProperty(field);
  });

  test("that a reorg reverted shows the settlement as GET does then", async () => {
    const { attemptId, settleResponse } = (await fixture.settle()).data;
    const { x402 } = fixture;
    await x402.rpc("anvil_rollback", 1);
    await x402.rpc("evm_setAutomine", false);
    await x402.rpc("evm_increaseTime", 86_400);
    await x402.rpc("evm_mine");
    await x402.rpc("evm_setAutomine", true);
    await fixture.fireAlarms();
    const [record] = await fixture.attempts();
    const { kind, data } = await eventOf(attemptId);
    expect(kind).toBe("X402_PAYMENT_FAILED");
    expect(record).toMatchObject({
      status: "Failed",
      Settlement: { success: false, txHash: settleResponse.transaction },
    });
    expect(data).toEqual({ ...record, attemptId, txHash: null, success: false, settledAt: null });
  });
});
