import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, type RpcCall, SettlementFixture } from "../../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-legacy-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

const UNSUPPORTED = "transaction type not supported";
const isTyped = (raw: string) => raw.startsWith("0x02");
const realFetch = globalThis.fetch;

/**
 * Has the node refuse transactions before it reads them.
 *
 * @param refuses - whether the node refuses a signed transaction
 * @returns the transactions that were sent to the node, in order
 */
function refusing(refuses: (raw: string) => boolean, message = UNSUPPORTED): string[] {
  const seen: string[] = [];
  fixture.onRpc(async (sent) => {
    if (!broadcasts(sent)) return sent.forward();
    const answer = async ({ id, method, params }: RpcCall) => {
      const raw = String(params[0]);
      seen.push(raw);
      if (refuses(raw)) return { jsonrpc: "2.0", id, error: { code: -32000, message } };
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const headers = { "content-type": "application/json" };
      const response = await realFetch(fixture.x402.url, { method: "POST", headers, body });
      return (await response.json()) as object;
    };
    const body = JSON.parse(sent.body) as RpcCall | RpcCall[];
    if (!Array.isArray(body)) return Response.json(await answer(body));
    const answers: object[] = [];
    for (const call of body) answers.push(await answer(call));
    return Response.json(answers);
  });
  return seen;
}

const transactionIn = (hash = "") =>
  fixture.x402.rpc<{ type: string; nonce: string }>("eth_getTransactionByHash", hash);

describe("a chain with a base fee that refuses EIP-1559 transactions", () => {
  it.each([
    UNSUPPORTED,
    "fork supporting this transaction type is not activated yet",
    "InvalidTxType: Transaction type in Berlin is not supported.",
    "Invalid transaction type",
    "EIP-1559 transactions are disabled",
  ])("with '%s' gets one transaction with a gas price and the same nonce", async (message) => {
    const { x402 } = fixture;
    const nonce = await x402.rpc("eth_getTransactionCount", x402.facilitator.address, "latest");
    const seen = refusing(isTyped, message);
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    const legacy = seen.filter((raw) => !isTyped(raw));
    expect(new Set(legacy).size).toBe(1);
    expect(await transactionIn(data.settleResponse.transaction)).toMatchObject({
      type: "0x0",
      nonce,
    });
    await fixture.expectSettledOnce();
  });

  it("gets a transaction with a gas price at once from the next payment on", async () => {
    refusing(isTyped);
    await fixture.expectSettledOnce();
    await fixture.again();
    const seen = refusing(isTyped);
    await fixture.expectSettledOnce();
    expect(seen.filter(isTyped)).toEqual([]);
  });

  it("settles payments that were signed before the first refusal", async () => {
    const others = [
      await SettlementFixture.on(fixture.x402),
      await SettlementFixture.on(fixture.x402),
    ];
    refusing(isTyped);
    const answers = await Promise.all([fixture, ...others].map((one) => one.settleDecided()));
    expect(answers.map(({ data }) => data.settleResponse.success)).toEqual([true, true, true]);
    for (const one of [fixture, ...others]) expect(await one.paidIn()).toHaveLength(1);
  });

  it("that refuses every type gets one replacement, and the payment stays open", async () => {
    const seen = refusing(() => true);
    const { data } = await fixture.settleImpatiently();
    expect(data.settleResponse).toMatchObject({
      success: false,
      errorReason: "settlement_pending",
    });
    expect(new Set(seen.filter((raw) => !isTyped(raw))).size).toBe(1);
    vi.unstubAllGlobals();
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
  });

  it("that accepted the first transaction after all settles the payment once", async () => {
    const seen: string[] = [];
    fixture.onRpc(async (sent) => {
      const response = await sent.forward();
      if (!broadcasts(sent)) return response;
      seen.push(sent.body);
      const [call] = [JSON.parse(sent.body) as RpcCall | RpcCall[]].flat();
      const error = { code: -32000, message: UNSUPPORTED };
      return Response.json({ jsonrpc: "2.0", id: call?.id, error });
    });
    await fixture.expectSettledOnce();
    expect(seen.length).toBeGreaterThan(0);
  });
});
