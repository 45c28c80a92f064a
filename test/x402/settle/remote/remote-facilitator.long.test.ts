/** Settling through the SDK's own facilitator, and through one that lies, fails or does not answer. */
import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { answering, type RpcCall, SettlementFixture } from "../../settlement-fixture.ts";
import { api } from "../../x402-fixture.ts";
import { AUTH, RemoteFacilitator, resolveTo, URL_OF_IT } from "./sdk-facilitator.ts";

let fixture: SettlementFixture;
let remote: RemoteFacilitator;

beforeEach(() => open("84532-remote"));
afterEach(() => vi.unstubAllGlobals());

async function open(node: string): Promise<void> {
  vi.unstubAllGlobals();
  await emptyTables();
  fixture = await SettlementFixture.open(node);
  remote = await RemoteFacilitator.start(fixture.x402);
  await remote.attach(fixture);
}

const PENDING = { success: false, errorReason: "settlement_pending" };
/** A node that has no time for a call. */
const toRefusal = ({ method }: RpcCall) =>
  method === "eth_call"
    ? { error: { code: -32_000, message: "execution aborted (timeout = 5s)" } }
    : undefined;
/** Answers of a node that has not seen the use of an authorization. */
const UNUSED: Record<string, object> = { eth_call: { result: toHex(0, { size: 32 }) } };
const never = () => new Promise<object>(() => {});

/** A payment whose payer waits for two seconds at most, and which is valid for five minutes. */
const shortly = () => fixture.beImpatient({}, 3);

/** Makes a block after the authorization has expired, and fires the alarms. */
async function expire(seconds = 400): Promise<void> {
  await fixture.x402.rpc("evm_increaseTime", seconds);
  await fixture.x402.rpc("anvil_mine", toHex(1));
  await fixture.fireAlarms();
}

describe("the SDK's facilitator", () => {
  it.each(["eip3009", "permit2"] as const)("settles a payment by %s", async (method) => {
    await fixture.beImpatient({ method }, 30);
    await fixture.expectSettledOnce();
    const [attempt] = await fixture.attempts();
    expect(attempt).toMatchObject({ facilitator: new URL(URL_OF_IT).origin });
    expect(remote.got).toEqual([
      { operation: "verify", authorization: AUTH },
      { operation: "settle", authorization: AUTH },
    ]);
  });

  it("verifies, and offers what the network settles", async () => {
    const { data } = await api<object>("/x402/verify", {
      supportedPaymentSourceId: fixture.source.id,
      paymentPayload: fixture.payment,
    });
    expect(data).toMatchObject({ isValid: true });
    const { data: networks } = await api<{ Networks: object[] }>("/x402/networks/available");
    expect(networks.Networks).toMatchObject([{ canSettle: true }]);
    expect(remote.countOf("settle")).toBe(0);
  });

  it("refuses before anything is sent", async () => {
    remote.handle = async ({ operation, settle }) =>
      operation === "verify"
        ? { isValid: false, invalidReason: "sanctioned", invalidMessage: `not with ${AUTH}` }
        : settle();
    const { data } = await fixture.settle();
    expect(data.settleResponse).toMatchObject({
      success: false,
      errorReason: "sanctioned",
      errorMessage: "not with ***",
    });
    await fixture.expectFailedOnce("sanctioned");
    expect(remote.countOf("settle")).toBe(0);
  });

  it("that is not reachable causes a 502, and no attempt", async () => {
    remote.handle = () => Promise.reject(new TypeError("connection refused"));
    expect((await fixture.settle()).status).toBe(502);
    expect(await fixture.attempts()).toEqual([]);
  });
});

