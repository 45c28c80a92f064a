import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { answering, broadcasts, type Sent, SettlementFixture } from "../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-nonce-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

/** A node that counts the wallet's transactions wrong. */
const counting = (count: number) => (sent: Sent) =>
  answering(sent, ({ method }) =>
    method === "eth_getTransactionCount" ? { result: toHex(count) } : undefined,
  );

/** How many transactions of the wallet are on the chain. */
async function used(): Promise<number> {
  const { x402 } = fixture;
  return Number(await x402.rpc("eth_getTransactionCount", x402.facilitator.address, "latest"));
}

/** Blocks pass by what waits, so that it counts as stuck. */
async function passBy(): Promise<void> {
  for (let block = 0; block < 4; block++) {
    await fixture.x402.rpc("evm_increaseTime", 5);
    await fixture.x402.rpc("evm_mine");
  }
}

describe.each([1_000, 65_535])("a node that counts %i transactions too many", (count) => {
  it("does not stop the first payments, which use the nonces of the wallet's own books", async () => {
    fixture.onRpc(counting(count));
    expect((await fixture.settle()).data.settleResponse).toMatchObject({ success: true });
    await fixture.again();
    expect((await fixture.settle()).data.settleResponse).toMatchObject({ success: true });
    vi.unstubAllGlobals();
    await fixture.expectSettledOnce();
    expect(await used()).toBe(2);
  });

  it("and repeats the count is believed, and no gap is filled once the node counts correctly", async () => {
    const { x402 } = fixture;
    let sent = 0;
    fixture.onRpc(async (request) => {
      if (!broadcasts(request)) return counting(count)(request);
      if (sent++ > 0) return request.forward();
      const error = { code: -32003, message: "nonce too low" };
      return Response.json({ jsonrpc: "2.0", id: 1, error });
    });
    expect((await fixture.settleImpatiently()).data.settleResponse).toMatchObject({
      errorReason: "settlement_pending",
    });
    expect(Number((await x402.rpc<{ queued: string }>("txpool_status")).queued)).toBe(1);
    vi.unstubAllGlobals();
    await passBy();
    await fixture.expectSettledOnce();
    expect(await used()).toBe(1);
  });
});

describe("a wallet whose key has sent transactions elsewhere", () => {
  it("continues from the chain's nonce once the node refuses the wallet's own nonce", async () => {
    const { x402 } = fixture;
    await x402.rpc("anvil_setNonce", x402.facilitator.address, toHex(1_000));
    await fixture.expectSettledOnce();
    expect(await used()).toBe(1_001);
  });

  it("fills no more nonces than its limit of pending transactions", async () => {
    fixture.onRpc(counting(16));
    expect((await fixture.settleImpatiently()).data.settleResponse).toMatchObject({
      errorReason: "settlement_pending",
    });
    vi.unstubAllGlobals();
    await passBy();
    await fixture.expectSettledOnce();
    expect(await used()).toBe(17);
  });
});
