import { env } from "cloudflare:workers";
import fc from "fast-check";
import { encodeFunctionData, type Hex, parseAbi, toHex } from "viem";
import { beforeEach, describe, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { runSchedule } from "../../../src/schedule.ts";
import { readAuthorization } from "../../../src/x402/evm/authorization.ts";
import { encodeAtomicCalls, encodeSettlement } from "../../../src/x402/evm/calldata.ts";
import { emptyTables } from "../../support/app.ts";
import { racedD1, wrapD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { api, expectOk, settle, X402Fixture } from "../x402-fixture.ts";
import { budgetOf, grant, order, type Paid, pay, purse, terms, type Wallet } from "./paying.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;

const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";
const FINAL_BLOCKS = toHex(12);

let x402: X402Fixture;
let wallet: Wallet;
let source: Source;
let key: { id: string; headers: { token: string } };
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A separate node for each test, since they change time and blocks.
  x402 = await X402Fixture.create(`84532-pay-upto-${++nodes}`);
  wallet = await purse(x402);
  await x402.approvePermit2(wallet.address);
  source = await x402.source({ scheme: "upto" });
  const token = await insertKey({ id: "payer", canPay: true, networkLimit: [x402.caip2] });
  key = { id: "payer", headers: { token } };
  await expectOk(await grant(x402, key.id, wallet, "15000"));
});

const sign = (requirements = source.requirements) =>
  pay(order(wallet, [requirements]), key.headers);
const signed = async () => expectOk(await sign());

async function charge({ paymentPayload }: Paid, amount: string): Promise<string> {
  const { settleResponse } = await expectOk(await settle(source, paymentPayload, {}, { amount }));
  expect(settleResponse).toMatchObject({ success: true, amount });
  return settleResponse.transaction;
}

async function attempt({ attemptId }: Paid): Promise<Record<string, unknown> | undefined> {
  const path = "/x402/payments?direction=OutboundPayment&take=100";
  const { data } = await api<{ PaymentAttempts: Record<string, unknown>[] }>(path);
  return data.PaymentAttempts.find(({ id }) => id === attemptId);
}

/** What remains of the key's budget, and what it has spent. */
async function budget(): Promise<[remaining: string | undefined, spent: string | undefined]> {
  const found = await budgetOf(key.id);
  return [found?.remainingAmount, found?.spentAmount];
}

/** Runs the cron once the charge is final, on a Worker that has something else for its database. */
async function finish(bindings: Partial<Env> = {}): Promise<void> {
  await x402.rpc("anvil_mine", FINAL_BLOCKS);
  await runSchedule({ ...env, ...bindings });
}

async function expire(): Promise<void> {
  await x402.rpc("evm_increaseTime", 310 + 600);
  await x402.rpc("evm_mine");
}

