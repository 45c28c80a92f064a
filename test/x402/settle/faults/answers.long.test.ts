import { runDurableObjectAlarm } from "cloudflare:test";
import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import {
  answering,
  type RpcCall,
  reasonInScheme,
  type Sent,
  SettlementFixture,
} from "../../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-answers-${++nodes}`);
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

describe("a node that accepts a transaction but reports a refusal", () => {
  it.each([
    "insufficient funds for gas * price + value",
    "intrinsic gas too low",
    "transaction underpriced",
    "max fee per gas less than block base fee",
  ])("such as '%s' settles the payment in its first try", async (message) => {
    let refused = 0;
    fixture.onRpc((sent) =>
      answering(sent, (call) => {
        if (!asksFor("eth_sendRawTransaction", call)) return undefined;
        refused++;
        return { error: { code: -32000, message } };
      }),
    );
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(refused).toBe(1);
    await fixture.expectSettledOnce();
  });

  it("and keeps the transaction for a later block leaves the payment open until then", async () => {
    fixture.onRpc((sent) =>
      answering(sent, (call) =>
        asksFor("eth_sendRawTransaction", call)
          ? { error: { code: -32000, message: "insufficient funds" } }
          : undefined,
      ),
    );
    const { data } = await fixture.settleImpatiently({ isMining: false });
    expect(data.settleResponse).toMatchObject(PENDING);
    await fixture.x402.rpc("evm_mine");
    await fixture.fireAlarms();
    expect(await fixture.paidIn()).toEqual([data.settleResponse.transaction]);
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    await fixture.expectSettledOnce();
  });
});

describe("a wrong receipt", () => {
  it("that shows a pending transaction as reverted leaves the payment open", async () => {
    const { x402 } = fixture;
    const latest = await x402.rpc<{ number: string; hash: string }>(
      "eth_getBlockByNumber",
      "latest",
      false,
    );
    let told = 0;
    fixture.onRpc(
      lying((call) => {
        if (!asksFor("eth_getTransactionReceipt", call) || told++ > 0) return undefined;
        const { number: blockNumber, hash: blockHash } = latest;
        const [transactionHash] = call.params;
        return { result: { transactionHash, blockNumber, blockHash, status: "0x0", logs: [] } };
      }),
    );
    const { data } = await fixture.settleImpatiently({ isMining: false });
    expect(data.settleResponse).toMatchObject(PENDING);
    expect(told).toBeGreaterThan(1);
    await x402.rpc("evm_mine");
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
  });

  it.each(["eip3009", "permit2"] as const)(
    "that shows a transaction that paid by %s as reverted does not stop the settlement",
    async (method) => {
      let told = 0;
      fixture.onRpc(
        lying((call, { result }) => {
          if (!asksFor("eth_getTransactionReceipt", call) || !result) return undefined;
          told++;
          return { result: { ...result, status: "0x0", logs: [] } };
        }),
      );
      const { data } = await fixture.settleImpatiently({ method });
      expect(data.settleResponse).toMatchObject({ success: true });
      expect(told).toBeGreaterThan(0);
      vi.unstubAllGlobals();
      await fixture.expectSettledOnce();
    },
  );
});

describe("a node that shows receipts before logs", () => {
  it.each(["eip3009", "permit2"] as const)(
    "keeps a payment by %s open until the logs are there",
    async (method) => {
      fixture.onRpc(lying(withoutLogs));
      const { data } = await fixture.settleImpatiently({ method });
      expect(data.settleResponse).toMatchObject(PENDING);
      expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
      vi.unstubAllGlobals();
      await fixture.fireAlarms();
      await fixture.expectSettledOnce();
    },
  );

  it("fails a payment without logs after twelve blocks, and settles the payment when the logs come later", async () => {
    const { x402 } = fixture;
    fixture.onRpc((sent) => answering(sent, withoutLogs));
    expect((await fixture.settleImpatiently()).data.settleResponse).toMatchObject(PENDING);
    await x402.rpc("anvil_mine", toHex(12));
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([
      { status: "Failed", errorReason: "invalid_exact_evm_transfer_event_mismatch" },
    ]);
    vi.unstubAllGlobals();
    await x402.rpc("evm_mine");
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });
});

describe("a node that hides a mined transaction until the authorization has expired", () => {
  it("fails the payment, which settles once the node shows the transaction", async () => {
    const { x402 } = fixture;
    await fixture.settlePending();
    const used = await x402.rpc<string>(
      "eth_getTransactionCount",
      x402.facilitator.address,
      "latest",
    );
    await x402.rpc("evm_mine");
    await x402.rpc("evm_setAutomine", true);
    fixture.onRpc(
      lying((call) => {
        if (asksFor("eth_getTransactionReceipt", call)) return { result: null };
        if (asksFor("eth_getTransactionCount", call)) return { result: used };
        return asksFor("eth_call", call) ? { result: toHex(0, { size: 32 }) } : undefined;
      }),
    );
    await x402.rpc("evm_increaseTime", 86_400);
    await x402.rpc("evm_mine");
    // The wallet's own alarm would take its time: it has a nonce to use up.
    await runDurableObjectAlarm(fixture.objects().payment);
    expect(await fixture.attempts()).toMatchObject([
      { errorReason: reasonInScheme("invalid_exact_evm_payload_authorization_valid_before") },
    ]);
    vi.unstubAllGlobals();
    await x402.rpc("evm_mine");
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    expect(await fixture.events()).toEqual(["X402_PAYMENT_FAILED", "X402_PAYMENT_SETTLED"]);
    expect(await fixture.paidIn()).toHaveLength(1);
  });
});
