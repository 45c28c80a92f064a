import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { answering, SettlementFixture } from "../settlement-fixture.ts";
import { api } from "../x402-fixture.ts";
import { RemoteFacilitator } from "./remote/sdk-facilitator.ts";

let fixture: SettlementFixture;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-reconcile");
});
afterEach(() => vi.unstubAllGlobals());

const reconcile = (body: object, headers: Record<string, string> = {}) =>
  api<{ id: string; status: string; errorReason: string | null }>(
    "/x402/payments/reconcile",
    body,
    headers,
  );

/** The objects lose what they have stored. */
async function forget(): Promise<void> {
  for (const object of Object.values(fixture.objects()))
    await runInDurableObject(object, async (_, state) => {
      await state.storage.deleteAll();
      state.abort("evicted");
    }).catch(() => {});
}

/** A settlement that is in no block, whose objects have forgotten it. */
async function forgotten(): Promise<string> {
  const { attemptId } = await fixture.settlePending();
  await forget();
  await fixture.x402.rpc("anvil_dropAllTransactions");
  return attemptId;
}

/** Mines the payment in a block before its authorization expires, and a block after. */
async function passExpiryAfterPayment(): Promise<void> {
  await fixture.x402.bringToChain(fixture.payment);
  await fixture.x402.rpc("anvil_mine", toHex(1));
  await fixture.x402.rpc("evm_increaseTime", 2000);
  await fixture.x402.rpc("anvil_mine", toHex(1));
  await fixture.x402.rpc("evm_setAutomine", true);
}

describe("a settlement that its objects have forgotten", () => {
  it("is settled as the chain shows, once", async () => {
    const attemptId = await forgotten();
    expect((await reconcile({ attemptId, expected: "Settled" })).status).toBe(409);
    await fixture.x402.bringToChain(fixture.payment);
    await fixture.x402.rpc("anvil_mine", toHex(1));
    await fixture.x402.rpc("evm_setAutomine", true);
    const [transaction = ""] = await fixture.paidIn();

    const otherHash = `0x${"12".repeat(32)}`;
    expect((await reconcile({ attemptId, txHash: otherHash })).message).toContain(transaction);
    expect((await reconcile({ attemptId, expected: "Failed" })).message).toContain("Settled");
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    expect(await fixture.events()).toEqual([]);

    const body = {
      attemptId,
      expected: "Settled",
      txHash: transaction.toUpperCase().replace("X", "x"),
    };
    expect((await reconcile(body)).data).toMatchObject({
      id: attemptId,
      status: "Settled",
      Settlement: { success: true, txHash: transaction },
    });
    expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
    const again = await reconcile(body);
    expect([again.status, again.message]).toEqual([409, expect.stringContaining("Settled")]);
    expect((await fixture.settle()).data).toMatchObject({ replay: true });
  });

  it("stays open while its authorization can still be used", async () => {
    const attemptId = await forgotten();
    await fixture.x402.emptyAccount(fixture.payer);
    await fixture.x402.rpc("anvil_mine", toHex(1));
    await fixture.x402.rpc("evm_setAutomine", true);
    expect((await reconcile({ attemptId, expected: "Failed" })).status).toBe(409);
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
  });
});

describe("a node that errs about a settlement which its objects have forgotten", () => {
  it("fails no settlement by one wrong answer", async () => {
    fixture = await SettlementFixture.open("84532-reconcile-error");
    const attemptId = await forgotten();
    await passExpiryAfterPayment();
    let calls = 0;
    fixture.onRpc((sent) =>
      answering(sent, ({ method }) =>
        method === "eth_call" && ++calls <= 2 ? { result: toHex(0, { size: 32 }) } : undefined,
      ),
    );
    expect((await reconcile({ attemptId, expected: "Failed" })).status).toBe(409);
    expect(calls).toBeGreaterThan(2);
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    vi.unstubAllGlobals();
    expect((await reconcile({ attemptId })).data).toMatchObject({ status: "Settled" });
  });

  it.each<[string, object]>([
    ["reverts", { error: { code: 3, message: "execution reverted" } }],
    ["finds no contract for", { result: "0x" }],
  ])("fails no settlement where it %s each call", async (fault, answer) => {
    fixture = await SettlementFixture.open(`84532-reconcile-${fault.replaceAll(" ", "-")}`);
    const attemptId = await forgotten();
    await passExpiryAfterPayment();
    fixture.onRpc((sent) =>
      answering(sent, ({ method }) => (method === "eth_call" ? answer : undefined)),
    );
    const { data } = await reconcile({ attemptId });
    expect(data).toMatchObject({ status: "Settled", Settlement: { success: true } });
  });
});

describe("a settlement through another facilitator", () => {
  it("is recorded by its object, which remembers the settlement", async () => {
    const remote = await RemoteFacilitator.start(fixture.x402);
    await remote.attach(fixture);
    await fixture.beImpatient({}, 3);
    let late = async (): Promise<object> => ({});
    remote.handle = ({ operation, settle }) => {
      if (operation === "verify") return settle();
      late = settle;
      return new Promise(() => {});
    };
    const { attemptId } = (await fixture.settle()).data;
    expect((await reconcile({ attemptId })).status).toBe(409);
    await late();
    expect((await reconcile({ attemptId })).data).toMatchObject({ status: "Settled" });
    await fixture.expectSettledOnce();
  });
});

describe("POST /x402/payments/reconcile", () => {
  it("returns a credit when the authorization is over", async () => {
    fixture = await SettlementFixture.open("84532-reconcile-expiry");
    const token = await insertKey({
      id: "limited",
      canPay: true,
      networkLimit: [fixture.x402.caip2],
      usageLimited: true,
      maxUsageCredits: 5,
    });
    const attemptId = await forgotten();
    await env.DB.prepare(
      "UPDATE x402_payment_attempt SET api_key_id = 'limited', charged = 1 WHERE id = ?",
    )
      .bind(attemptId)
      .run();
    await env.DB.prepare("UPDATE api_key SET accumulated_usage_credits = 1").run();
    await fixture.x402.rpc("evm_increaseTime", 400);
    await fixture.x402.rpc("anvil_mine", toHex(1));
    await fixture.x402.rpc("evm_setAutomine", true);
    expect((await reconcile({ attemptId, expected: "Settled" })).status).toBe(409);
    expect((await reconcile({ attemptId, expected: "Failed" })).data).toMatchObject({
      status: "Failed",
      errorReason: "invalid_exact_evm_payload_authorization_valid_before",
    });
    expect(await fixture.events()).toEqual(["X402_PAYMENT_FAILED"]);
    const { data } = await api<{ accumulatedUsageCredits: number }>("/api-key-status", undefined, {
      token,
    });
    expect(data.accumulatedUsageCredits).toBe(0);
  });

  it("is for Admins, about attempts that are there", async () => {
    expect((await reconcile({ attemptId: "nowhere" })).status).toBe(404);
    const token = await insertKey({ canPay: true });
    expect((await reconcile({ attemptId: "nowhere" }, { token })).status).toBe(403);
  });
});