describe("POST /x402/pay of upto", () => {
  it("debits the maximum, and the rest returns once the charge is final", async () => {
    const paid = await signed();
    expect(paid).toMatchObject({ scheme: "upto", amount: "10000", payer: wallet.address });
    expect(await budget()).toEqual(["5000", "10000"]);
    expect(await attempt(paid)).toMatchObject({ amount: "10000", maxAmount: "10000" });

    const txHash = await charge(paid, "2500");
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Settled",
      amount: "2500",
      maxAmount: "10000",
      Settlement: { success: true, txHash, amount: "2500" },
    });
    expect(await budget()).toEqual(["5000", "10000"]);

    for (let repeat = 0; repeat < 2; repeat++) {
      await finish();
      expect(await budget()).toEqual(["12500", "2500"]);
    }
    expect(await x402.balance(source.payTo)).toBe(2500n);
  });

  it("refuses a maximum beyond the budget, although a charge may be lower", async () => {
    await signed();
    expect((await sign()).status).toBe(402);
    expect(await budget()).toEqual(["5000", "10000"]);
  });

  it("returns the maximum of a payment that was never charged, once it has long expired", async () => {
    const paid = await signed();
    await charge(paid, "0");
    await finish();
    expect(await attempt(paid)).toMatchObject({ status: "Verified", amount: "10000" });
    expect(await budget()).toEqual(["5000", "10000"]);
    await expire();
    const afterEachLook = [
      ["5000", "10000"],
      ["15000", "0"],
      ["15000", "0"],
    ];
    for (const expected of afterEachLook) {
      await runSchedule(env);
      expect(await attempt(paid)).toMatchObject({
        status: "Failed",
        errorReason: "payment_not_settled",
      });
      expect(await budget()).toEqual(expected);
    }
  });

  it("returns nothing for a charge that its facilitator hides behind a Transfer of 0", async () => {
    const extra = { ...source.requirements.extra, facilitatorAddress: MULTICALL3 };
    const paid = await expectOk(await sign({ ...source.requirements, extra }));
    const authorization = readAuthorization(paid.paymentPayload.payload, "upto");
    const settled = encodeAtomicCalls([encodeSettlement(paid.asset, authorization)]);
    await x402.outbid(settled.to, settled.data);
    const transferred = encodeFunctionData({
      abi: parseAbi(["function transferFrom(address from, address to, uint256 value)"]),
      args: [wallet.address as Hex, source.payTo as Hex, 0n],
    });
    const nonce = toHex(BigInt(authorization.nonce), { size: 32 }).slice(2);
    await x402.outbid(paid.asset, `${transferred}${nonce}`);
    await expect.poll(() => x402.balance(source.payTo)).toBe(10_000n);

    await finish();
    expect(await attempt(paid)).toMatchObject({ status: "Verified" });
    await env.DB.prepare("UPDATE x402_payment_attempt SET created_at = created_at - 700000").run();
    await finish();
    await expire();
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({
      status: "Failed",
      errorReason: "invalid_exact_evm_nonce_already_used",
    });
    expect(await budget()).toEqual(["5000", "10000"]);
  });

  it("follows a re-org to another charge", async () => {
    const paid = await signed();
    const snapshot = await x402.rpc("evm_snapshot");
    const { to, data } = encodeSettlement(
      paid.asset,
      readAuthorization(paid.paymentPayload.payload, "upto"),
      4000n,
    );
    await x402.transact(x402.facilitator.address, to, data);
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Settled", amount: "4000" });

    await x402.rpc("evm_revert", snapshot);
    await x402.rpc("evm_mine");
    await runSchedule(env);
    expect(await attempt(paid)).toMatchObject({ status: "Verified", amount: "10000" });
    expect(await budget()).toEqual(["5000", "10000"]);

    const txHash = await charge(paid, "100");
    await finish();
    expect(await attempt(paid)).toMatchObject({
      status: "Settled",
      amount: "100",
      Settlement: { success: true, txHash, amount: "100" },
    });
    expect(await budget()).toEqual(["14900", "100"]);
  });

  it.each(["before", "after"])(
    "returns the rest once where the database fails %s its write",
    async (when) => {
      const paid = await signed();
      await charge(paid, "2500");
      const broken = wrapD1(env.DB, async ({ sql }, run) => {
        const isOutcome = sql.some((one) => one.startsWith('update "x402_payment_attempt" set'));
        if (isOutcome && when === "before") throw new Error("D1_ERROR: Network connection lost.");
        const result = await run();
        if (isOutcome) throw new Error("D1_ERROR: Network connection lost.");
        return result;
      });
      await finish({ DB: broken });
      await finish();
      await finish();
      expect(await attempt(paid)).toMatchObject({ status: "Settled", amount: "2500" });
      expect(await budget()).toEqual(["12500", "2500"]);
    },
  );

  it("returns the rest to a budget that others write at the same time", async () => {
    const paid = await signed();
    await charge(paid, "2500");
    const other = `UPDATE x402_budget SET revision = revision + 1,
      remaining_amount = remaining_amount + 1`;
    const { d1, lost } = racedD1(env.DB, 'update "x402_payment_attempt" set', 2, other);
    await finish({ DB: d1 });
    expect(lost()).toBe(2);
    expect(await budget()).toEqual(["12502", "2500"]);
  });

  it("returns nothing to a payer without a budget", async () => {
    const paid = await expectOk(await pay(order(wallet, [source.requirements])));
    await charge(paid, "2500");
    await expectOk(await grant(x402, "payer", wallet, "7"));
    await finish();
    expect(await attempt(paid)).toMatchObject({ status: "Settled", amount: "2500" });
    expect(await budget()).toEqual(["7", "0"]);
  });

  it("accepts exact before upto, and upto when the caller prefers it", async () => {
    const exact = { ...terms(x402), payTo: source.payTo };
    const accepts = [source.requirements, exact];
    expect(await expectOk(await pay(order(wallet, accepts), key.headers))).toMatchObject({
      scheme: "exact",
      amount: "100",
    });
    const preferred = order(wallet, accepts, { preferredScheme: "upto" });
    expect(await expectOk(await pay(preferred, key.headers))).toMatchObject({ scheme: "upto" });
    const none = order(wallet, [exact], { preferredScheme: "upto" });
    expect((await pay(none, key.headers)).status).toBe(400);
  });

  it.each([
    ["no facilitator", { facilitatorAddress: undefined }],
    ["a facilitator that is no address", { facilitatorAddress: "me" }],
  ])("refuses terms with %s", async (_, over) => {
    const extra = { ...source.requirements.extra, ...over };
    expect(await sign({ ...source.requirements, extra })).toMatchObject({
      status: 400,
      message: expect.stringContaining("paymentRequired.accepts"),
    });
    expect(await budget()).toEqual(["15000", "0"]);
  });

  it("keeps budgets equal to the chain, whatever was signed and charged", async () => {
    await expectOk(await grant(x402, key.id, wallet, "1000000"));
    let [spent, left] = [0n, 1_000_000n];
    const payments = fc.array(
      fc
        .tuple(fc.bigInt(1n, 10_000n), fc.bigInt(0n, 10_000n))
        .map(([max, part]) => ({ max, charge: (max * part) / 10_000n })),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(payments, async (list) => {
        for (const { max, charge: amount } of list) {
          source = await x402.source({ scheme: "upto", amount: `${max}` });
          await charge(await signed(), `${amount}`);
          spent += amount === 0n ? max : amount;
          left -= amount === 0n ? max : amount;
        }
        await finish();
        expect(await budget()).toEqual([`${left}`, `${spent}`]);
      }),
      runs(3, 25),
    );
  });
});

