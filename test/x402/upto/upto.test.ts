import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { encodeFunctionData, type Hex, parseAbi } from "viem";
import { beforeAll, describe, expect, it } from "vitest";
import { signPayment } from "../../../src/x402/pay/sign-payment.ts";
import { call, emptyTables } from "../../support/app.ts";
import { type Around, isWritingBatch, wrapD1 } from "../../support/d1.ts";
import { facilitate } from "../facilitator.ts";
import type { Attempt } from "../settlement-fixture.ts";
import { PERMIT2, signUpto } from "../sign-upto.ts";
import { api, expectOk, type Payload, type SettleData, X402Fixture } from "../x402-fixture.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;
type Listed = Attempt & {
  amount: string;
  maxAmount: string | null;
  facilitator: string | null;
  Settlement: { success: boolean; txHash: string; amount: string } | null;
};

const permit2Abi = parseAbi(["function invalidateUnorderedNonces(uint256 word, uint256 mask)"]);
let x402: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-upto");
});

/** A payment of at most 10,000 for a registered resource. */
async function signed(over: Record<string, unknown> = {}) {
  const source = await x402.source({ scheme: "upto", ...over });
  const buyer = await x402.buyer();
  return { source, buyer, payment: await x402.payment(buyer, source) };
}

/** The facilitator's answer to a charge. */
const charge = (payment: Payload, amount: string) =>
  facilitate("settle", payment, { ...payment.accepted, amount });

async function attempts({ payTo }: Source): Promise<Listed[]> {
  const path = "/x402/payments?direction=InboundSettle&take=100";
  const { data } = await api<{ PaymentAttempts: Listed[] }>(path);
  return data.PaymentAttempts.filter((one) => one.payTo === payTo && one.status !== "Replayed");
}

async function events({ payTo }: Source) {
  const { results } = await env.DB.prepare(
    `SELECT kind, json_extract(data, '$.amount') AS amount, json_extract(data, '$.txHash') AS txHash
     FROM event JOIN x402_payment_attempt AS attempt ON attempt.id = record_id
     WHERE attempt.pay_to = ? ORDER BY event.created_at, event.sequence`,
  )
    .bind(payTo)
    .all();
  return results;
}

function nonceOf({ payload }: Payload): bigint {
  return BigInt((payload.permit2Authorization as { nonce: string }).nonce);
}

/** The object of a payment's authorization. */
function objectOf({ payload, accepted }: Payload) {
  const { from } = payload.permit2Authorization as { from: string };
  const claim = `permit2:${accepted.network}:${from}:${nonceOf({ payload } as Payload)}`;
  const { PAYMENT_PAYLOAD } = env;
  return PAYMENT_PAYLOAD.get(PAYMENT_PAYLOAD.idFromName(claim.toLowerCase()));
}

/** Puts something between a payment's object and its database. */
async function onDatabase(payment: Payload, around: Around): Promise<void> {
  await runInDurableObject(objectOf(payment), (instance) => {
    const value = { ...env, DB: wrapD1(env.DB, around) };
    Object.defineProperty(instance, "env", { value, configurable: true });
  });
}

async function invalidateNonce(payment: Payload, owner: string): Promise<Hex> {
  const nonce = nonceOf(payment);
  const args = [nonce >> 8n, 1n << (nonce & 0xffn)] as const;
  const functionName = "invalidateUnorderedNonces";
  const data = encodeFunctionData({ abi: permit2Abi, functionName, args });
  await x402.transact(owner, PERMIT2, data);
  return data;
}

/** Another facilitator wallet, with gas. */
async function newWallet() {
  const body = { caip2Network: x402.caip2, type: "Selling" };
  const wallet = await expectOk(await api<{ id: string; address: string }>("/x402/wallets", body));
  await x402.fund(wallet.address);
  return wallet;
}

async function setFacilitators(...facilitatorWalletIds: string[]): Promise<void> {
  await expectOk(await api("/x402/networks", { caip2Id: x402.caip2, facilitatorWalletIds }));
}

