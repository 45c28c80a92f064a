import { env } from "cloudflare:workers";
import { getAddress } from "viem";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PaymentRequirements } from "../../../src/x402/model/schemas.ts";
import { emptyTables } from "../../support/app.ts";
import { api, expectOk, settle, X402Fixture } from "../x402-fixture.ts";
import { DOMAIN, order, type Paid, pay, purse, terms, type Wallet } from "./paying.ts";

const MAX_UINT256 = 2n ** 256n - 1n;
const IDENTIFIER = "order_0123456789ab";
const ADVERTISED = { "payment-identifier": { info: { required: false } } };
const realFetch = globalThis.fetch;

let x402: X402Fixture;
let wallet: Wallet;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-pay");
});
beforeEach(async () => {
  wallet = await purse(x402);
});
afterEach(() => vi.unstubAllGlobals());

/** What was ever signed out of the wallet, newest first. */
async function attempts() {
  const { data } = await api<{ PaymentAttempts: Record<string, unknown>[] }>(
    "/x402/payments?direction=OutboundPayment&take=100",
  );
  return data.PaymentAttempts.filter(({ evmWalletId }) => evmWalletId === wallet.id);
}

const signatureOf = ({ paymentPayload }: Paid) => paymentPayload.payload.signature;

describe("POST /x402/pay", () => {
  it.each(["eip3009", "permit2"])("signs a payment by %s that settles", async (method) => {
    await x402.approvePermit2(wallet.address);
    const source = await x402.source();
    const extra = { ...source.requirements.extra, assetTransferMethod: method };
    const body = order(wallet, [{ ...source.requirements, extra }]);
    const paid = await expectOk(await pay(body));
    expect(paid).toEqual({
      attemptId: expect.any(String),
      payer: wallet.address,
      scheme: "exact",
      caip2Network: x402.caip2,
      asset: x402.contracts.token.toLowerCase(),
      amount: "10000",
      payTo: source.payTo,
      xPaymentHeader: Buffer.from(JSON.stringify(paid.paymentPayload)).toString("base64"),
      paymentPayload: expect.objectContaining({ resource: body.paymentRequired.resource }),
      paymentPayloadHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      paymentIdentifier: null,
    });

    const settled = await expectOk(await settle(source, paid.paymentPayload));
    expect(settled.settleResponse).toMatchObject({ success: true, amount: "10000" });
    // Both sides know the payment by one name, although the buyer's resource says more.
    expect(settled.paymentPayloadHash).toBe(paid.paymentPayloadHash);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
    expect(await attempts()).toEqual([
      expect.objectContaining({
        id: paid.attemptId,
        direction: "OutboundPayment",
        status: "Verified",
        apiKeyId: "env-admin",
        evmWalletId: wallet.id,
        amount: "10000",
        payer: wallet.address,
        resource: source.url,
        paymentPayloadHash: paid.paymentPayloadHash,
        Settlement: null,
      }),
    ]);
  });

  it.each([
    ["in upper case", (asset: string) => `0x${asset.slice(2).toUpperCase()}`],
    [
      "with a wrong checksum",
      (asset: string) => getAddress(asset).replace(/[A-F]/, (letter) => letter.toLowerCase()),
    ],
  ])("signs for a token that is written %s", async (_, write) => {
    const source = await x402.source();
    const asset = write(source.requirements.asset);
    const paid = await expectOk(await pay(order(wallet, [{ ...source.requirements, asset }])));
    expect(paid.paymentPayload.accepted.asset).toBe(asset);
    expect(paid.asset).toBe(asset.toLowerCase());
    const { settleResponse } = await expectOk(await settle(source, paid.paymentPayload));
    expect(settleResponse).toMatchObject({ success: true, amount: "10000" });
  });

  describe.each([
    ["Idempotency-Key", 422],
    ["paymentIdentifier", 409],
  ])("sent again under the same %s", (field, conflict) => {
    const send = (accepts: PaymentRequirements[]) => {
      const name = `${field}-${wallet.id}`;
      if (field === "Idempotency-Key")
        return pay(order(wallet, accepts), { "idempotency-key": name });
      const over = { extensions: ADVERTISED, paymentIdentifier: name };
      return api<Paid>("/x402/pay", order(wallet, accepts, over));
    };

    it("answers the same signature, and signs once", async () => {
      const first = await expectOk(await send([terms(x402)]));
      const again = await Promise.all([1, 2, 3].map(() => send([terms(x402)])));
      for (const { status, data } of again)
        expect({ status, data }).toEqual({ status: 200, data: first });
      expect(await attempts()).toHaveLength(1);
    });

    it("answers all of them the same when they come at once", async () => {
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => send([terms(x402)])));
      const paid = await Promise.all(answers.map(expectOk));
      expect(new Set(paid.map(signatureOf)).size).toBe(1);
      expect(await attempts()).toHaveLength(1);
    });

    it(`answers ${conflict} for another payment`, async () => {
      await expectOk(await send([terms(x402)]));
      const { status, message } = await send([terms(x402, { amount: "101" })]);
      expect({ status, message }).toEqual({
        status: conflict,
        message: expect.stringContaining(field),
      });
      expect(await attempts()).toHaveLength(1);
    });
  });

  it("does not sign again under a paymentIdentifier whose answer is forgotten", async () => {
    const paymentIdentifier = `order-${wallet.id}`;
    const body = order(wallet, [terms(x402)], { extensions: ADVERTISED, paymentIdentifier });
    await expectOk(await api("/x402/pay", body));
    await env.DB.prepare("UPDATE idempotency SET created_at = created_at - 86400000").run();
    expect((await api("/x402/pay", body)).status).toBe(409);
    expect((await pay(body)).status).toBe(409);
    expect(await attempts()).toHaveLength(1);
  });

  it("answers 400 with neither an Idempotency-Key nor a paymentIdentifier", async () => {
    const { status, message } = await api("/x402/pay", order(wallet, [terms(x402)]));
    expect({ status, message }).toEqual({
      status: 400,
      message: expect.stringContaining("Idempotency-Key"),
    });
    expect(await attempts()).toEqual([]);
  });

  it("puts a paymentIdentifier where the seller looks for it", async () => {
    const source = await x402.source();
    const over = { extensions: ADVERTISED, paymentIdentifier: IDENTIFIER };
    const paid = await expectOk(await pay(order(wallet, [source.requirements], over)));
    expect(paid.paymentIdentifier).toBe(IDENTIFIER);
    expect((await attempts())[0]).toMatchObject({ paymentIdentifier: IDENTIFIER });
    const settled = await expectOk(await settle(source, paid.paymentPayload));
    expect(settled.paymentIdentifier).toBe(IDENTIFIER);
  });

  it("answers 400 for a paymentIdentifier that is not asked for, or one that is and is missing", async () => {
    const unasked = await pay(order(wallet, [terms(x402)], { paymentIdentifier: IDENTIFIER }));
    const extensions = { "payment-identifier": { info: { required: true } } };
    const missing = await pay(order(wallet, [terms(x402)], { extensions }));
    for (const { status, message } of [unasked, missing])
      expect({ status, message }).toEqual({
        status: 400,
        message: expect.stringContaining("paymentIdentifier"),
      });
    expect(await attempts()).toEqual([]);
  });

  it.each<[string, Partial<PaymentRequirements>]>([
    ["another scheme", { scheme: "upto" }],
    ["another chain", { network: "eip155:1" }],
    ["a chain that is no EVM", { network: "solana:mainnet" }],
    ["no amount", { amount: "0" }],
    ["a broken amount", { amount: "1.5" }],
    ["more than a token can count", { amount: (MAX_UINT256 + 1n).toString() }],
    ["the native coin", { asset: `0x${"e".repeat(40)}` }],
    ["no address", { asset: "USDC" }],
    ["nobody to pay", { payTo: `0x${"0".repeat(40)}` }],
    ["more than a day to settle", { maxTimeoutSeconds: 86_401 }],
    ["a token of an unknown domain", { extra: {} }],
    ["another method", { extra: { ...DOMAIN, assetTransferMethod: "erc7710" } }],
  ])("passes over terms with %s, and answers 400 when there are no others", async (_, unusable) => {
    const bad = terms(x402, unusable);
    const { status, message } = await pay(order(wallet, [bad]));
    expect({ status, message }).toEqual({
      status: 400,
      message: expect.stringContaining("paymentRequired.accepts"),
    });
    expect(await attempts()).toEqual([]);
    const paid = await expectOk(await pay(order(wallet, [bad, terms(x402)])));
    expect(paid.paymentPayload.accepted).toEqual(terms(x402));
  });

  it.each([
    ["resource", (pad: string) => ({ resource: { url: "https://api.example.com/data", pad } })],
    ["extensions", (pad: string) => ({ extensions: { pad } })],
  ])("answers 400 for a payment of more than 16 KB, whose %s is too long", async (_, padded) => {
    const send = (pad: string) => {
      const { paymentRequired, ...rest } = order(wallet, [terms(x402)]);
      return pay({ ...rest, paymentRequired: { ...paymentRequired, ...padded(pad) } });
    };
    const { paymentPayload } = await expectOk(await send(""));
    const room = 16 * 1024 - JSON.stringify(paymentPayload).length;
    const largest = await expectOk(await send("x".repeat(room)));
    expect(Buffer.from(largest.xPaymentHeader, "base64")).toHaveLength(16 * 1024);
    // A letter that takes two bytes; and as much as a body can hold.
    for (const pad of [`${"x".repeat(room - 1)}é`, "x".repeat(1_000_000)]) {
      const { status, message } = await send(pad);
      expect({ status, message }).toEqual({
        status: 400,
        message: expect.stringMatching(/^paymentRequired: /),
      });
    }
    expect(await attempts()).toHaveLength(2);
  });

  it("signs for a URL of more than 8 KiB, whose beginning the attempt has", async () => {
    const { paymentRequired, ...rest } = order(wallet, [terms(x402)]);
    const url = "https://api.example.com/?q=".padEnd(9 * 1024, "x");
    const body = { ...rest, paymentRequired: { ...paymentRequired, resource: { url } } };
    const { attemptId, paymentPayload } = await expectOk(await pay(body));
    expect(paymentPayload.resource).toEqual({ url });
    const { data } = await api<{ PaymentAttempts: { id: string; resource: string }[] }>(
      "/x402/payments?take=1",
    );
    const resource = `${url.slice(0, 8 * 1024 - 3)}…`;
    expect(data.PaymentAttempts).toMatchObject([{ id: attemptId, resource }]);
  });

  it("takes the first terms it can sign for, or those in preferredAsset", async () => {
    await x402.mint(x402.contracts.feeToken, wallet.address, 1_000n);
    const other = x402.contracts.feeToken;
    const accepts = [terms(x402), terms(x402, { asset: other }), terms(x402, { amount: "5" })];
    const chosen = async (over: Record<string, unknown>) =>
      (await expectOk(await pay(order(wallet, accepts, over)))).paymentPayload.accepted;
    expect(await chosen({})).toEqual(accepts[0]);
    expect(await chosen({ preferredAsset: other.toUpperCase().replace("0X", "0x") })).toEqual(
      accepts[1],
    );
    expect(await chosen({ preferredNetwork: x402.caip2 })).toEqual(accepts[0]);
    const elsewhere = order(wallet, accepts, { preferredNetwork: "eip155:1" });
    expect(await pay(elsewhere)).toMatchObject({
      status: 400,
      message: expect.stringContaining("preferredNetwork"),
    });
  });

  it("answers 402 for more than the wallet holds, and for a token that is not there", async () => {
    const held = await x402.balance(wallet.address);
    expect((await pay(order(wallet, [terms(x402, { amount: `${held + 1n}` })]))).status).toBe(402);
    const nowhere = terms(x402, { asset: `0x${"1".repeat(40)}` });
    expect((await pay(order(wallet, [nowhere]))).status).toBe(402);
    expect(await attempts()).toEqual([]);
    expect((await pay(order(wallet, [terms(x402, { amount: `${held}` })]))).status).toBe(200);
  });

  it("signs although the node does not tell the balance", async () => {
    const node = vi.fn(() => Promise.reject(new TypeError("the node is gone")));
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      String(input).startsWith(x402.url) ? node() : realFetch(input, init),
    );
    expect((await pay(order(wallet, [terms(x402)]))).status).toBe(200);
    expect(node).toHaveBeenCalled();
  });

  it("answers 400 for a wallet that sells, or whose network is off; 404 for none", async () => {
    const seller = await pay(order(x402.facilitator, [terms(x402)]));
    expect(seller).toMatchObject({ status: 400, message: expect.stringContaining("Purchasing") });
    expect((await pay(order({ id: "nowhere" }, [terms(x402)]))).status).toBe(404);
    const turn = (isEnabled: boolean) => api("/x402/networks", { caip2Id: x402.caip2, isEnabled });
    await expectOk(await turn(false));
    const off = await pay(order(wallet, [terms(x402)]));
    await expectOk(await turn(true));
    expect(off).toMatchObject({ status: 400, message: expect.stringContaining("not enabled") });
    expect(await attempts()).toEqual([]);
  });
});
