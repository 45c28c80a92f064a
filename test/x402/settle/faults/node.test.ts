import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, dead, type Sent, SettlementFixture } from "../../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-faulty-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

/** The first look at the chain for a payment that was judged, and all that come after it. */
const readsForSigning = ({ methods }: Sent) => methods.includes("eth_getTransactionCount");

describe("an RPC node", () => {
  it("that is gone before anything was sent causes a 502 without changes, and the next try settles", async () => {
    fixture.onRpc(dead);
    expect((await fixture.settle()).status).toBe(502);
    vi.unstubAllGlobals();
    expect(await fixture.attempts()).toEqual([]);
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce();
  });

  it("that dies before the signature fails the payment, which settles when it is sent again", async () => {
    await fixture.beImpatient();
    fixture.onRpc((sent) => (readsForSigning(sent) ? dead() : sent.forward()));
    const { status, data } = await fixture.settle();
    expect({ status, data }).toMatchObject({
      status: 200,
      data: {
        replay: false,
        settleResponse: {
          success: false,
          errorReason: "unexpected_settle_error",
          errorMessage: "The wallet could not send the payment in time",
          transaction: "",
        },
      },
    });
    await fixture.expectFailedOnce("unexpected_settle_error");
    vi.unstubAllGlobals();
    await fixture.fireAlarms();
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("that dies during the broadcast gets the same transaction again", async () => {
    const sent: string[] = [];
    fixture.onRpc((request) => {
      if (broadcasts(request)) sent.push(request.body);
      return broadcasts(request) && sent.length <= 2 ? dead() : request.forward();
    });
    await fixture.expectSettledOnce();
    expect(sent.length).toBeGreaterThan(2);
    expect(new Set(sent).size).toBe(1);
  });

  it("whose answer to the broadcast is lost counts as having the transaction", async () => {
    let lost = 0;
    fixture.onRpc(async (sent) => {
      const answer = await sent.forward();
      return broadcasts(sent) && lost++ === 0 ? dead() : answer;
    });
    await fixture.expectSettledOnce();
    expect(lost).toBeGreaterThan(0);
  });

  it("that dies right after the broadcast and comes back settles the payment in its first try", async () => {
    let sent = false;
    let failed = 0;
    fixture.onRpc((request) => {
      if (sent && failed++ < 3) return dead();
      sent ||= broadcasts(request);
      return request.forward();
    });
    const { data } = await fixture.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(failed).toBeGreaterThan(2);
    await fixture.expectSettledOnce();
  });

  it("that stays away after the broadcast leaves the payment pending with its hash, and settles it when back", async () => {
    let sent = false;
    fixture.onRpc((request) => {
      if (sent) return dead();
      sent = broadcasts(request);
      return request.forward();
    });
    const { status, data } = await fixture.settleImpatiently();
    expect({ status, data }).toMatchObject({
      status: 200,
      data: {
        settleResponse: {
          success: false,
          errorReason: "settlement_pending",
          transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        },
      },
    });
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    vi.unstubAllGlobals();
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Settled" }]);
    await fixture.expectSettledOnce();
  });

  it("that restarts without its pool gets the same transaction again", async () => {
    const { settleResponse } = await fixture.settlePending();
    await fetch(fixture.x402.url, { method: "DELETE" });
    expect((await fixture.settle()).data.settleResponse).toEqual(settleResponse);
    await fetch(fixture.x402.url, { method: "PUT" });
    expect(
      await fixture.x402.rpc("eth_getTransactionByHash", settleResponse.transaction),
    ).toBeNull();
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
    expect(await fixture.paidIn()).toEqual([settleResponse.transaction]);
  });

  it("that restarts after the block changes nothing: a repeat returns the settlement as a replay", async () => {
    const { data } = await fixture.settle();
    await fetch(fixture.x402.url, { method: "DELETE" });
    await fetch(fixture.x402.url, { method: "PUT" });
    await fixture.fireAlarms();
    expect((await fixture.settle()).data).toMatchObject({
      replay: true,
      settleResponse: data.settleResponse,
    });
    await fixture.expectSettledOnce();
  });

  it("that is on another chain than the declared one causes a 502 without a signature", async () => {
    await fixture.x402.rpc("anvil_setChainId", 1);
    expect((await fixture.settle()).status).toBe(502);
    expect(await fixture.attempts()).toEqual([]);
    await fixture.x402.rpc("anvil_setChainId", fixture.x402.contracts.chainId);
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce();
  });

  it("that turns to another chain before the signature gets no transaction until it is back", async () => {
    const { x402 } = fixture;
    let looks = 0;
    let early = 0;
    fixture.onRpc(async (sent) => {
      if (readsForSigning(sent) && looks < 3)
        await x402.rpc("anvil_setChainId", ++looks === 3 ? x402.contracts.chainId : 1);
      if (looks < 3 && broadcasts(sent)) early++;
      return sent.forward();
    });
    await fixture.expectSettledOnce();
    expect({ looks, early }).toEqual({ looks: 3, early: 0 });
  });

  it("that accepts no arrays gets single calls", async () => {
    const refusal = { code: -32600, message: "no batches" };
    fixture.onRpc(async ({ methods, forward }) =>
      methods.length > 1 ? Response.json({ jsonrpc: "2.0", id: null, error: refusal }) : forward(),
    );
    await fixture.expectSettledOnce();
  });
});
