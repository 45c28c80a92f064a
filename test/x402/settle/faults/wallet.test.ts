import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, Scene } from "../../scene.ts";

let scene: Scene;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  scene = await Scene.open(`84532-gas-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

const UNFUNDED = {
  replay: false,
  settleResponse: {
    success: false,
    transaction: "",
    errorReason: "unexpected_settle_error",
    errorMessage: "The facilitator wallet has too little of the native coin for gas",
  },
};

describe("a facilitator wallet without gas", () => {
  it("fails the payment before anything is signed, and settles it once there is some", async () => {
    const { rail } = scene;
    await rail.fund(rail.facilitator.address, 1n);
    expect((await scene.settle()).data).toMatchObject(UNFUNDED);
    await scene.expectFailedOnce("unexpected_settle_error");
    await rail.fund(rail.facilitator.address);
    await scene.fireAlarms();
    expect(await scene.paidIn()).toEqual([]);
    await scene.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("keeps a payment open that the node refuses for lack of gas, and settles the payment once there is gas", async () => {
    const { rail } = scene;
    const sent: string[] = [];
    scene.onRpc(async (request) => {
      if (broadcasts(request)) {
        sent.push(request.body);
        await rail.fund(rail.facilitator.address, 1n);
      }
      return request.forward();
    });
    const { settleResponse } = (await scene.settleImpatiently()).data;
    expect(settleResponse).toMatchObject({ success: false, errorReason: "settlement_pending" });
    expect(await scene.attempts()).toMatchObject([{ status: "Verified" }]);
    vi.unstubAllGlobals();

    await rail.fund(rail.facilitator.address);
    await scene.fireAlarms();
    expect(sent).toHaveLength(1);
    await scene.expectSettledOnce();
    expect(await scene.paidIn()).toEqual([settleResponse.transaction]);
  });

  it("that had sent the payment before settles it once there is some again", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    await rail.fund(rail.facilitator.address, 1n);
    await rail.rpc("evm_mine");
    expect((await scene.settle()).data.settleResponse).toEqual(settleResponse);
    expect(await scene.paidIn()).toEqual([]);

    await rail.fund(rail.facilitator.address);
    await rail.rpc("evm_setAutomine", true);
    await scene.fireAlarms();
    await scene.expectSettledOnce();
    expect(await scene.paidIn()).toEqual([settleResponse.transaction]);
  });
});
