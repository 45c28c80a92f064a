import { env } from "cloudflare:workers";
import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runSchedule } from "../../../src/schedule.ts";
import { emptyTables } from "../../support/app.ts";
import { api, expectOk, settle, X402Fixture } from "../x402-fixture.ts";
import { order, type Paid, pay, purse, type Wallet } from "./paying.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;

let x402: X402Fixture;
let wallet: Wallet;
let source: Source;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A separate node for each test, since they change time and blocks.
  x402 = await X402Fixture.create(`84532-watch-${++nodes}`);
  wallet = await purse(x402);
  await x402.approvePermit2(wallet.address);
  source = await x402.source();
});
afterEach(() => vi.unstubAllGlobals());

async function sign(method = "eip3009"): Promise<Paid> {
  const extra = { ...source.requirements.extra, assetTransferMethod: method };
  return expectOk(await pay(order(wallet, [{ ...source.requirements, extra }])));
}

interface Attempt {
  id: string;
  status: string;
  errorReason: string | null;
  Settlement: { success: boolean; txHash: string; amount: string } | null;
}

async function attempt({ attemptId }: Paid): Promise<Attempt | undefined> {
  const { data } = await api<{ PaymentAttempts: Attempt[] }>(
    "/x402/payments?direction=OutboundPayment&take=100",
  );
  return data.PaymentAttempts.find(({ id }) => id === attemptId);
}

async function isWatched({ attemptId }: Paid): Promise<boolean> {
  const row = await env.DB.prepare("SELECT watched_until FROM x402_payment_attempt WHERE id = ?")
    .bind(attemptId)
    .first<{ watched_until: number | null }>();
  return row?.watched_until != null;
}

async function settledIn({ paymentPayload }: Paid): Promise<string> {
  const { settleResponse } = await expectOk(await settle(source, paymentPayload));
  expect(settleResponse).toMatchObject({ success: true });
  return settleResponse.transaction;
}

describe("the cron asks the chain about a payment that POST /x402/pay has signed", () => {
  it.each(["eip3009", "permit2"])("and shows it settled by %s", async (method) => {
    const paid = await sign(method);
    const unpaid = await sign(method);
    const txHash = await settledIn(paid);
    expect(await attempt(paid)).toMatchObject({ status: "Verified", Settlement: null });
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Settled",
      errorReason: null,
      Settlement: { success: true, txHash, amount: "10000" },
    });
    expect(await attempt(unpaid)).toMatchObject({ status: "Verified", Settlement: null });
    // The seller's list has one settlement, which is the seller's.
    const { data } = await api<{ Settlements: { txHash: string }[] }>("/x402/settlements");
    expect(data.Settlements.map((one) => one.txHash)).toEqual([txHash]);
  });

  it.each(["eip3009", "permit2"])("and finds a settlement by others by %s", async (method) => {
    const paid = await sign(method);
    await x402.bringToChain(paid.paymentPayload);
    await vi.waitUntil(async () => (await x402.balance(source.payTo)) === 10_000n);
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Settled",
      Settlement: { success: true, txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
    });
  });

  it("and fails it once its authorization has long expired", async () => {
    const paid = await sign();
    await x402.rpc("evm_increaseTime", 310);
    await x402.rpc("evm_mine");
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Verified" });
    await x402.rpc("evm_increaseTime", 600);
    await x402.rpc("evm_mine");
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Failed",
      errorReason: "payment_not_settled",
      Settlement: null,
    });
    expect(await isWatched(paid)).toBe(true);
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Failed" });
    expect(await isWatched(paid)).toBe(false);
  });

  it("and takes back a settlement that a re-org undid, until another block has it", async () => {
    const snapshot = await x402.rpc("evm_snapshot");
    const paid = await sign();
    await x402.bringToChain(paid.paymentPayload);
    await vi.waitUntil(async () => (await x402.balance(source.payTo)) === 10_000n);
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Settled" });

    await x402.rpc("evm_revert", snapshot);
    await x402.rpc("evm_mine");
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Verified",
      Settlement: { success: false },
    });
    const txHash = await settledIn(paid);
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Settled",
      Settlement: { success: true, txHash },
    });
  });

  it("and asks no more once twelve blocks are on top", async () => {
    const paid = await sign();
    await settledIn(paid);
    await runSchedule(env);
    expect(await isWatched(paid)).toBe(true);
    await x402.rpc("anvil_mine", toHex(12));
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Settled" });
    expect(await isWatched(paid)).toBe(false);
  });

  it("and leaves it as it is while the node does not answer", async () => {
    const paid = await sign();
    await settledIn(paid);
    const realFetch = globalThis.fetch;
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      String(input).startsWith(x402.url)
        ? Promise.reject(new TypeError("the node is gone"))
        : realFetch(input, init),
    );
    await runSchedule(env);
    vi.unstubAllGlobals();
    expect(await attempt(paid)).toMatchObject({ status: "Verified" });
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Settled" });
  });
});
