import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { claimOf, readAuthorization } from "../../src/x402/authorization.ts";
import { emptyTables } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { api, type Payload, Rail, type SettleData, settle } from "./rail.ts";

let rail: Rail;
let source: Awaited<ReturnType<Rail["source"]>>;
let payment: Payload;
const realFetch = globalThis.fetch;

let chains = 0;

beforeEach(async () => {
  await emptyTables();
  // A node of its own for each: time and blocks are turned back and forth.
  rail = await Rail.create(`84532-faults-${++chains}`);
  source = await rail.source();
  payment = await rail.payment(await rail.buyer(), source);
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A JSON-RPC request to the node, as the service sends it. */
interface Sent {
  methods: string[];
  forward: () => Promise<Response>;
}

/** Puts something between the service and its node. */
function onRpc(handle: (sent: Sent) => Promise<Response>): void {
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    const forward = () => realFetch(input, init);
    if (!String(input).startsWith(rail.url)) return forward();
    const body = JSON.parse(String(init?.body)) as { method: string } | { method: string }[];
    return handle({ methods: [body].flat().map(({ method }) => method), forward });
  });
}

const broadcasts = ({ methods }: Sent) => methods.includes("eth_sendRawTransaction");
const dead = () => Promise.reject(new TypeError("the node is gone"));

function objects() {
  const { PAYMENT_PAYLOAD, FACILITATOR_WALLET } = env;
  const authorization = readAuthorization(payment.payload);
  const claim = claimOf(rail.caip2, source.requirements.asset, authorization);
  const wallet = `${rail.caip2}:${rail.facilitator.address}`;
  return [
    FACILITATOR_WALLET.get(FACILITATOR_WALLET.idFromName(wallet)),
    PAYMENT_PAYLOAD.get(PAYMENT_PAYLOAD.idFromName(claim)),
  ];
}

/** Puts something between the objects that live now and their database. */
async function onDatabase(around: Around): Promise<void> {
  for (const object of objects())
    await runInDurableObject(object, (instance) => {
      const value = { ...env, DB: wrapD1(env.DB, around) };
      Object.defineProperty(instance, "env", { value, configurable: true });
    });
}

/** Fires the alarms that are set, as time would. */
async function fireAlarms(): Promise<void> {
  for (const object of objects()) await runDurableObjectAlarm(object);
}

async function attempt() {
  const { data } = await api<{
    PaymentAttempts: { status: string; errorReason: string | null; Settlement: unknown }[];
  }>("/x402/payments?direction=InboundSettle");
  return data.PaymentAttempts.filter(({ status }) => status !== "Replayed");
}

/** The end of every story: the payee was paid once, and every book says so. */
async function expectSettledOnce(): Promise<void> {
  const { status, message, data } = await settle(source, payment);
  expect({ status, message }).toEqual({ status: 200, message: "" });
  expect(data.settleResponse).toEqual(expect.objectContaining({ success: true }));
  await fireAlarms();
  expect(await rail.balance(source.payTo)).toBe(10_000n);
  const settled = (await attempt()).filter(({ status }) => status === "Settled");
  expect(settled).toHaveLength(1);
  expect(settled[0]?.Settlement).toMatchObject({
    success: true,
    txHash: data.settleResponse.transaction,
  });
  const { results } = await env.DB.prepare(
    "SELECT kind FROM event WHERE kind LIKE 'X402_PAYMENT_%'",
  ).all();
  expect(results).toEqual([{ kind: "X402_PAYMENT_SETTLED" }]);
}

/** A payment that is valid for five minutes, of which its payer waits one second. */
async function impatient(): Promise<void> {
  source = await rail.source({ maxTimeoutSeconds: 1 });
  const long = { ...source.requirements, maxTimeoutSeconds: 300 };
  const signed = await rail.payment(await rail.buyer(), { ...source, requirements: long });
  payment = { ...signed, accepted: source.requirements };
}

const PENDING = { success: false, errorReason: "settlement_pending" };

/** Settles while no block is made, and gives up waiting. */
async function settlePending(): Promise<SettleData> {
  await impatient();
  await rail.rpc("evm_setAutomine", false);
  const { status, data, headers } = await settle(source, payment);
  expect(status).toBe(200);
  expect(data.settleResponse).toMatchObject({
    ...PENDING,
    transaction: expect.stringMatching(/^0x/),
  });
  expect(headers.get("retry-after")).toMatch(/^\d+$/);
  return data;
}

