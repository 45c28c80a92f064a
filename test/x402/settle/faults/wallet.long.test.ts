import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { broadcasts, SettlementFixture } from "../../settlement-fixture.ts";

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-gas-${++nodes}`);
});
afterEach(() => vi.unstubAllGlobals());

const UNFUNDED = {
  replay: false,
  settleResponse: {
    success: false,
    transaction: "",
    errorReason: "unexpected_settle_error",
    errorMessage:
      "The facilitator wallet cannot pay for gas. Fund the wallet with the native coin.",
  },
};

describe("a facilitator wallet without gas", () => {
  it("fails the payment before the signature, and settles the payment once the wallet has gas", async () => {
    const { x402 } = fixture;
    await x402.fund(x402.facilitator.address, 1n);
    expect((await fixture.settle()).data).toMatchObject(UNFUNDED);
    await fixture.expectFailedOnce("unexpected_settle_error");
    await x402.fund(x402.facilitator.address);
    await fixture.fireAlarms();
    expect(await fixture.paidIn()).toEqual([]);
    await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
  });

  it("keeps a payment open that the node refuses for lack of gas, and settles the payment once the wallet has gas", async () => {
    const { x402 } = fixture;
    const sent: string[] = [];
    fixture.onRpc(async (request) => {
      if (broadcasts(request)) {
        sent.push(request.body);
        await x402.fund(x402.facilitator.address, 1n);
      }
      return request.forward();
    });
    const { settleResponse } = (await fixture.settleImpatiently()).data;
    expect(settleResponse).toMatchObject({ success: false, errorReason: "settlement_pending" });
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    vi.unstubAllGlobals();

    await x402.fund(x402.facilitator.address);
    await fixture.fireAlarms();
    expect(sent).toHaveLength(1);
    await fixture.expectSettledOnce();
    expect(await fixture.paidIn()).toEqual([settleResponse.transaction]);
  });

  it("that had sent the payment before settles the payment once the wallet has gas again", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    await x402.fund(x402.facilitator.address, 1n);
    await x402.rpc("evm_mine");
    expect((await fixture.settle()).data.settleResponse).toEqual(settleResponse);
    expect(await fixture.paidIn()).toEqual([]);

    await x402.fund(x402.facilitator.address);
    await x402.rpc("evm_setAutomine", true);
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
    expect(await fixture.paidIn()).toEqual([settleResponse.transaction]);
  });
});