describe("POST /x402/pay without a wallet", () => {
  const offer = (accepts = [source.requirements]) => {
    const { evmWalletId: _, ...body } = order(wallet, accepts);
    return body;
  };

  it("pays from the wallet of the budget that covers the first terms", async () => {
    const other = await purse(x402);
    await x402.approvePermit2(other.address);
    await expectOk(await grant(x402, key.id, other, "50000"));
    expect(await expectOk(await pay(offer(), key.headers))).toMatchObject({
      payer: wallet.address,
    });
    // The first budget does not cover another maximum.
    expect(await expectOk(await pay(offer(), key.headers))).toMatchObject({
      payer: other.address,
    });
    expect(await expectOk(await pay(offer([terms(x402)]), key.headers))).toMatchObject({
      payer: wallet.address,
      amount: "100",
    });
  });

  it("asks for the wallet where the key has no budget for the token", async () => {
    const token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    for (const headers of [{ token }, {}])
      expect(await pay(offer(), headers)).toMatchObject({
        status: 400,
        message: expect.stringMatching(/^evmWalletId: is required/),
      });
  });

  it("refuses a payment that no budget of the key covers", async () => {
    await expectOk(await grant(x402, key.id, wallet, "9999"));
    expect((await pay(offer(), key.headers)).status).toBe(402);
  });
});
