import { encodeFunctionData, parseAbi } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import compiled from "../../../devnet/evm/contracts/compiled.json" with { type: "json" };
import { emptyTables } from "../../support/app.ts";
import { answering, Scene, type Sent } from "../scene.ts";

const TRAP = "0x00000000000000000000000000000000000000aa";
const trapAbi = parseAbi(["function set(uint256 to)"]);

let scene: Scene;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  scene = await Scene.open(`84532-traps-${++nodes}`);
  await scene.rail.rpc("anvil_setCode", TRAP, compiled.TrapToken.deployedBytecode);
});
afterEach(() => vi.unstubAllGlobals());

async function mine(): Promise<void> {
  await scene.rail.rpc("evm_mine");
  await scene.rail.rpc("evm_setAutomine", true);
}

/** A payment in another token, which its wallet settles beside whatever else it has on its books. */
async function expectOthersToSettle(): Promise<void> {
  await scene.again();
  expect((await scene.settle()).data).toMatchObject({
    replay: false,
    settleResponse: { success: true },
  });
  await scene.expectSettledOnce();
}

const REVERTED = "invalid_exact_evm_transaction_failed";

describe("a token that sets a trap after its payment was sent", () => {
  it.each([
    ["reverts and does not tell of the authorization", 1n, REVERTED],
    ["reverts and tells nonsense of the authorization", 2n, REVERTED],
    ["logs a transfer without an amount", 3n, "invalid_exact_evm_transfer_event_mismatch"],
  ])("and %s fails its own payment and no other", async (_, mode, errorReason) => {
    const { rail } = scene;
    await scene.settlePending({ terms: { asset: TRAP } });
    const data = encodeFunctionData({ abi: trapAbi, functionName: "set", args: [mode] });
    await rail.outbid(TRAP, data);
    await mine();
    await scene.fireAlarms();
    expect(await scene.attempts()).toMatchObject([{ status: "Failed", errorReason }]);
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
    await scene.beImpatient();
    const { payer } = scene;
    scene.onRpc(refusing("eth_estimateGas", payer, -32000, "gas required exceeds allowance"));
    const answer = await scene.settle();
    expect(answer.data.settleResponse).toMatchObject({
      success: false,
      errorReason: "unexpected_settle_error",
      transaction: "",
    });
    await scene.expectFailedOnce("unexpected_settle_error");
    await expectOthersToSettle();
  });

  it("by eth_getLogs keeps it open, settles the others, and settles it when it tells", async () => {
    const { rail } = scene;
    await scene.settlePending();
    const { payer, source, payment } = scene;
    await rail.bringToChain(payment);
    let refused = 0;
    const refuse = refusing("eth_getLogs", payer, -32005, "query exceeds max results");
    scene.onRpc((sent) => {
      if (sent.methods.includes("eth_getLogs")) refused++;
      return refuse(sent);
    });
    await mine();
    await vi.waitUntil(() => refused > 1, { timeout: 120_000 });
    await scene.again();
    expect((await scene.settle()).data.settleResponse).toMatchObject({ success: true });

    vi.unstubAllGlobals();
    Object.assign(scene, { source, payment });
    await scene.expectSettledOnce();
  });
});

describe("an authorization that expires while its node is away", () => {
  it("is settled when somebody else had brought it to the chain in time", async () => {
    const { rail } = scene;
    const { settleResponse } = await scene.settlePending();
    // What the wallet asks comes in arrays; what the test asks does not.
    scene.onRpc(({ body, forward }) =>
      body.startsWith("[") ? Promise.reject(new TypeError("the node is away")) : forward(),
    );
    await rail.rpc("anvil_dropTransaction", settleResponse.transaction);
    await rail.bringToChain(scene.payment);
    await mine();
    await rail.rpc("evm_increaseTime", 86_400);
    await rail.rpc("evm_mine");
    vi.unstubAllGlobals();
    await scene.fireAlarms();
    const [paidIn] = await scene.paidIn();
    expect(paidIn).not.toBe(settleResponse.transaction);
    expect(await scene.attempts()).toMatchObject([
      { status: "Settled", Settlement: { success: true, txHash: paidIn } },
    ]);
  });
});