describe("a settlement whose answer is lost", () => {
  it("is found on the chain within the same request", async () => {
    remote.handle = async ({ operation, settle }) => {
      const answer = await settle();
      if (operation === "settle") throw new TypeError("connection reset");
      return answer;
    };
    await fixture.expectSettledOnce();
    expect(remote.countOf("settle")).toBe(1);
  });

  it("stays open after a timeout, is never called a failure, and settles late", async () => {
    await shortly();
    let late = async (): Promise<object> => ({});
    remote.handle = ({ operation, settle }) => {
      if (operation === "verify") return settle();
      late = settle;
      return never();
    };
    const { status, data, headers } = await fixture.settle();
    expect({ status, settled: data.settleResponse }).toMatchObject({
      status: 200,
      settled: PENDING,
    });
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified", errorReason: null }]);
    await fixture.fireAlarms();
    expect(await fixture.events()).toEqual([]);
    await late();
    await fixture.fireAlarms();
    await fixture.expectSettledOnce();
  });

  it("fails only when the authorization is over and unused", async () => {
    // The clock of this node is not turned back.
    await open("84532-remote-expiry");
    await shortly();
    remote.handle = ({ operation, settle }) => (operation === "verify" ? settle() : never());
    expect((await fixture.settle()).data.settleResponse).toMatchObject(PENDING);
    await expire(200);
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    await expire();
    await fixture.expectFailedOnce("invalid_exact_evm_payload_authorization_valid_before");
  });

  it.each(["eip3009", "permit2"] as const)(
    "by %s settles although a node errs once, long after the authorization is over",
    async (method) => {
      await open(`84532-remote-error-${method}`);
      await fixture.beImpatient({ method }, 3);
      let late = async (): Promise<object> => ({});
      remote.handle = ({ operation, settle }) => {
        if (operation === "verify") return settle();
        late = settle;
        return never();
      };
      expect((await fixture.settle()).data.settleResponse).toMatchObject(PENDING);
      await late();
      fixture.onRpc((sent) => answering(sent, toRefusal));
      await expire(2000);
      expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
      fixture.onRpc((sent) => answering(sent, ({ method }) => UNUSED[method]));
      await fixture.fireAlarms();
      expect(await fixture.attempts()).toMatchObject([{ status: "Failed" }]);
      fixture.onRpc(({ forward }) => forward());
      await fixture.fireAlarms();
      await fixture.expectSettledOnce(["X402_PAYMENT_FAILED"]);
    },
  );

  it("is not brought to another URL, which the network has meanwhile", async () => {
    await shortly();
    remote.handle = ({ operation, settle }) => (operation === "verify" ? settle() : never());
    await fixture.settle();
    const facilitatorUrl = `${URL_OF_IT}/other`;
    await api("/x402/networks", { caip2Id: fixture.x402.caip2, facilitatorUrl });
    remote.got.length = 0;
    expect((await fixture.settle()).data.settleResponse).toMatchObject(PENDING);
    expect(remote.countOf("settle")).toBe(0);
  });
});

describe("a facilitator that lies", () => {
  it.each([
    ["success without a transaction", { success: true }],
    [
      "success in a transaction that is not there",
      { success: true, transaction: `0x${"12".repeat(32)}` },
    ],
    [
      "success on another chain",
      { success: true, transaction: `0x${"12".repeat(32)}`, network: "eip155:1" },
    ],
    ["a failure", { success: false, errorReason: "out_of_gas", transaction: "" }],
    ["no answer of x402", { hello: "world" }],
  ])("with %s decides nothing", async (_, answer) => {
    await shortly();
    remote.handle = async ({ operation, settle }) => (operation === "verify" ? settle() : answer);
    expect((await fixture.settle()).data.settleResponse).toMatchObject({
      ...PENDING,
      transaction: "network" in answer ? "" : ("transaction" in answer && answer.transaction) || "",
    });
    expect(await fixture.attempts()).toMatchObject([{ status: "Verified" }]);
    remote.handle = ({ settle }) => settle();
    if (!("transaction" in answer && answer.transaction !== "") || "network" in answer)
      await fixture.expectSettledOnce();
  });

  it("with a failure after it has settled does not undo the settlement", async () => {
    remote.handle = async ({ operation, settle }) => {
      const answer = await settle();
      return operation === "verify" ? answer : { success: false, errorReason: "no" };
    };
    await fixture.expectSettledOnce();
  });

  it("is asked at public addresses alone, whatever its name resolves to by now", async () => {
    await resolveTo(["10.0.0.7"]);
    expect((await fixture.settle()).status).toBe(502);
    expect(remote.got).toEqual([]);
    await resolveTo(["93.184.215.14"]);
    await fixture.expectSettledOnce();
  });
});