describe("the RPC node", () => {
  it("that is gone before anything was sent: 502, nothing changed, and the next try settles", async () => {
    onRpc(dead);
    expect((await settle(source, payment)).status).toBe(502);
    vi.unstubAllGlobals();
    expect(await attempt()).toEqual([]);
    await expectSettledOnce();
  });

  it("that dies as the transaction is sent: the same one is sent again", async () => {
    let hits = 0;
    onRpc((sent) => (broadcasts(sent) && hits++ < 2 ? dead() : sent.forward()));
    await expectSettledOnce();
    expect(hits).toBeGreaterThan(2);
  });

  it("whose answer to the broadcast is lost", async () => {
    let hits = 0;
    onRpc(async (sent) => {
      const answer = await sent.forward();
      return broadcasts(sent) && hits++ === 0 ? dead() : answer;
    });
    await expectSettledOnce();
  });

  it("that dies right after the broadcast, and comes back", async () => {
    let sentAt = 0;
    let failed = 0;
    onRpc((sent) => {
      if (sentAt > 0 && failed++ < 3) return dead();
      if (broadcasts(sent)) sentAt = Date.now();
      return sent.forward();
    });
    await expectSettledOnce();
    expect(failed).toBeGreaterThan(2);
  });

  it("that is on another chain than the declared one: 502, nothing signed", async () => {
    await rail.rpc("anvil_setChainId", 1);
    try {
      expect((await settle(source, payment)).status).toBe(502);
      expect(await attempt()).toEqual([]);
    } finally {
      await rail.rpc("anvil_setChainId", rail.contracts.chainId);
    }
    await expectSettledOnce();
  });

  it("that takes no arrays", async () => {
    onRpc(async (sent) =>
      sent.methods.length > 1
        ? Response.json({
            jsonrpc: "2.0",
            id: null,
            error: { code: -32600, message: "no batches" },
          })
        : sent.forward(),
    );
    await expectSettledOnce();
  });
});

describe("a transaction", () => {
  it("that no block takes in time: pending with its hash, and the payment again joins it", async () => {
    const pending = await settlePending();
    const [before] = await attempt();
    expect(before).toMatchObject({ status: "Verified" });
    await rail.rpc("evm_mine");
    const { data } = await settle(source, payment);
    expect(data).toMatchObject({
      replay: true,
      settleResponse: { success: true, transaction: pending.settleResponse.transaction },
    });
    await expectSettledOnce();
  });

  it("that no block takes in time is settled by the alarms, without its caller", async () => {
    await settlePending();
    await rail.rpc("evm_mine");
    await fireAlarms();
    expect(await attempt()).toMatchObject([{ status: "Settled" }]);
    await expectSettledOnce();
  });

  it("that the node has forgotten is sent again", async () => {
    const { settleResponse } = await settlePending();
    await rail.rpc("anvil_dropAllTransactions");
    await rail.rpc("evm_setAutomine", true);
    await fireAlarms();
    await expectSettledOnce();
    const receipt = await rail.rpc("eth_getTransactionReceipt", settleResponse.transaction);
    expect(receipt).toMatchObject({ status: "0x1" });
  });

  it("that is overtaken by another of the same nonce is signed anew", async () => {
    const { settleResponse } = await settlePending();
    await rail.rpc("anvil_dropAllTransactions");
    const from = rail.facilitator.address;
    await rail.rpc("anvil_impersonateAccount", from);
    await rail.rpc("eth_sendTransaction", { from, to: from, gasPrice: "0x174876e800" });
    await rail.rpc("evm_mine");
    await rail.rpc("evm_setAutomine", true);
    await expectSettledOnce();
    const receipt = await rail.rpc("eth_getTransactionReceipt", settleResponse.transaction);
    expect(receipt).toBeNull();
  });

  it("that pays too little to be taken is bid up, with the same nonce", async () => {
    const first = await settlePending();
    // The base fee rises above what it offers; three blocks pass it by.
    for (let block = 0; block < 4; block++) {
      await rail.rpc("anvil_setNextBlockBaseFeePerGas", "0x2540be4000");
      await rail.rpc("evm_increaseTime", 5);
      await rail.rpc("evm_mine");
    }
    await rail.rpc("evm_setAutomine", true);
    await expectSettledOnce();
    const { transaction } = (await settle(source, payment)).data.settleResponse;
    expect(transaction).not.toBe(first.settleResponse.transaction);
    const nonceOf = async (hash: string) =>
      (await rail.rpc<{ nonce: string } | null>("eth_getTransactionByHash", hash))?.nonce;
    expect(await nonceOf(transaction)).toBeDefined();
  });

  it("that reverts fails the payment, with the transaction", async () => {
    await settlePending();
    const buyer = readAuthorization(payment.payload).from;
    // The payer spends the money elsewhere before the block is made.
    await rail.emptyAccount(buyer);
    await rail.rpc("evm_mine");
    const { data } = await settle(source, payment);
    expect(data.settleResponse).toMatchObject({ success: false });
    const failed = await attempt();
    expect(failed.every(({ status }) => status === "Failed")).toBe(true);
    expect(failed.map(({ errorReason }) => errorReason)).toContain(
      "invalid_exact_evm_transaction_failed",
    );
    expect(await rail.balance(source.payTo)).toBe(0n);
  });

  it("whose authorization somebody else brings to the chain first settles the payment", async () => {
    await settlePending();
    await rail.bringToChain(payment);
    await rail.rpc("evm_mine");
    await expectSettledOnce();
  });

  it("whose authorization expires meanwhile fails for good, and its nonce is used up", async () => {
    await impatient();
    await rail.rpc("evm_setAutomine", false);
    await settle(source, payment);
    await rail.rpc("anvil_dropAllTransactions");
    await rail.rpc("evm_increaseTime", 400);
    await rail.rpc("evm_mine");
    await rail.rpc("evm_setAutomine", true);
    await fireAlarms();
    expect(await attempt()).toMatchObject([
      {
        status: "Failed",
        errorReason: "invalid_exact_evm_payload_authorization_valid_before",
      },
    ]);
    expect(await rail.balance(source.payTo)).toBe(0n);
  });

  it("in a block that a reorganisation takes back is sent again", async () => {
    const { data } = await settle(source, payment);
    const { transaction } = data.settleResponse;
    await rail.rpc("anvil_rollback", 1);
    expect(await rail.rpc("eth_getTransactionReceipt", transaction)).toBeNull();
    expect(await rail.balance(source.payTo)).toBe(0n);
    await rail.rpc("evm_mine");
    await fireAlarms();
    await expectSettledOnce();
  });
});