describe("a payment of the scheme upto", () => {
  it("is settled for the charge, by the wallet that its payer has named", async () => {
    const { source, payment } = await signed();
    expect((await facilitate("verify", payment)).body).toMatchObject({ isValid: true });
    const { body } = await charge(payment, "2500");
    expect(body).toMatchObject({ success: true, amount: "2500" });
    expect(await x402.balance(source.payTo)).toBe(2_500n);
    const { from } = await x402.rpc<{ from: string }>("eth_getTransactionByHash", body.transaction);
    expect(from).toBe(x402.facilitator.address);
    const Settlement = { success: true, txHash: body.transaction, amount: "2500" };
    const [attempt] = await attempts(source);
    expect(attempt).toMatchObject({ status: "Settled", amount: "2500", maxAmount: "10000" });
    expect(attempt).toMatchObject({ Settlement, facilitator: x402.facilitator.address });
    expect(await events(source)).toEqual([
      { kind: "X402_PAYMENT_SETTLED", amount: "2500", txHash: body.transaction },
    ]);
  });

  it("is settled for the maximum", async () => {
    const { source, payment } = await signed();
    expect((await charge(payment, "10000")).body).toMatchObject({ success: true });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("is settled for the charge when its payer holds and allows no more", async () => {
    const { source, buyer, payment } = await signed();
    await x402.emptyAccount(buyer.address);
    expect((await charge(payment, "2500")).body).toMatchObject({
      success: false,
      errorReason: "permit2_insufficient_balance",
    });
    await x402.mint(x402.contracts.token, buyer.address, 2_500n);
    expect((await charge(payment, "2500")).body).toMatchObject({ success: true });
    expect(await x402.balance(source.payTo)).toBe(2_500n);
  });

  it("is refused for more than the maximum, and can be charged less then", async () => {
    const { source, payment } = await signed();
    expect((await charge(payment, "10001")).body).toMatchObject({
      success: false,
      errorReason: "invalid_upto_evm_payload_settlement_exceeds_amount",
      transaction: "",
    });
    expect(await x402.balance(source.payTo)).toBe(0n);
    expect((await charge(payment, "9999")).body).toMatchObject({ success: true, amount: "9999" });
    expect(await x402.balance(source.payTo)).toBe(9_999n);
  });

  it.each(["00", "0"])("is ended for good by a charge of %s, which sends nothing", async (zero) => {
    const { source, payment } = await signed();
    const { address } = x402.facilitator;
    const sent = await x402.rpc("eth_getTransactionCount", address, "pending");
    const ended = { transaction: "", amount: "0" };
    expect((await charge(payment, zero)).body).toMatchObject({ success: true, ...ended });
    expect((await charge(payment, "10000")).body).toMatchObject({
      success: false,
      errorReason: "duplicate_settlement",
      ...ended,
    });
    await runDurableObjectAlarm(objectOf(payment));
    await runInDurableObject(objectOf(payment), async (_, { storage }) => {
      expect(await storage.list()).toEqual(new Map());
      expect(await storage.getAlarm()).toBeNull();
    });
    for (const amount of ["10000", "1", "0"])
      expect((await charge(payment, amount)).body).toMatchObject({
        success: false,
        errorReason: "duplicate_settlement",
        ...ended,
      });
    expect(await x402.rpc("eth_getTransactionCount", address, "pending")).toBe(sent);
    expect(await x402.balance(source.payTo)).toBe(0n);
    expect(await attempts(source)).toMatchObject([
      {
        status: "Settled",
        amount: "0",
        maxAmount: "10000",
        Settlement: { txHash: "", amount: "0" },
      },
    ]);
    expect(await events(source)).toEqual([
      { kind: "X402_PAYMENT_SETTLED", amount: "0", txHash: null },
    ]);
  });

  it("is not ended by a charge of 0 that its payer has not signed", async () => {
    const { source, payment } = await signed();
    const { signature } = (await signed()).payment.payload;
    const forged = { ...payment, payload: { ...payment.payload, signature } };
    expect((await charge(forged, "0")).body).toMatchObject({
      success: false,
      errorReason: "invalid_permit2_signature",
    });
    expect((await charge(payment, "10000")).body).toMatchObject({ success: true });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("is told the first settlement when a repeat names another charge", async () => {
    const { source, payment } = await signed();
    const { transaction } = (await charge(payment, "2500")).body;
    for (const amount of ["9000", "2500", "0", "10001"])
      expect((await charge(payment, amount)).body).toMatchObject({
        success: false,
        errorReason: "duplicate_settlement",
        amount: "2500",
        transaction,
      });
    expect(await x402.balance(source.payTo)).toBe(2_500n);
  });

  it.each([
    ["2500", "9000"],
    ["2500", "0"],
    ["0", "9000"],
  ])(
    "begun with %s is settled so when its answer was lost and a repeat names %s",
    async (...[first, second]) => {
      const { source, payment } = await signed();
      let batches = 0;
      await onDatabase(payment, async (call, run) => {
        if (!isWritingBatch(call)) return run();
        if (++batches === 1) await run();
        throw new Error("D1_ERROR: Network connection lost.");
      });
      expect((await charge(payment, first)).status).toBe(503);
      await onDatabase(payment, (_, run) => run());
      expect((await charge(payment, second)).body).toMatchObject({ success: true, amount: first });
      expect(await x402.balance(source.payTo)).toBe(BigInt(first));
      const [attempt, ...others] = await attempts(source);
      expect(attempt).toMatchObject({ status: "Settled", amount: first });
      expect(attempt?.Settlement).toMatchObject({ success: true, amount: first });
      expect(others).toEqual([]);
    },
  );

  it.each([
    ["2500", "9000"],
    ["0", "9000"],
    ["9000", "0"],
    ["10001", "1"],
  ])("is charged once when %s and %s come at once", async (...amounts) => {
    const { source, payment } = await signed();
    const bodies = await Promise.all(
      [...amounts, ...amounts].map(async (amount) => (await charge(payment, amount)).body),
    );
    // A charge above the maximum may be answered to all that came while it was judged.
    const refused = bodies.filter(({ errorReason }) => errorReason?.includes("exceeds"));
    const others = bodies.filter((body) => !refused.includes(body));
    const told = new Set(others.map(({ amount, transaction }) => `${amount} ${transaction}`));
    expect(told.size).toBe(refused.length === bodies.length ? 0 : 1);
    expect(others.filter(({ success }) => success)).toHaveLength(told.size);
    const [charged = "0"] = others.map(({ amount }) => amount);
    expect(await x402.balance(source.payTo)).toBe(BigInt(charged));
    const settled = (await attempts(source)).filter(({ status }) => status === "Settled");
    expect(settled.map(({ amount }) => amount)).toEqual(told.size === 0 ? [] : [charged]);
  });

  it.each(["exact", "upto"])("shares its nonce with exact: the first is %s", async (first) => {
    const { source, buyer, payment } = await signed();
    const exact = await x402.source({ payTo: source.payTo });
    const accepted = exact.requirements;
    // The nonce of the other scheme, signed by the same payer.
    const random = crypto.getRandomValues;
    crypto.getRandomValues = (array) => {
      const hex = nonceOf(payment).toString(16).padStart(64, "0");
      (array as Uint8Array).set(Buffer.from(hex, "hex"));
      return array;
    };
    const payload = await signPayment(buyer.key, accepted, null, Date.now());
    crypto.getRandomValues = random;
    const other = { ...payment, accepted, payload };
    expect(nonceOf(other)).toBe(nonceOf(payment));
    const send = {
      exact: () => facilitate("settle", other),
      upto: () => charge(payment, "2500"),
    };
    const [one, two] = first === "exact" ? [send.exact, send.upto] : [send.upto, send.exact];
    expect((await one()).body).toMatchObject({ success: true });
    expect((await two()).status).toBe(409);
    expect(await x402.balance(source.payTo)).toBe(first === "exact" ? 10_000n : 2_500n);
  });

  it("is one payment however its nonce is written", async () => {
    const { source, payment } = await signed();
    const permit = payment.payload.permit2Authorization as object;
    const nonce = `0x${nonceOf(payment).toString(16)}`;
    const permit2Authorization = { ...permit, nonce };
    const hex = { ...payment, payload: { ...payment.payload, permit2Authorization } };
    expect((await charge(hex, "2500")).body).toMatchObject({ success: true });
    expect((await charge(payment, "2500")).status).toBe(409);
    expect(await x402.balance(source.payTo)).toBe(2_500n);
  });

  it("fails when its payer has invalidated the nonce since it was verified", async () => {
    const { source, buyer, payment } = await signed();
    expect((await facilitate("verify", payment)).body).toMatchObject({ isValid: true });
    await invalidateNonce(payment, buyer.address);
    for (const amount of ["10000", "0"])
      expect((await charge(payment, amount)).body).toMatchObject({
        success: false,
        errorReason: "permit2_simulation_failed",
        errorMessage: "InvalidNonce",
      });
    expect(await x402.balance(source.payTo)).toBe(0n);
  });

  it("is another payment when its nonce was signed once more", async () => {
    const { source, buyer, payment } = await signed();
    expect((await charge(payment, "1")).body).toMatchObject({ success: true });
    const longer = { ...source.requirements, maxTimeoutSeconds: 600 };
    const payload = await signUpto(buyer.key, longer, { nonce: nonceOf(payment) });
    expect((await charge({ ...payment, payload }, "10000")).status).toBe(409);
    expect(await x402.balance(source.payTo)).toBe(1n);
  });
});

describe("the facilitator that a payer of upto has named", () => {
  it("settles after it has left the network, and no more once it is removed", async () => {
    const [before, first, later] = [await signed(), x402.facilitator, await newWallet()];
    const removed = await signed();
    await setFacilitators(later.id);
    const { body } = await charge(before.payment, "2500");
    expect(body).toMatchObject({ success: true });
    const { from } = await x402.rpc<{ from: string }>("eth_getTransactionByHash", body.transaction);
    expect(from).toBe(first.address);
    await setFacilitators(first.id);

    const after = await signed();
    const spoilt = { ...after.payment.accepted.extra, facilitatorAddress: later.address };
    const accepted = { ...after.payment.accepted, extra: spoilt };
    const payload = await signUpto(after.buyer.key, accepted);
    const named = { ...after.payment, payload };
    expect((await facilitate("verify", named)).body).toMatchObject({ isValid: true });
    await env.DB.prepare("UPDATE x402_wallet SET deleted_at = 1 WHERE id = ?").bind(later.id).run();
    const errorReason = "upto_facilitator_mismatch";
    expect((await charge(named, "1")).body).toMatchObject({ success: false, errorReason });
    expect((await charge(removed.payment, "1")).body).toMatchObject({ success: true });
  });

  it("is no wallet that never was one", async () => {
    const [{ buyer, payment }, { address }] = [await signed(), await newWallet()];
    for (const facilitatorAddress of [address, buyer.address]) {
      const accepted = { ...payment.accepted, extra: { facilitatorAddress } };
      const named = { ...payment, payload: await signUpto(buyer.key, accepted) };
      expect((await facilitate("verify", named)).body).toMatchObject({
        isValid: false,
        invalidReason: "upto_facilitator_mismatch",
      });
      expect((await charge(named, "1")).body).toMatchObject({
        success: false,
        errorReason: "upto_facilitator_mismatch",
      });
    }
  });

  it("is any of the network's wallets, which settles what names it", async () => {
    const [first, other] = [x402.facilitator, await newWallet()];
    await setFacilitators(first.id, other.id);
    for (const { address } of [first, other, first]) {
      const { source, buyer, payment } = await signed();
      const extra = { facilitatorAddress: address };
      const payload = await signUpto(buyer.key, { ...source.requirements, extra });
      const { body } = await charge({ ...payment, payload }, "7");
      const { from } = await x402.rpc<{ from: string }>(
        "eth_getTransactionByHash",
        body.transaction,
      );
      expect(from).toBe(address);
    }
    await setFacilitators(first.id);
  });
});

describe("a registered resource of the scheme upto", () => {
  const settleFor = (source: Source, paymentPayload: Payload, rest: object = {}) =>
    api<SettleData>("/x402/settle", {
      supportedPaymentSourceId: source.id,
      paymentPayload,
      ...rest,
    });

  it("offers what a payer has to sign", async () => {
    const { source } = await signed();
    expect(source).toMatchObject({
      scheme: "upto",
      requirements: {
        scheme: "upto",
        amount: "10000",
        extra: {
          assetTransferMethod: "permit2",
          facilitatorAddress: x402.facilitator.address,
        },
      },
    });
    const path = "/x402/payment-sources?limit=1";
    const { data } = await api<{ PaymentSources: Source[] }>(path);
    expect(data.PaymentSources[0]?.requirements).toEqual(source.requirements);
  });

  it.each([
    ["the charge", { amount: "2500" }, 2_500n],
    ["the maximum without a charge", {}, 10_000n],
    ["nothing for a charge of 0", { amount: "0" }, 0n],
  ])("is paid %s", async (_, rest, paid) => {
    const { source, payment } = await signed();
    const { data } = await settleFor(source, payment, rest);
    const settleResponse = { success: true, amount: String(paid) };
    expect(data).toMatchObject({ replay: false, settleResponse });
    const { data: repeated } = await settleFor(source, payment, { amount: "3" });
    expect(repeated).toMatchObject({ replay: true, settleResponse });
    expect(repeated.settleResponse.transaction).toBe(data.settleResponse.transaction);
    expect(await x402.balance(source.payTo)).toBe(paid);
  });

  it("is not paid more than the maximum", async () => {
    const { source, payment } = await signed();
    const { data } = await settleFor(source, payment, { amount: "10001" });
    expect(data.settleResponse).toMatchObject({
      success: false,
      errorReason: "invalid_upto_evm_payload_settlement_exceeds_amount",
    });
    expect(await x402.balance(source.payTo)).toBe(0n);
  });

  it("states the maximum of each payment when it has no price", async () => {
    const source = await x402.source({ scheme: "upto", amount: null });
    const stated = await x402.source({ scheme: "upto", payTo: source.payTo, amount: "700" });
    const payment = await x402.payment(await x402.buyer(), stated);
    const paymentRequirements = stated.requirements;
    const answer = await settleFor(source, payment, { paymentRequirements, amount: "300" });
    expect(answer.data.settleResponse).toMatchObject({ success: true, amount: "300" });
    const [attempt] = await attempts(source);
    expect(attempt).toMatchObject({ amount: "300", maxAmount: "700" });
  });

  it.each([
    ["exact", "amount: is only for a resource of the scheme upto", { amount: "1" }],
    ["upto", "amount: must be a whole number in decimal digits", { amount: "-1" }],
  ])("has no charge that it cannot have (%s)", async (scheme, message, rest) => {
    const source = await x402.source({ scheme });
    const payment = await x402.payment(await x402.buyer(), source);
    expect(await settleFor(source, payment, rest)).toMatchObject({ status: 400, message });
  });
});

describe("a chain without the contract of upto", () => {
  it("has no such resource, and supported does not list the scheme", async () => {
    const bare = await X402Fixture.create("84599-no-upto");
    const proxy = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
    const code = await bare.rpc("eth_getCode", proxy, "latest");
    await bare.rpc("anvil_setCode", proxy, "0x");
    const path = "/x402/payment-sources";
    const body = { url: null, caip2Network: bare.caip2, amount: "1", payTo: PERMIT2 };
    expect(await api(path, { ...body, scheme: "upto" })).toMatchObject({
      status: 400,
      message: "scheme: the chain has no contract for upto. Use exact.",
    });
    const answer = await call("/api/v1/x402/facilitator/supported");
    const { kinds } = (await answer.json()) as { kinds: { scheme: string; network: string }[] };
    const networks = kinds.filter(({ scheme }) => scheme === "upto").map(({ network }) => network);
    expect(networks).toEqual([x402.caip2]);
    const exact = await bare.source();
    const extra = { facilitatorAddress: bare.facilitator.address };
    const accepted = { ...exact.requirements, scheme: "upto", extra };
    const buyer = await bare.buyer();
    const payload = await signUpto(buyer.key, accepted);
    const payment = { x402Version: 2, resource: { url: exact.url }, accepted, payload };
    expect((await facilitate("verify", payment)).body).toMatchObject({
      isValid: false,
      invalidReason: "permit2_proxy_not_deployed",
    });
    await bare.rpc("anvil_setCode", proxy, code);
  });
});
