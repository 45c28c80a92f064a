import { encodeFunctionData, parseAbi } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import compiled from "../../../devnet/evm/contracts/compiled.json" with { type: "json" };
import { emptyTables } from "../../support/app.ts";
import { answering, type Sent, SettlementFixture } from "../settlement-fixture.ts";

const TRAP = "0x00000000000000000000000000000000000000aa";
const trapAbi = parseAbi(["function set(uint256 to)"]);

let fixture: SettlementFixture;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open(`84532-traps-${++nodes}`);
  await fixture.x402.rpc("anvil_setCode", TRAP, compiled.TrapToken.deployedBytecode);
});
afterEach(() => vi.unstubAllGlobals());

async function mine(): Promise<void> {
  await fixture.x402.rpc("evm_mine");
  await fixture.x402.rpc("evm_setAutomine", true);
}

/** A payment in another token, which its wallet settles beside whatever else it has on its books. */
async function expectOthersToSettle(): Promise<void> {
  await fixture.again();
  expect((await fixture.settle()).data).toMatchObject({
    replay: false,
    settleResponse: { success: true },
  });
  await fixture.expectSettledOnce();
}

const REVERTED = "invalid_exact_evm_transaction_failed";

describe("a token that sets a trap after its payment was sent", () => {
  it.each([
    ["reverts and does not tell of the authorization", 1n, REVERTED],
    ["reverts and tells nonsense of the authorization", 2n, REVERTED],
    ["logs a transfer without an amount", 3n, "invalid_exact_evm_transfer_event_mismatch"],
  ])("and %s fails its own payment and no other", async (_, mode, errorReason) => {
    const { x402 } = fixture;
    await fixture.settlePending({ terms: { asset: TRAP } });
    const data = encodeFunctionData({ abi: trapAbi, functionName: "set", args: [mode] });
    await x402.outbid(TRAP, data);
    await mine();
    await fixture.fireAlarms();
    expect(await fixture.attempts()).toMatchObject([{ status: "Failed", errorReason }]);
    await expectOthersToSettle();
  });
});

/** A node that refuses one method for one payer. */
function refusing(method: string, payer: string, code: number, message: string) {
  const name = payer.slice(2).toLowerCase();
  return (sent: Sent): Promise<Response> =>
    answering(sent, (call) => {
      const isRefused = call.method === method && JSON.stringify(call.params).includes(name);
      return isRefused ? { error: { code, message } } : undefined;
    });
}

describe("a node that refuses to tell of one payment", () => {
  it("by eth_estimateGas leaves it unsent, and settles the others", async () => {
    await fixture.beImpatient();
    const { payer } = fixture;
    fixture.onRpc(refusing("eth_estimateGas", payer, -32000, "gas required exceeds allowance"));
    const answer = await fixture.settle();
    expect(answer.data.settleResponse).toMatchObject({
      success: false,
      errorReason: "unexpected_settle_error",
      transaction: "",
    });
    await fixture.expectFailedOnce("unexpected_settle_error");
    await expectOthersToSettle();
  });

  it("by eth_getLogs keeps it open, settles the others, and settles it when it tells", async () => {
    const { x402 } = fixture;
    await fixture.settlePending();
    const { payer, source, payment } = fixture;
    await x402.bringToChain(payment);
    let refused = 0;
    const refuse = refusing("eth_getLogs", payer, -32005, "query exceeds max results");
    fixture.onRpc((sent) => {
      if (sent.methods.includes("eth_getLogs")) refused++;
      return refuse(sent);
    });
    await mine();
    await vi.waitUntil(() => refused > 1, { timeout: 120_000 });
    await fixture.again();
    expect((await fixture.settle()).data.settleResponse).toMatchObject({ success: true });

    vi.unstubAllGlobals();
    Object.assign(fixture, { source, payment });
    await fixture.expectSettledOnce();
  });
});

describe("an authorization that expires while its node is away", () => {
  it("is settled when somebody else had brought it to the chain in time", async () => {
    const { x402 } = fixture;
    const { settleResponse } = await fixture.settlePending();
    // What the wallet asks comes in arrays; what the test asks does not.
    fixture.onRpc(({ body, forward }) =>
      body.startsWith("[") ? Promise.reject(new TypeError("the node is away")) : forward(),
    );
    await x402.rpc("anvil_dropTransaction", settleResponse.transaction);
    await x402.bringToChain(fixture.payment);
    await mine();
    await x402.rpc("evm_increaseTime", 86_400);
    await x402.rpc("evm_mine");
    vi.unstubAllGlobals();
    await fixture.fireAlarms();
    const [paidIn] = await fixture.paidIn();
    expect(paidIn).not.toBe(settleResponse.transaction);
    expect(await fixture.attempts()).toMatchObject([
      { status: "Settled", Settlement: { success: true, txHash: paidIn } },
    ]);
  });
});
