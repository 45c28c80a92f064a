import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { type Around, isWritingBatch, wrapD1 } from "../../../support/d1.ts";
import { insertKey } from "../../../support/keys.ts";
import { facilitate } from "../../facilitator.ts";
import { type Attempt, dead, SettlementFixture } from "../../settlement-fixture.ts";
import { atEveryStep } from "../../steps.ts";

let fixture: SettlementFixture;
let alice: { id: string; token: string };
let bob: { id: string; token: string };

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-claim");
  [alice, bob] = [await limitedKey("alice"), await limitedKey("bob")];
});
afterEach(() => vi.unstubAllGlobals());

async function limitedKey(id: string) {
  const networkLimit = [fixture.x402.caip2];
  const limits = { canPay: true, usageLimited: true, maxUsageCredits: 1_000, networkLimit };
  return { id, token: await insertKey({ id, ...limits }) };
}

/** Settles the payment as a resource server does that brings its own terms. */
const settleAs = ({ token }: { token: string }, changes: object = {}) =>
  facilitate("settle", fixture.payment, { ...fixture.payment.accepted, ...changes }, { token });

async function credits({ id }: { id: string }): Promise<number | undefined> {
  const sql = "SELECT accumulated_usage_credits AS used FROM api_key WHERE id = ?";
  return (await env.DB.prepare(sql).bind(id).first<{ used: number }>())?.used;
}

const lost = () => Promise.reject(new Error("D1_ERROR: Network connection lost."));
const works: Around = (_, run) => run();

/** Puts something between the payment's object and its database. */
async function onDatabase(around: Around): Promise<void> {
  await runInDurableObject(fixture.objects().payment, (instance) => {
    const value = { ...env, DB: wrapD1(env.DB, around) };
    Object.defineProperty(instance, "env", { value, configurable: true });
  });
}

/** The next batch is applied and nobody learns of it; then the database is gone. */
async function loseNextBatch(): Promise<void> {
  let batches = 0;
  await onDatabase(async (call, run) => {
    if (isWritingBatch(call) && ++batches === 1) await run();
    return isWritingBatch(call) ? lost() : run();
  });
}

/** A key's payment is written as an attempt, and nobody learns of it. */
async function loseAttempt(): Promise<Attempt | undefined> {
  await loseNextBatch();
  expect((await settleAs(alice)).status).toBe(503);
  await onDatabase(works);
  const [attempt] = await fixture.attempts();
  expect(attempt).toMatchObject({ status: "Verified", apiKeyId: "alice" });
  expect(await credits(alice)).toBe(1);
  return attempt;
}

describe("a settled payment", () => {
  it("is no success for terms that differ from the settled terms", async () => {
    const pending = await fixture.impatiently(
      () => settleAs(alice),
      ({ body }) => body.transaction,
      { isMining: false },
    );
    expect(pending.body.errorReason).toBe("settlement_pending");
    const [attempt] = await fixture.attempts();
    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.x402.rpc("evm_mine");

    const payTo = "0x1111111111111111111111111111111111111111";
    for (const changes of [{ payTo, amount: "1000000" }, { payTo }, { amount: "1000000" }]) {
      const { status, body } = await settleAs(bob, changes);
      expect({ status, message: body.error?.message }).toEqual({
        status: 409,
        message: expect.stringContaining(attempt?.id ?? ""),
      });
    }
    const { network } = fixture.payment.accepted;
    expect((await settleAs(alice)).body).toMatchObject({ success: true, amount: "10000", network });
    expect(await credits(bob)).toBe(0);
  });
});

