import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { sampled } from "../../../support/effort.ts";
import { answering, type Sent, SettlementFixture } from "../../settlement-fixture.ts";
import { api } from "../../x402-fixture.ts";

let fixture: SettlementFixture;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-odd");
});
beforeEach(() => fixture.again());
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const REFUSAL = { code: -32600, message: "batches are not allowed" };
const refused = (id: unknown) => ({ jsonrpc: "2.0", id, error: REFUSAL });

/** How nodes refuse a batch, by the answer to one of so many calls. */
const BATCH_REFUSALS: [form: string, answer: (calls: number) => Response][] = [
  ["an object", () => Response.json(refused(null))],
  ["an array of one error with id null", () => Response.json([refused(null)])],
  ["an array of one error with the first id", () => Response.json([refused(0)])],
  [
    "an array with an error for each call",
    (calls) => Response.json(Array.from({ length: calls }, (_, id) => refused(id))),
  ],
  ["an empty array", () => Response.json([])],
  ["an array of null", () => Response.json([null])],
  ["an error that is a text", () => Response.json([{ id: null, error: "no batches" }])],
  ["HTTP 400 and a text", () => new Response("no batches", { status: 400 })],
];

describe("a node that refuses batches", () => {
  it.each(sampled(3, BATCH_REFUSALS))(
    "with %s gets single calls and settles",
    async (_, answer) => {
      let batches = 0;
      fixture.onRpc(async ({ methods, forward }) => {
        if (methods.length === 1) return forward();
        batches++;
        return answer(methods.length);
      });
      await fixture.expectSettledOnce();
      expect(batches).toBeGreaterThan(0);
    },
  );

  it("gets no second batch from the wallet that knows of it", async () => {
    const batches: string[] = [];
    fixture.onRpc(async ({ methods, body, forward }) => {
      if (methods.length === 1) return forward();
      batches.push(body);
      return Response.json([refused(null)]);
    });
    await fixture.expectSettledOnce();
    const ofTheWallet = batches.filter((body) => body.includes("eth_getTransactionCount"));
    expect(ofTheWallet.length).toBeLessThanOrEqual(1);
  });
});

describe("a node that refuses each call of a batch because of the calls", () => {
  it("still gets batches afterwards", async () => {
    const sizes: number[] = [];
    fixture.onRpc(({ methods, forward }) => {
      sizes.push(methods.length);
      return forward();
    });
    const asset = fixture.x402.contracts.walletFactory;
    // Each call to a contract without these functions reverts alike.
    const { status } = await api("/x402/payment-sources", {
      url: "https://api.example.com/data",
      caip2Network: fixture.x402.caip2,
      asset,
      amount: "1",
      payTo: fixture.source.payTo,
    });
    expect(status).toBe(400);
    expect(sizes).toEqual([expect.any(Number), 1]);
    expect(sizes[0]).toBeGreaterThan(1);
  });
});

/** Results that no method has. Each costs the wallet a pause, so there are few. */
const ODD = [null, { number: null, logs: null }, "0xzz"];
const METHODS = [
  "eth_chainId",
  "eth_getCode",
  "eth_call",
  "eth_getBlockByNumber",
  "eth_getTransactionCount",
  "eth_getBalance",
  "eth_gasPrice",
  "eth_maxPriorityFeePerGas",
  "eth_estimateGas",
  "eth_getTransactionReceipt",
];

/** Answers each call of the method with another odd result, until there are no more. */
function oddly(method: string) {
  const odd = ODD.values();
  return (sent: Sent) =>
    answering(sent, (call) => {
      const next = call.method === method ? odd.next() : undefined;
      return next && !next.done ? { result: next.value } : undefined;
    });
}

describe("a node that answers a method with odd results for a while", () => {
  it.each(sampled(3, METHODS))(
    "such as %s causes no error of the service, and settles afterwards",
    async (method) => {
      const lines: string[] = [];
      for (const level of ["log", "warn", "error"] as const)
        vi.spyOn(console, level).mockImplementation((line) => void lines.push(String(line)));
      fixture.onRpc(oddly(method));
      for (let i = 0; i < ODD.length; i++) {
        const { status } = await fixture.settle();
        expect([200, 502]).toContain(status);
      }
      vi.unstubAllGlobals();
      const { data } = await fixture.settleDecided();
      expect(data.settleResponse.success).toBe(true);
      expect(await fixture.paidIn()).toEqual([data.settleResponse.transaction]);
      expect(lines.filter((line) => /TypeError|SyntaxError|RangeError/.test(line))).toEqual([]);
    },
  );
});

describe("a node without EIP-1559 that prints the base fee as null", () => {
  it("gets a transaction with a gas price, which settles", async () => {
    fixture.onRpc((sent) =>
      answering(sent, ({ method }, { result }) =>
        method === "eth_getBlockByNumber" && result
          ? { result: { ...result, baseFeePerGas: null } }
          : undefined,
      ),
    );
    await fixture.expectSettledOnce();
    vi.unstubAllGlobals();
    const [hash = ""] = await fixture.paidIn();
    expect(await fixture.x402.rpc("eth_getTransactionByHash", hash)).toMatchObject({ type: "0x0" });
  });
});
