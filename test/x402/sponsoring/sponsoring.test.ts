import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { encodeFunctionData, type Hex, hexToSignature, parseAbi } from "viem";
import { beforeEach, describe, expect, it } from "vitest";
import { runSchedule } from "../../../src/schedule.ts";
import { call, emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { EIP2612_EXTENSION, withPermit } from "../sign-permit.ts";
import { PERMIT2 } from "../sign-upto.ts";
import { api, expectOk, type Payload, settle, X402Fixture } from "../x402-fixture.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;
type Payer = Awaited<ReturnType<X402Fixture["newcomer"]>>;

const UNAPPROVED = "permit2_allowance_required";

let x402: X402Fixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A separate node for each test, since some stop its blocks.
  x402 = await X402Fixture.create(`84532-sponsoring-${++nodes}`);
  await sponsor();
});

const sponsor = async (maxWeiPerPayer = 10n ** 18n, maxWeiPerDay = 10n ** 19n) => {
  const gasSponsoring = { maxWeiPerPayer: `${maxWeiPerPayer}`, maxWeiPerDay: `${maxWeiPerDay}` };
  return expectOk(await api("/x402/networks", { caip2Id: x402.caip2, gasSponsoring }));
};

async function sign(payer: Payer, source: Source, over: object = {}): Promise<Payload> {
  const payment = await x402.payment(payer, source, "permit2");
  return withPermit(x402, payer, payment, { ...over });
}

const reasonOf = async (source: Source, payment: Payload, charge: { amount?: string } = {}) => {
  const { data, status, message } = await settle(source, payment, {}, charge);
  expect({ status, message }).toEqual({ status: 200, message: "" });
  return data.settleResponse.success ? null : data.settleResponse.errorReason;
};

interface PermitInfo {
  amount: string;
  deadline: string;
  signature: Hex;
}

interface Gas {
  attempt_id: string;
  payer: string;
  gwei: number;
  wei: string | null;
  is_open: number;
}

async function gas(): Promise<Gas[]> {
  const { results } = await env.DB.prepare(
    "SELECT * FROM x402_sponsored_gas ORDER BY attempt_id",
  ).all<Gas>();
  return results;
}

/** Has the wallet learn that what it has settled is final, and the cron what it has cost. */
async function becomeFinal(): Promise<void> {
  await x402.rpc("anvil_mine", "0xd");
  const name = `${x402.caip2}:${x402.facilitator.address}`;
  await runDurableObjectAlarm(env.FACILITATOR_WALLET.get(env.FACILITATOR_WALLET.idFromName(name)));
  await runSchedule(env);
}

/** The wallet's transaction that waits for a block. */
async function pendingTransaction(): Promise<{ hash: string; to: string; input: Hex }> {
  const { facilitator } = x402;
  const find = async () => {
    const { pending } = await x402.rpc<{ pending: Record<string, object> }>("txpool_content");
    const [, own] =
      Object.entries(pending).find(([from]) => isSame(from, facilitator.address)) ?? [];
    return Object.values(own ?? {})[0];
  };
  await expect.poll(find).toBeDefined();
  return (await find()) as { hash: string; to: string; input: Hex };
}
const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

