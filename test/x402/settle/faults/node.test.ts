import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, dead, Scene, type Sent } from "../../scene.ts";

let scene: Scene;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  scene = await Scene.open(`84532-faulty-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

/** The first look at the chain for a payment that was judged, and all that come after it. */
const readsForSigning = ({ methods }: Sent) => methods.includes("eth_getTransactionCount");

describe("an RPC node", () => {
  it("that is gone before anything was sent: 502, nothing changed, and the next try settles", async () => {
    scene.onRpc(dead);
    expect((await scene.settle()).status).toBe(502);
    vi.unstubAllGlobals();
    expect(await scene.attempts()).toEqual([]);
    expect(await scene.paidIn()).toEqual([]);
    await scene.expectSettledOnce();
  });

  it("that dies before anything was signed: the payment fails, and settles when it is sent again", async () => {
    await scene.beImpatient();
    scene.onRpc((sent) => (readsForSigning(sent) ? dead() : sent.forward()));
    const { status, data } = await scene.settle();
    expect({ status, data }).toMatchObject({
      status: 200,
      data: {
        replay: false,
        settleResponse: {
          success: false,
          errorReason: "unexpected_settle_error",
          errorMessage: "The payment could not be sent in time",
          transaction: "",
        },
      },
    });
    await scene.expectFailedOnce("unexpected_settle_error");
    vi.unstubAllGlobals();
    await scene.fireAlarms();
    expect(await scene.paidIn()).toEqual([]);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("that dies as the transaction is sent: the same one is sent again", async () => {
    const sent: string[] = [];
    scene.onRpc((request) => {
      if (broadcasts(request)) sent.push(request.body);
      return broadcasts(request) && sent.length <= 2 ? dead() : request.forward();
    });
    await scene.expectSettledOnce();
    expect(sent.length).toBeGreaterThan(2);
    expect(new Set(sent).size).toBe(1);
  });

  it("whose answer to the broadcast is lost: the transaction counts as sent", async () => {
    let lost = 0;
    scene.onRpc(async (sent) => {
      const answer = await sent.forward();
      return broadcasts(sent) && lost++ === 0 ? dead() : answer;
    });
    await scene.expectSettledOnce();
    expect(lost).toBeGreaterThan(0);
  });

  it("that dies right after the broadcast and comes back: the payment settles in its first try", async () => {
    let sent = false;
    let failed = 0;
    scene.onRpc((request) => {
      if (sent && failed++ < 3) return dead();
      sent ||= broadcasts(request);
      return request.forward();
    });
    const { data } = await scene.settle();
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(failed).toBeGreaterThan(2);
    await scene.expectSettledOnce();
  });

  it("that stays away after the broadcast: pending with the hash, and settled when it is back", async () => {
    let sent = false;
    scene.onRpc((request) => {
      if (sent) return dead();
      sent = broadcasts(request);
      return request.forward();
    });
    const { status, data } = await scene.settleImpatiently();
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
    expect(await scene.attempts()).toMatchObject([{ status: "Verified" }]);
    vi.unstubAllGlobals();
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Settled" }]);
    await scene.expectSettledOnce();
  });

  it("that restarts without its pool gets the same transaction again", async () => {
    const { settleResponse } = await scene.settlePending();
    await fetch(scene.rail.url, { method: "DELETE" });
    expect((await scene.settle()).data.settleResponse).toEqual(settleResponse);
    await fetch(scene.rail.url, { method: "PUT" });
    expect(await scene.rail.rpc("eth_getTransactionByHash", settleResponse.transaction)).toBeNull();
    await scene.fireAlarms();
    await scene.expectSettledOnce();
    expect(await scene.paidIn()).toEqual([settleResponse.transaction]);
  });

  it("that restarts after the block: the settlement stands, and is told again as a replay", async () => {
    const { data } = await scene.settle();
    await fetch(scene.rail.url, { method: "DELETE" });
    await fetch(scene.rail.url, { method: "PUT" });
    await scene.fireAlarms();
    expect((await scene.settle()).data).toMatchObject({
      replay: true,
      settleResponse: data.settleResponse,
    });
    await scene.expectSettledOnce();
  });

  it("that is on another chain than the declared one: 502, nothing signed", async () => {
    await scene.rail.rpc("anvil_setChainId", 1);
    expect((await scene.settle()).status).toBe(502);
    expect(await scene.attempts()).toEqual([]);
    await scene.rail.rpc("anvil_setChainId", scene.rail.contracts.chainId);
    expect(await scene.paidIn()).toEqual([]);
    await scene.expectSettledOnce();
  });

  it("that turns to another chain before the signature: nothing is signed until it is back", async () => {
    const { rail } = scene;
    let looks = 0;
    let early = 0;
    scene.onRpc(async (sent) => {
      if (readsForSigning(sent) && looks < 3)
        await rail.rpc("anvil_setChainId", ++looks === 3 ? rail.contracts.chainId : 1);
      if (looks < 3 && broadcasts(sent)) early++;
      return sent.forward();
    });
    await scene.expectSettledOnce();
    expect({ looks, early }).toEqual({ looks: 3, early: 0 });
  });

  it("that takes no arrays is asked one by one", async () => {
    const refusal = { code: -32600, message: "no batches" };
    scene.onRpc(async ({ methods, forward }) =>
      methods.length > 1 ? Response.json({ jsonrpc: "2.0", id: null, error: refusal }) : forward(),
    );
    await scene.expectSettledOnce();
  });
});
