import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MOVED_AUDIT } from "../../src/api-keys/archived-audit.ts";
import { CREDIT_COSTS } from "../../src/api-keys/credits.ts";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import { openDb } from "../../src/db/client.ts";
import { MOVED_ATTEMPTS } from "../../src/x402/attempts/archived-attempts.ts";
import { emptyTables } from "../support/app.ts";
import { emptyArchives, readArchive } from "../support/archives.ts";
import { sweep } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";
import { broadcasts, SettlementFixture } from "../x402/settlement-fixture.ts";
import { api, settle } from "../x402/x402-fixture.ts";
import { stopMover } from "./stop-mover.ts";

const DAY_MS = 24 * 60 * 60_000;
const FINALITY_BLOCKS = 12;
const KINDS = [MOVED_ATTEMPTS, MOVED_AUDIT];
const IDENTIFIER = "identifier-of-a-payment";

let fixture: SettlementFixture;

beforeEach(async () => {
  await emptyTables();
  await emptyArchives();
  vi.useFakeTimers({ toFake: ["Date"] });
  fixture = await SettlementFixture.open("84532-archive");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Settles the payment of the fixture, and has its object forget it. */
async function settleForGood(headers: Record<string, string> = {}) {
  const { data } = await settle(fixture.source, fixture.payment, headers);
  expect(data.settleResponse.success).toBe(true);
  await fixture.x402.rpc("anvil_mine", FINALITY_BLOCKS);
  await fixture.fireAlarms();
  await runDurableObjectAlarm(fixture.objects().payment);
  return data;
}

/** Moves what is final after some days, and counts what the database still has. */
async function moveAfter(days: number, bindings: Partial<typeof env> = {}): Promise<number> {
  vi.setSystemTime(Date.now() + days * DAY_MS);
  const mover = { ...env, ARCHIVE_AFTER_MINUTES: "0", ...bindings };
  await moveFinalRecords(mover, KINDS, Date.now(), Date.now() + 60_000);
  const [row] = await openDb(env).all<{ n: number }>(
    "SELECT count(*) AS n FROM x402_payment_attempt",
  );
  return row?.n ?? 0;
}

/** What the API shows of payments and of the audit log. */
async function readAll() {
  const lists = [
    ...["", "&status=Settled", "&status=Replayed", "&direction=InboundVerify"].map(
      (filter) => `/x402/payments?${filter}`,
    ),
    "/x402/settlements?success=true",
    "/audit?action=x402-network.create",
    "/audit?",
  ];
  const pages: unknown[] = [];
  for (const list of lists) {
    for (let after = ""; ; ) {
      const size = list.startsWith("/x402/payments") ? "take=2" : "limit=2";
      const { data } = await api<Record<string, { id: string }[]>>(`${list}&${size}${after}`);
      const [records = []] = Object.values(data);
      pages.push(records);
      const last = records.at(-1);
      if (!last) break;
      after = `&cursorId=${last.id}`;
    }
  }
  const from = new Date(Date.now() - 60 * DAY_MS).toISOString();
  for (const path of [
    "/x402/payments/count",
    "/x402/payments/count?side=sell&status=Failed",
    "/x402/settlements/count",
    `/x402/totals?createdFrom=${from}&createdTo=${new Date(Date.now() + DAY_MS).toISOString()}`,
  ]) {
    pages.push((await api(path)).data);
  }
  return pages;
}

describe("an archived payment", () => {
  it("is not settled again, and a key without credits gets the replay", async () => {
    const { x402 } = fixture;
    const token = await insertKey({
      canPay: true,
      usageLimited: true,
      maxUsageCredits: CREDIT_COSTS["x402-settle"],
      networkLimit: [x402.caip2],
    });
    fixture.source = await x402.source({}, { token });
    fixture.payment = await x402.payment(await x402.buyer(), fixture.source);
    const first = await settleForGood({ token });
    expect(await moveAfter(4)).toBe(0);
    expect((await readArchive(env.ARCHIVE_1)).x402_settlement).toHaveLength(1);
    const sent = vi.fn();
    fixture.onRpc((request) => {
      if (broadcasts(request)) sent();
      return request.forward();
    });
    const again = await settle(fixture.source, fixture.payment, { token });
    expect(again.data).toMatchObject({ replay: true, settleResponse: first.settleResponse });
    expect(sent).not.toHaveBeenCalled();
    expect(await fixture.x402.balance(fixture.source.requirements.payTo)).toBe(10_000n);
    const { data } = await api<{ PaymentAttempts: object[] }>("/x402/payments");
    const settlement = { txHash: first.settleResponse.transaction };
    expect(data.PaymentAttempts).toMatchObject([
      { status: "Replayed", Settlement: settlement },
      { status: "Settled", Settlement: settlement },
    ]);
  });

  it("stays in the database as long as its authorization can be used", async () => {
    const { x402 } = fixture;
    const source = await x402.source({ scheme: "upto", amount: "20000" });
    const { requirements } = source;
    const long = {
      ...source,
      requirements: { ...requirements, maxTimeoutSeconds: 10 * 24 * 3600 },
    };
    const payment = { ...(await x402.payment(await x402.buyer(), long)), accepted: requirements };
    const free = await settle(source, payment, {}, { amount: "0" });
    expect(free.data.settleResponse).toMatchObject({ success: true, transaction: "" });
    for (const [days, left] of [
      [5, 1],
      [5, 1],
      [2, 0],
    ] as const) {
      expect(await moveAfter(days)).toBe(left);
      const { data } = await settle(source, payment, {}, { amount: "10000" });
      expect(data).toMatchObject({ replay: true, settleResponse: free.data.settleResponse });
      await openDb(env).batch([
        { sql: "DELETE FROM x402_payment_attempt WHERE status = 'Replayed'", params: [] },
      ]);
      expect(await x402.balance(requirements.payTo)).toBe(0n);
    }
  });

  it("is shown as in one database, wherever the mover stops", async () => {
    const payloads = [fixture.payment];
    await settleForGood();
    const extensions = { "payment-identifier": { info: { id: IDENTIFIER } } };
    await fixture.again();
    fixture.payment = { ...fixture.payment, extensions } as typeof fixture.payment;
    await settleForGood();
    payloads.push(fixture.payment);
    await api("/x402/verify", {
      supportedPaymentSourceId: fixture.source.id,
      paymentPayload: fixture.payment,
    });
    await fixture.settle();
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    const before = await readAll();
    let isOver = false;
    for (const k of sweep(1)) {
      for (const when of ["before", "after"] as const) {
        const { databases, count } = stopMover(k, when);
        await moveAfter(0, databases).catch(() => undefined);
        isOver ||= count() < k;
        expect(await readAll(), `stopped ${when} ${k}`).toEqual(before);
      }
      if (isOver) break;
    }
    expect(await moveAfter(0)).toBe(0);
    expect(await readAll()).toEqual(before);
    // The payer has used the identifier.
    await fixture.again();
    fixture.payment = { ...fixture.payment, extensions } as typeof fixture.payment;
    expect((await fixture.settle()).status).toBe(409);
  });
});
