import { runDurableObjectAlarm } from "cloudflare:test";
import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { answering, type RpcCall, Scene, type Sent } from "../../scene.ts";

let scene: Scene;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  scene = await Scene.open(`84532-answers-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

type Lie = Parameters<typeof answering>[1];

/** A node that lies to the wallet, whose questions come in arrays; those of the test do not. */
function lying(lie: Lie) {
  return (sent: Sent) => (sent.body.startsWith("[") ? answering(sent, lie) : sent.forward());
}

const asksFor = (method: string, call: RpcCall) => call.method === method;
const withoutLogs: Lie = (call, { result }) => {
  if (asksFor("eth_getLogs", call)) return { result: [] };
  return asksFor("eth_getTransactionReceipt", call) && result
    ? { result: { ...result, logs: [] } }
    : undefined;
};

const PENDING = { success: false, errorReason: "settlement_pending" };

describe("a node that takes a transaction and says that it refuses it", () => {
  it.each([
    "insufficient funds for gas * price + value",
    "intrinsic gas too low",
    "transaction underpriced",
    "max fee per gas less than block base fee",
  ])("as with '%s' settles the payment in its first try", async (message) => {
    let refused = 0;
    scene.onRpc((sent) =>
      answering(sent, (call) => {
        if (!asksFor("eth_sendRawTransaction", call)) return undefined;
        refused++;
        return { error: { code: -32000, message } };
      }),
    );
    const { data } = await scene.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(refused).toBe(1);
    await scene.expectSettledOnce();
  });

  it("and keeps the transaction for a later block leaves the payment open until then", async () => {
    scene.onRpc((sent) =>
      answering(sent, (call) =>
        asksFor("eth_sendRawTransaction", call)
          ? { error: { code: -32000, message: "insufficient funds" } }
          : undefined,
      ),
    );
    const { data } = await scene.settleImpatiently({ isMining: false });
    expect(data.settleResponse).toMatchObject(PENDING);
    await scene.rail.rpc("evm_mine");
    await scene.fireAlarms();
    expect(await scene.paidIn()).toEqual([data.settleResponse.transaction]);
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    await scene.expectSettledOnce();
  });
});

describe("a receipt that is wrong", () => {
  it("and says reverted of a pending transaction leaves the payment open", async () => {
    const { rail } = scene;
    const latest = await rail.rpc<{ number: string; hash: string }>(
      "eth_getBlockByNumber",
      "latest",
      false,
    );
    let told = 0;
    scene.onRpc(
      lying((call) => {
        if (!asksFor("eth_getTransactionReceipt", call) || told++ > 0) return undefined;
        const { number: blockNumber, hash: blockHash } = latest;
        const [transactionHash] = call.params;
        return { result: { transactionHash, blockNumber, blockHash, status: "0x0", logs: [] } };
      }),
    );
    const { data } = await scene.settleImpatiently({ isMining: false });
    expect(data.settleResponse).toMatchObject(PENDING);
    expect(told).toBeGreaterThan(1);
    await rail.rpc("evm_mine");
    await scene.fireAlarms();
    await scene.expectSettledOnce();
  });

  it.each(["eip3009", "permit2"] as const)(
    "and says reverted of a transaction that paid by %s does not stop the settlement",
    async (method) => {
      let told = 0;
      scene.onRpc(
        lying((call, { result }) => {
          if (!asksFor("eth_getTransactionReceipt", call) || !result) return undefined;
          told++;
          return { result: { ...result, status: "0x0", logs: [] } };
        }),
      );
      const { data } = await scene.settleImpatiently({ method });
      expect(data.settleResponse).toMatchObject({ success: true });
      expect(told).toBeGreaterThan(0);
      vi.unstubAllGlobals();
      await scene.expectSettledOnce();
    },
  );
});

describe("a node that has receipts before it has logs", () => {
  it.each(["eip3009", "permit2"] as const)(
    "keeps a payment by %s open until the logs are there",
    async (method) => {
      scene.onRpc(lying(withoutLogs));
      const { data } = await scene.settleImpatiently({ method });
      expect(data.settleResponse).toMatchObject(PENDING);
      expect(await scene.attempts()).toMatchObject([{ status: "Verified" }]);
      vi.unstubAllGlobals();
      await scene.fireAlarms();
      await scene.expectSettledOnce();
    },
  );

  it("makes a payment without logs fail after twelve blocks, and settle when the logs come all the same", async () => {
    const { rail } = scene;
    scene.onRpc((sent) => answering(sent, withoutLogs));
    expect((await scene.settleImpatiently()).data.settleResponse).toMatchObject(PENDING);
    await rail.rpc("anvil_mine", toHex(12));
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([
      { status: "Failed", errorReason: "invalid_exact_evm_transfer_event_mismatch" },
    ]);
    vi.unstubAllGlobals();
    await rail.rpc("evm_mine");
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });
});

describe("a node that hides what was mined until the authorization has expired", () => {
  it("fails the payment, which settles once the node shows the transaction", async () => {
    const { rail } = scene;
    await scene.settlePending();
    const used = await rail.rpc<string>(
      "eth_getTransactionCount",
      rail.facilitator.address,
      "latest",
    );
    await rail.rpc("evm_mine");
    await rail.rpc("evm_setAutomine", true);
    scene.onRpc(
      lying((call) => {
        if (asksFor("eth_getTransactionReceipt", call)) return { result: null };
        if (asksFor("eth_getTransactionCount", call)) return { result: used };
        return asksFor("eth_call", call) ? { result: toHex(0, { size: 32 }) } : undefined;
      }),
    );
    await rail.rpc("evm_increaseTime", 86_400);
    await rail.rpc("evm_mine");
    // The wallet's own alarm would take its time: it has a nonce to use up.
    await runDurableObjectAlarm(scene.objects().payment);
    expect(await scene.attempts()).toMatchObject([
      { errorReason: "invalid_exact_evm_payload_authorization_valid_before" },
    ]);
    vi.unstubAllGlobals();
    await rail.rpc("evm_mine");
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    expect(await scene.events()).toEqual(["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"]);
    expect(await scene.paidIn()).toHaveLength(1);
  });
});
