/** Nodes that refuse to say whether an authorization was used: everyone who asks learns nothing. */
import { toHex } from "viem";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createRpc } from "../../../src/x402/evm/rpc.ts";
import {
  openPaymentChain,
  readAuthorizationUse,
  reconcilePayment,
} from "../../../src/x402/pay/reconcile-payment.ts";

const URL_OF_NODE = "http://127.0.0.1:1/";
const CAIP2 = "eip155:84532";
const BLOCK = { number: "0x10", hash: `0x${"ab".repeat(32)}`, timestamp: "0x6925f000" };
const ANSWERS: Record<string, unknown> = {
  eth_chainId: toHex(84532),
  eth_blockNumber: BLOCK.number,
  eth_getBlockByNumber: BLOCK,
  eth_getLogs: [],
};
const ADDRESS = `0x${"12".repeat(20)}`;
const payment = { id: "1", asset: ADDRESS, payer: ADDRESS, payTo: ADDRESS, amount: "1" };
const claims = {
  eip3009: `eip3009:${CAIP2}:${ADDRESS}:${ADDRESS}:0x${"34".repeat(32)}`,
  permit2: `permit2:${CAIP2}:${ADDRESS}:7`,
};

/** A node that refuses to execute calls. */
function refuseCalls(error: object): ReturnType<typeof createRpc> {
  vi.stubGlobal("fetch", async (_: unknown, init: RequestInit) => {
    const body = JSON.parse(String(init.body)) as { id: number; method: string }[];
    const answers = [body].flat().map(({ id, method }) => ({
      jsonrpc: "2.0",
      id,
      ...(method === "eth_call" ? { error } : { result: ANSWERS[method] ?? null }),
    }));
    return Response.json(Array.isArray(body) ? answers : answers[0]);
  });
  return createRpc(URL_OF_NODE, { loopbackOrigins: [new URL(URL_OF_NODE).origin] });
}
afterEach(() => vi.unstubAllGlobals());

const TIME_IS_UP = [
  { code: -32_000, message: "execution aborted (timeout = 5s)" },
  { code: -32_000, message: "execution timed out" },
  { code: -32_015, message: "execution was cancelled" },
  { code: -32_603, message: "request timeout" },
];
const REVERTS = [
  { code: 3, message: "execution reverted", data: "0x" },
  { code: -32_000, message: "execution reverted" },
  { code: -32_015, message: "VM execution error.", data: "Reverted 0x" },
  { code: -32_003, message: "EVM error: InvalidFEOpcode" },
];

type Claim = keyof typeof claims;

/** Everyone who asks. An answer of `open` or `false` would say that the authorization is unused. */
async function askAll(rpc: ReturnType<typeof createRpc>, kind: Claim): Promise<unknown[]> {
  const one = { ...payment, claim: claims[kind] };
  const chain = await openPaymentChain(rpc, CAIP2, Date.now());
  const { isUsed } = await readAuthorizationUse(rpc, CAIP2, one).catch(() => ({ isUsed: null }));
  const exact = await reconcilePayment(chain, one, true);
  if (kind === "eip3009") return [isUsed, exact.state];
  const upto = await reconcilePayment(chain, { ...one, maxAmount: "1" }, true);
  return [isUsed, exact.state, upto.state];
}

describe("a node that refuses to say whether an authorization was used", () => {
  it.each([...TIME_IS_UP, ...REVERTS])("by $message leaves Permit2 unclear", async (error) => {
    expect(await askAll(refuseCalls(error), "permit2")).toEqual([null, "unclear", "unclear"]);
  });

  it.each(TIME_IS_UP)("by $message leaves a token unclear", async (error) => {
    expect(await askAll(refuseCalls(error), "eip3009")).toEqual([null, "unclear"]);
  });

  it.each(REVERTS)("by $message counts as a token without authorizations", async (error) => {
    expect(await askAll(refuseCalls(error), "eip3009")).toEqual([false, "open"]);
  });
});
