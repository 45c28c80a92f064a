import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { answering, dead, type Sent } from "../settlement-fixture.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";
import { budgetOf, grant, order, pay, purse, terms, type Wallet } from "./paying.ts";

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
/** Selector of `allowance(address,address)`. */
const ALLOWANCE = "0xdd62ed3e";
const realFetch = globalThis.fetch;

let x402: X402Fixture;
let wallet: Wallet;
let headers: { token: string };
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  x402 = await X402Fixture.create(`84532-approval-${++nodes}`);
  wallet = await purse(x402);
  headers = { token: await insertKey({ id: "payer", canPay: true, networkLimit: [x402.caip2] }) };
  await expectOk(await grant(x402, "payer", wallet, "15000"));
});
afterEach(() => vi.unstubAllGlobals());

async function offer(scheme: string) {
  const { requirements } = await x402.source({ scheme });
  const extra = { ...requirements.extra, assetTransferMethod: "permit2" };
  return order(wallet, [{ ...requirements, extra }]);
}

async function budget() {
  const found = await budgetOf("payer");
  return [found?.remainingAmount, found?.spentAmount];
}

async function countAttempts(): Promise<number> {
  const { data } = await api<{ PaymentAttempts: object[] }>(
    "/x402/payments?direction=OutboundPayment",
  );
  return data.PaymentAttempts.length;
}

describe.each(["exact", "upto"])("POST /x402/pay of %s by Permit2", (scheme) => {
  it.each([
    ["none of the token", 0n],
    ["less than the payment", 9_999n],
  ])("answers 402 and debits nothing where the wallet has approved %s", async (_, allowance) => {
    await x402.approvePermit2(wallet.address, allowance);
    const refused = await pay(await offer(scheme), headers);
    expect(refused).toMatchObject({ status: 402, code: "permit2_not_approved" });
    for (const part of [
      `The wallet ${wallet.address} `,
      `the Permit2 contract ${PERMIT2} for ${allowance} of the token ${x402.contracts.token.toLowerCase()}`,
      "the payment needs 10000",
      `Call approve(${PERMIT2}, amount)`,
    ])
      expect(refused.message).toContain(part);
    expect(await budget()).toEqual(["15000", "0"]);
    expect(await countAttempts()).toBe(0);
  });

  it("signs the same request once the wallet has approved the amount", async () => {
    const body = await offer(scheme);
    const named = { ...headers, "idempotency-key": "the-same-request" };
    expect((await pay(body, named)).status).toBe(402);
    await x402.approvePermit2(wallet.address, 10_000n);
    expect(await expectOk(await pay(body, named))).toMatchObject({ scheme, amount: "10000" });
    expect(await budget()).toEqual(["5000", "10000"]);
    expect(await countAttempts()).toBe(1);
  });

  const saying = (answer: object) => (sent: Sent) =>
    answering(sent, ({ params }) =>
      JSON.stringify(params).includes(ALLOWANCE) ? answer : undefined,
    );

  it.each<[string, (sent: Sent) => Promise<Response>]>([
    ["does not answer", dead],
    ["answers with a page", async () => new Response("<h1>Bad gateway</h1>", { status: 502 })],
    [
      "has no time for the allowance",
      saying({ error: { code: -32_000, message: "execution aborted (timeout = 5s)" } }),
    ],
    ["limits its calls", saying({ error: { code: -32_005, message: "too many requests" } })],
    ["answers with another form", saying({ result: "0xzz" })],
    ["reverts the call", saying({ error: { code: 3, message: "execution reverted" } })],
  ])("signs where the node %s", async (_, handle) => {
    const body = await offer(scheme);
    let asked = 0;
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
      const forward = () => realFetch(input, init);
      if (!String(input).startsWith(x402.url)) return forward();
      asked++;
      return handle({ methods: [], body: String(init?.body), forward });
    });
    expect(await pay(body, headers)).toMatchObject({ status: 200, code: "" });
    expect(asked).toBeGreaterThan(0);
    expect(await budget()).toEqual(["5000", "10000"]);
  });
});

describe("POST /x402/pay by EIP-3009", () => {
  it("needs no approval of Permit2", async () => {
    await expectOk(await pay(order(wallet, [terms(x402)]), headers));
  });
});