describe("a beginning whose answer was lost", () => {
  it("ends when another key sends the payment, which settles under its own attempt", async () => {
    const first = await loseAttempt();
    expect((await settleAs(bob)).body).toMatchObject({ success: true });
    const attempts = await fixture.attempts();
    expect(attempts).toMatchObject([
      { status: "Settled", apiKeyId: "bob" },
      { id: first?.id, status: "Failed", apiKeyId: "alice" },
    ]);
    expect(await credits(alice)).toBe(0);
    expect(await credits(bob)).toBe(1);
    expect(await fixture.paidIn()).toHaveLength(1);
    expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
  });

  it("fails when the chain refuses the payment by then, and the credit is returned", async () => {
    const first = await loseAttempt();
    await fixture.x402.emptyAccount(fixture.payer);
    const errorReason = "invalid_exact_evm_insufficient_balance";
    expect((await settleAs(alice)).body).toMatchObject({ success: false, errorReason });
    expect(await fixture.attempts()).toMatchObject([
      { id: first?.id, status: "Failed", errorReason },
    ]);
    expect(await fixture.events()).toEqual(["X402_PAYMENT_FAILED"]);
    expect(await credits(alice)).toBe(0);

    await fixture.x402.mint(fixture.x402.contracts.token, fixture.payer, 10_000n);
    expect((await settleAs(alice)).body).toMatchObject({ success: true });
    expect(await credits(alice)).toBe(1);
  });

  it("is ended by the alarm when the node failed meanwhile, and the credit is returned", async () => {
    const first = await loseAttempt();
    fixture.onRpc(dead);
    expect((await settleAs(alice)).status).toBe(502);
    vi.unstubAllGlobals();
    await fixture.fireAlarms();
    expect(await fixture.expectFailedOnce("unexpected_settle_error")).toMatchObject({
      id: first?.id,
    });
    expect(await credits(alice)).toBe(0);
    expect((await settleAs(alice)).body).toMatchObject({ success: true });
    expect(await credits(alice)).toBe(1);
  });

  it("returns the credit once when the failure's answer is lost too", async () => {
    await loseAttempt();
    // The credit of another payment, which is not to be given back.
    await env.DB.prepare(
      "UPDATE api_key SET accumulated_usage_credits = 5 WHERE id = 'alice'",
    ).run();
    await fixture.x402.emptyAccount(fixture.payer);
    await loseNextBatch();
    expect((await settleAs(alice)).body.success).toBe(false);
    await onDatabase(works);
    await fixture.fireAlarms();
    await fixture.expectFailedOnce("invalid_exact_evm_insufficient_balance");
    expect(await fixture.events()).toEqual(["X402_PAYMENT_FAILED"]);
    expect(await credits(alice)).toBe(4);
  });

  it("moves no money for an attempt that was ended, though the answer to its end was lost too", async () => {
    const first = await loseAttempt();
    await loseNextBatch();
    await fixture.fireAlarms();
    await onDatabase(works);
    expect(await fixture.attempts()).toMatchObject([{ id: first?.id, status: "Failed" }]);

    const { body } = await settleAs(alice);
    expect(body).toMatchObject({ success: true });
    expect(await fixture.paidIn()).toEqual([body.transaction]);
    expect(await fixture.attempts()).toMatchObject([
      { status: "Settled", Settlement: { success: true, txHash: body.transaction } },
      { id: first?.id, status: "Failed", Settlement: null },
    ]);
    expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
    expect(await credits(alice)).toBe(1);
  });
});

describe("a database that fails from any call on, and also loses the writes of the alarm", () => {
  it.each(["before", "after"] as const)(
    "lets the payment settle once when it is back, and leaves no attempt open (it fails %s the call)",
    async (when) => {
      const steps = await atEveryStep(3, async (k) => {
        await fixture.again();
        const before = await credits(alice);
        let calls = 0;
        await onDatabase(async (_, run) => {
          const n = ++calls;
          if (n < k) return run();
          if (n === k && when === "after") await run();
          return lost();
        });
        await settleAs(alice);
        await loseNextBatch();
        await fixture.fireAlarms();
        await onDatabase(works);

        await settleAs(alice);
        await fixture.fireAlarms();
        expect(await fixture.paidIn(), `gone from call ${k} on`).toHaveLength(1);
        const statuses = (await fixture.attempts()).map(({ status }) => status);
        expect(statuses.filter((status) => status !== "Failed")).toEqual(["Settled"]);
        expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
        expect(await credits(alice)).toBe((before ?? 0) + 1);
        return calls >= k;
      });
      expect(steps).toBeGreaterThanOrEqual(2);
    },
  );
});

describe("the storage of the object", () => {
  it("has room for another attempt of a failed payment of nearly a megabyte", async () => {
    await fixture.again({ asset: fixture.x402.contracts.feeToken });
    // One character beyond Latin-1 doubles what the rest takes.
    const note = `ж${"x".repeat(900_000)}`;
    fixture.payment = { ...fixture.payment, extensions: { note } };
    const reason = async () => (await fixture.settle()).data.settleResponse.errorReason;
    expect(await reason()).toBe("invalid_exact_evm_transfer_event_mismatch");
    expect(await reason()).toBe("invalid_exact_evm_nonce_already_used");
    expect(await fixture.attempts()).toMatchObject([{ status: "Failed" }, { status: "Failed" }]);
  });
});