describe("the facilitator wallet", () => {
  it("without gas fails the payment before anything is sent, and settles once it has some", async () => {
    await rail.fund(rail.facilitator.address, 1n);
    const { data } = await settle(source, payment);
    expect(data.settleResponse).toMatchObject({
      success: false,
      transaction: "",
      errorReason: "unexpected_settle_error",
      errorMessage: expect.stringContaining("native coin"),
    });
    expect(await rail.balance(source.payTo)).toBe(0n);
    await rail.fund(rail.facilitator.address);
    expect((await settle(source, payment)).data).toMatchObject({
      replay: false,
      settleResponse: { success: true },
    });
    expect(await rail.balance(source.payTo)).toBe(10_000n);
  });
});

/** Where the objects die: around the k-th call of node or database. */
async function dyingAt(k: number, when: "before" | "after") {
  let calls = 0;
  let isDead = false;
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    if (isDead) return run();
    const n = ++calls;
    if (n !== k) return run();
    if (when === "after") await run();
    isDead = true;
    // The object is torn down while it waits here.
    return new Promise<never>(() => {});
  };
  onRpc(({ forward }) => step(forward));
  await onDatabase((_, run) => step(run));
  return { count: () => calls, isDead: () => isDead };
}

describe("objects torn down at any call of node or database", () => {
  it.each(["before", "after"] as const)(
    "pay once, %s it",
    async (when) => {
      const counting = await dyingAt(0, when);
      expect((await settle(source, payment)).data.settleResponse.success).toBe(true);
      vi.restoreAllMocks();
      vi.unstubAllGlobals();
      expect(counting.count()).toBeGreaterThanOrEqual(10);

      for (let k = 1; k <= counting.count(); k++) {
        await emptyTables();
        await rail.setUp();
        source = await rail.source();
        payment = await rail.payment(await rail.buyer(), source);
        const dying = await dyingAt(k, when);
        const answer = settle(source, payment);
        const first = await Promise.race([
          answer.then(() => "answered"),
          vi.waitUntil(dying.isDead, { interval: 2, timeout: 10_000 }).then(() => "dead"),
        ]);
        vi.restoreAllMocks();
        vi.unstubAllGlobals();
        if (first === "dead") await abortAllDurableObjects();
        await answer;
        await expectSettledOnce();
      }
    },
    60_000,
  );
});

describe("a database that fails", () => {
  const lost = () => Promise.reject(new Error("D1_ERROR: Network connection lost."));

  it("after the settlement: the answer is the truth, and the books follow", async () => {
    let batches = 0;
    await onDatabase(({ kind }, run) => (kind === "batch" && ++batches > 1 ? lost() : run()));
    const { data } = await settle(source, payment);
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(await attempt()).toMatchObject([{ status: "Verified" }]);
    await onDatabase((_, run) => run());
    await fireAlarms();
    expect(await attempt()).toMatchObject([{ status: "Settled" }]);
    await expectSettledOnce();
  });

  it("before the settlement: 503, nothing is sent, and the same payment again settles", async () => {
    await onDatabase(({ kind }, run) => (kind === "batch" ? lost() : run()));
    expect((await settle(source, payment)).status).toBe(503);
    await onDatabase((_, run) => run());
    expect(await rail.balance(source.payTo)).toBe(0n);
    await expectSettledOnce();
  });
});