async function costInTotals(): Promise<bigint> {
  const { data } = await api<{ SponsoredGas: { caip2Network: string; amount: string }[] }>(
    "/x402/totals",
  );
  return data.SponsoredGas.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

async function costOf(txHash: string): Promise<bigint> {
  const receipt = await x402.rpc<{ gasUsed: Hex; effectiveGasPrice: Hex }>(
    "eth_getTransactionReceipt",
    txHash,
  );
  return BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
}

async function supported(): Promise<string[]> {
  const answer = await call("/api/v1/x402/facilitator/supported");
  return ((await answer.json()) as { extensions: string[] }).extensions;
}

describe("a network that gives no gas", () => {
  it("is the default, and refuses payers who have not approved Permit2", async () => {
    await expectOk(await api("/x402/networks", { caip2Id: x402.caip2, gasSponsoring: null }));
    expect(await supported()).not.toContain(EIP2612_EXTENSION);
    const source = await x402.source();
    const payment = await sign(await x402.newcomer(), source);
    expect((await facilitate("verify", payment)).body.invalidReason).toBe(UNAPPROVED);
    expect(await reasonOf(source, payment)).toBe(UNAPPROVED);
    expect(await gas()).toEqual([]);
  });
});

describe("a network that gives gas", () => {
  it.each([
    ["exact", {}, {}, 10_000n],
    ["upto", { scheme: "upto" }, { amount: "2500" }, 2500n],
  ])("settles %s for a payer with a permit and without gas", async (_, terms, charge, paid) => {
    expect(await supported()).toContain(EIP2612_EXTENSION);
    const source = await x402.source(terms);
    const payer = await x402.newcomer();
    const payment = await sign(payer, source);
    expect((await facilitate("verify", payment)).body).toMatchObject({ isValid: true });
    const { settleResponse } = await expectOk(await settle(source, payment, {}, charge));
    expect(settleResponse).toMatchObject({ success: true, amount: `${paid}` });
    expect(await x402.balance(source.payTo)).toBe(paid);

    const cost = await costOf(settleResponse.transaction);
    const [reserved] = await gas();
    expect(reserved).toMatchObject({ payer: payer.address.toLowerCase(), is_open: 0, wei: null });
    expect(BigInt(reserved?.gwei ?? 0) * 10n ** 9n).toBeGreaterThan(cost);
    expect(await costInTotals()).toBeGreaterThan(cost);
    await becomeFinal();
    expect(await gas()).toMatchObject([{ wei: `${cost}` }]);
    expect(await costInTotals()).toBe(cost);
  });

  it("uses no permit of a payer who has approved Permit2", async () => {
    const source = await x402.source();
    const payment = await sign(await x402.buyer(), source);
    expect(await reasonOf(source, payment)).toBeNull();
    expect(await gas()).toEqual([]);
  });

  it.each([
    ["no permit", null, UNAPPROVED],
    ["what the resource declares", { signature: undefined }, UNAPPROVED],
    ["no signature", { signature: "0x" }, "invalid_eip2612_extension_format"],
    ["a signature of another", { signature: `0x${"11".repeat(65)}` }, UNAPPROVED],
    ["another owner", { from: `0x${"1".repeat(40)}` }, "eip2612_from_mismatch"],
    ["another token", { asset: `0x${"1".repeat(40)}` }, "eip2612_asset_mismatch"],
    ["another spender", { spender: `0x${"1".repeat(40)}` }, "eip2612_spender_not_permit2"],
    ["an expired permit", { deadline: "1" }, "eip2612_deadline_expired"],
    ["another amount", { amount: "10001" }, "permit2_2612_amount_mismatch"],
  ])("refuses a payment with %s", async (_, over, reason) => {
    const source = await x402.source();
    const payment = await sign(await x402.newcomer(), source, over ?? {});
    const sent = over === null ? { ...payment, extensions: {} } : payment;
    expect((await facilitate("verify", sent)).body.invalidReason).toBe(reason);
    expect(await reasonOf(source, sent)).toBe(reason);
    expect(await gas()).toEqual([]);
  });

  it("settles although somebody has used the permit before", async () => {
    const source = await x402.source();
    const payer = await x402.newcomer();
    const payment = await sign(payer, source);
    const extensions = payment.extensions as unknown as Record<string, { info: PermitInfo }>;
    const info = extensions[EIP2612_EXTENSION]?.info as PermitInfo;
    const { r, s, v } = hexToSignature(info.signature);
    const data = encodeFunctionData({
      abi: parseAbi([
        "function permit(address, address, uint256, uint256, uint8, bytes32, bytes32)",
      ]),
      args: [payer.address, PERMIT2, BigInt(info.amount), BigInt(info.deadline), Number(v), r, s],
    });
    await x402.rpc("evm_setAutomine", false);
    const answer = settle(source, payment);
    await expect.poll(async () => (await gas()).length).toBe(1);
    await x402.outbid(x402.contracts.token, data);
    await x402.rpc("evm_setAutomine", true);
    await x402.rpc("evm_mine");
    expect((await expectOk(await answer)).settleResponse).toMatchObject({ success: true });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("settles one payment at a time of a payer and a token, and the others later", async () => {
    const payer = await x402.newcomer();
    const sources = await Promise.all([x402.source(), x402.source(), x402.source()]);
    const payments = await Promise.all(sources.map((source) => sign(payer, source)));
    await x402.rpc("evm_setAutomine", false);
    const answers = sources.map((source, i) => reasonOf(source, payments[i] as Payload));
    await expect.poll(async () => (await gas()).length).toBe(1);
    await expect.poll(async () => (await openAttempts()).length).toBe(1);
    await x402.rpc("evm_setAutomine", true);
    await x402.rpc("evm_mine");
    const reasons = await Promise.all(answers);
    expect(reasons.filter((reason) => reason === UNAPPROVED)).toHaveLength(2);
    expect(reasons.filter((reason) => reason === null)).toHaveLength(1);
    expect(await gas()).toMatchObject([{ is_open: 0 }]);
    // The next permit has the next nonce.
    const source = await x402.source();
    expect(await reasonOf(source, await sign(payer, source))).toBeNull();
    expect(await gas()).toHaveLength(2);
  });

  it("gives no more gas in a day than its limits, however many payers come at once", async () => {
    const prepared = await Promise.all(
      Array.from({ length: 7 }, async () => {
        const source = await x402.source();
        return { source, payment: await sign(await x402.newcomer(), source) };
      }),
    );
    await x402.rpc("evm_setAutomine", false);
    const [first, ...others] = prepared.map(
      ({ source, payment }) =>
        () =>
          reasonOf(source, payment),
    );
    const pending = first?.();
    await expect.poll(async () => (await gas()).length).toBe(1);
    const [{ gwei = 0 } = {}] = await gas();
    // Room for two and a half more payments.
    await sponsor(10n ** 18n, BigInt(Math.floor(gwei * 3.5)) * 10n ** 9n);
    const answers = others.map((send) => send());
    await expect.poll(async () => (await failedAttempts()).length).toBe(4);
    expect(await gas()).toHaveLength(3);
    await x402.rpc("evm_setAutomine", true);
    await x402.rpc("evm_mine");
    const reasons = await Promise.all(answers);
    expect(reasons.filter((reason) => reason === UNAPPROVED)).toHaveLength(4);
    expect(reasons.filter((reason) => reason === null)).toHaveLength(2);
    expect(await pending).toBeNull();
  });

  it("gives a payer no more gas in a day than the limit of a payer", async () => {
    const payer = await x402.newcomer();
    const source = await x402.source();
    expect(await reasonOf(source, await sign(payer, source))).toBeNull();
    await becomeFinal();
    const [{ wei = "0" } = {}] = await gas();
    await sponsor((BigInt(wei ?? 0) / 10n ** 9n + 1n) * 10n ** 9n);
    const next = await x402.source();
    const payment = await sign(payer, next);
    expect((await facilitate("verify", payment)).body.invalidReason).toBe(UNAPPROVED);
    expect(await reasonOf(next, payment)).toBe(UNAPPROVED);
    // Of another day, nothing counts.
    await env.DB.prepare("UPDATE x402_sponsored_gas SET day = day - 1").run();
    await sponsor();
    expect(await reasonOf(next, payment)).toBeNull();
  });

  it("has the cost of a reverted settlement in its books", async () => {
    const source = await x402.source();
    const payer = await x402.newcomer();
    await x402.fund(payer.address);
    const payment = await sign(payer, source);
    await x402.rpc("evm_setAutomine", false);
    const answer = reasonOf(source, payment);
    await expect
      .poll(async () => (await x402.rpc<{ pending: object }>("txpool_content")).pending)
      .not.toEqual({});
    await x402.emptyAccount(payer.address);
    await x402.rpc("evm_setAutomine", true);
    await x402.rpc("evm_mine");
    expect(await answer).toBe("invalid_exact_evm_transaction_failed");
    const [failed] = await failedAttempts();
    const cost = await costOf(failed?.Settlement?.txHash ?? "");
    expect(cost).toBeGreaterThan(0n);
    await becomeFinal();
    expect(await gas()).toMatchObject([{ is_open: 0, wei: `${cost}` }]);
    expect(await costInTotals()).toBe(cost);
  });

  it("has the cost of its own transaction in its books when another one has paid before", async () => {
    const source = await x402.source();
    const payer = await x402.newcomer();
    const payment = await sign(payer, source);
    await x402.rpc("evm_setAutomine", false);
    const answer = settle(source, payment);
    const own = await pendingTransaction();
    await x402.outbid(own.to, own.input);
    await x402.rpc("evm_setAutomine", true);
    await x402.rpc("evm_mine");
    const { transaction } = (await expectOk(await answer)).settleResponse;
    expect(transaction).not.toBe(own.hash);
    const cost = await costOf(own.hash);
    await becomeFinal();
    expect(await gas()).toMatchObject([{ is_open: 0, wei: `${cost}` }]);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });
});

describe("POST /x402/networks with gasSponsoring", () => {
  it("shows the limits, keeps them in other changes, and drops them", async () => {
    const limits = { maxWeiPerPayer: "1000000000", maxWeiPerDay: "2000000000" };
    const save = async (change: object) =>
      (
        await expectOk(
          await api<{ gasSponsoring: unknown }>("/x402/networks", {
            caip2Id: x402.caip2,
            ...change,
          }),
        )
      ).gasSponsoring;
    expect(await save({ gasSponsoring: limits })).toEqual(limits);
    expect(await save({ displayName: "Other" })).toEqual(limits);
    expect(await save({ gasSponsoring: null })).toBeNull();
  });

  it.each(["0", "1", "1000000001", "-1", `${2n ** 53n}000000000`])(
    "refuses a limit of %s",
    async (wei) => {
      const gasSponsoring = { maxWeiPerPayer: wei, maxWeiPerDay: "1000000000" };
      expect(await api("/x402/networks", { caip2Id: x402.caip2, gasSponsoring })).toMatchObject({
        status: 400,
        message: expect.stringContaining("gasSponsoring.maxWeiPerPayer"),
      });
    },
  );
});

interface Attempt {
  status: string;
  Settlement: { txHash: string } | null;
}

async function attemptsOf(status: string): Promise<Attempt[]> {
  const path = `/x402/payments?direction=InboundSettle&take=100&status=${status}`;
  const { data } = await api<{ PaymentAttempts: Attempt[] }>(path);
  return data.PaymentAttempts;
}
const openAttempts = () => attemptsOf("Verified");
const failedAttempts = () => attemptsOf("Failed");
