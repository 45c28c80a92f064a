/** Outbound payments whose Worker stops, and whose node is at fault. Budgets equal what was signed or charged. */
import { env } from "cloudflare:workers";
import { toHex } from "viem";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import { runSchedule } from "../../../src/schedule.ts";
import { readAuthorization } from "../../../src/x402/evm/authorization.ts";
import { encodeSettlement } from "../../../src/x402/evm/calldata.ts";
import { watchPayments } from "../../../src/x402/pay/watch-payments.ts";
import { app, emptyTables } from "../../support/app.ts";
import { crashAt, shortenTimeouts } from "../../support/crash-at.ts";
import { paired, sampled } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { answering, dead, type RpcCall, type Sent } from "../settlement-fixture.ts";
import { atEveryStep } from "../steps.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";
import { budgetOf, grant, order, type Paid, purse, type Wallet } from "./paying.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;

const BUDGET = 15_000n;
const MAXIMUM = 10_000n;

/** A form of payments. `charge` is what its seller takes of the maximum; only the rest of `upto` returns. */
const FORMS = [
  { name: "exact by EIP-3009", scheme: "exact", method: "eip3009", charge: MAXIMUM },
  { name: "exact by Permit2", scheme: "exact", method: "permit2", charge: MAXIMUM },
  { name: "upto", scheme: "upto", method: "permit2", charge: 2500n },
] as const;
const FINAL_BLOCKS = toHex(12);
/** How long the service waits for a node. */
const NODE_TIMEOUT_MS = 8_000;

let form: (typeof FORMS)[number] = FORMS[0];
let x402: X402Fixture;
let wallet: Wallet;
let source: Source;
let token: string;
let nodes = 0;

beforeEach(async () => {
  await emptyTables();
  // A separate node for each test, since they change time and blocks.
  x402 = await X402Fixture.create(`84532-pay-faults-${++nodes}`);
  wallet = await purse(x402);
  await x402.approvePermit2(wallet.address);
  source = await x402.source({ scheme: form.scheme });
  token = await insertKey({ id: "payer", canPay: true, networkLimit: [x402.caip2] });
});
afterEach(() => vi.unstubAllGlobals());

async function sign(idempotencyKey: string, bindings: Partial<Env> = {}): Promise<Paid | null> {
  const { requirements } = source;
  const extra = { ...requirements.extra, assetTransferMethod: form.method };
  const body = JSON.stringify(order(wallet, [{ ...requirements, extra }]));
  const request = { method: "POST", body, headers: { token, "idempotency-key": idempotencyKey } };
  const response = await app.request("/api/v1/x402/pay", request, { ...env, ...bindings });
  return response.ok ? ((await response.json()) as { data: Paid }).data : null;
}

async function signed(): Promise<Paid> {
  const paid = await sign(crypto.randomUUID());
  if (!paid) throw new Error("the payment was refused");
  return paid;
}

/** The seller settles a payment. */
async function charge({ asset, paymentPayload }: Paid, amount: bigint): Promise<void> {
  const authorization = readAuthorization(paymentPayload.payload, form.scheme);
  const { to, data } = encodeSettlement(asset, authorization, amount);
  await x402.transact(x402.facilitator.address, to, data);
}

async function attempts(): Promise<{ id: string; status: string; amount: string }[]> {
  const path = "/x402/payments?direction=OutboundPayment&take=100";
  const { data } = await api<{ PaymentAttempts: { id: string; status: string; amount: string }[] }>(
    path,
  );
  return data.PaymentAttempts;
}

/** What remains of the key's budget, in which nothing else was ever spent. */
async function remaining(): Promise<bigint> {
  const budget = await budgetOf("payer");
  return BigInt(budget?.remainingAmount ?? 0);
}

/** What remains at the end. @param charged - null: nothing */
const leftOf = (charged: bigint | null) =>
  BUDGET - (form.scheme === "upto" ? (charged ?? 0n) : MAXIMUM);

/** Time passes until payments have long expired. A node that was set back is behind the clock by a sweep's time. */
async function expire(): Promise<void> {
  await x402.rpc("evm_increaseTime", 3_600);
  await x402.rpc("evm_mine");
}

/** The part of the cron that looks at these payments, so that a sweep has no steps of others. */
const watch = (bindings: Partial<Env> = {}) =>
  watchPayments({ ...env, ...bindings }, "test", Date.now(), Date.now() + 60_000);

type Live = <T>(work: (bindings: Partial<Env>) => Promise<T>) => Promise<T | null>;

/** What happens to a signed payment. @returns its charge; null: none */
type Fate = (paid: Paid, live: Live) => Promise<bigint | null>;

const FATES: [name: string, fate: Fate][] = [
  [
    "is charged",
    async (paid, live) => {
      await charge(paid, form.charge);
      await live(watch);
      await watch();
      expect(await attempts()).toMatchObject([{ status: "Settled", amount: `${form.charge}` }]);
      expect(await remaining()).toBe(BUDGET - MAXIMUM);
      await x402.rpc("anvil_mine", FINAL_BLOCKS);
      return form.charge;
    },
  ],
  [
    "is charged again after a re-org",
    async (paid, live) => {
      const snapshot = await x402.rpc("evm_snapshot");
      await charge(paid, MAXIMUM);
      await watch();
      await x402.rpc("evm_revert", snapshot);
      await x402.rpc("evm_mine");
      await live(watch);
      await watch();
      expect(await attempts()).toMatchObject([{ status: "Verified", amount: `${MAXIMUM}` }]);
      await charge(paid, form.charge);
      await x402.rpc("anvil_mine", FINAL_BLOCKS);
      return form.charge;
    },
  ],
  [
    "is never charged",
    async (_, live) => {
      await live(watch);
      await watch();
      expect(await attempts()).toMatchObject([{ status: "Verified", amount: `${MAXIMUM}` }]);
      await expire();
      return null;
    },
  ],
];

/** Lives through a payment in a Worker that stops at its k-th awaited step, and starts again. */
async function stopAt(k: number, when: "before" | "after", fate: Fate): Promise<boolean> {
  await env.DB.batch(
    ["x402_settlement", "x402_payment_attempt", "x402_budget"].map((table) =>
      env.DB.prepare(`DELETE FROM ${table}`),
    ),
  );
  await expectOk(await grant(x402, "payer", wallet, `${BUDGET}`));
  const snapshot = await x402.rpc("evm_snapshot");
  const dying = crashAt(k, when);
  const live: Live = async (work) => {
    vi.stubGlobal("fetch", dying.fetch);
    try {
      return await work(dying.overrides.env);
    } catch {
      return null;
    } finally {
      vi.unstubAllGlobals();
    }
  };

  const key = crypto.randomUUID();
  const answer = await live((bindings) => sign(key, bindings));
  const paid = await sign(key);
  if (!paid) throw new Error("the repeat was refused");
  if (answer) expect(paid).toEqual(answer);
  expect(await attempts()).toMatchObject([{ id: paid.attemptId, status: "Verified" }]);
  expect(await remaining()).toBe(BUDGET - MAXIMUM);

  const charged = await fate(paid, live);
  const left = leftOf(charged);
  await live(watch);
  expect([BUDGET - MAXIMUM, left], `stopped at step ${k}`).toContain(await remaining());
  for (let repeat = 0; repeat < 3; repeat++) await watch();
  expect(await remaining(), `stopped at step ${k}`).toBe(left);
  expect(await x402.balance(source.payTo)).toBe(charged ?? 0n);
  expect(await attempts()).toMatchObject([
    charged === null ? { status: "Failed" } : { status: "Settled", amount: `${charged}` },
  ]);
  await x402.rpc("evm_revert", snapshot);
  return dying.count() >= k;
}

type Handle = (sent: Sent) => Promise<Response>;

/** Changes the answers to calls of a method. */
const says =
  (method: string, answer: (call: RpcCall, truth: { result?: unknown }) => object): Handle =>
  (sent) =>
    answering(sent, (call, truth) => (call.method === method ? answer(call, truth) : undefined));

const ZERO_WORD = toHex(0, { size: 32 });
const failing = (code: number, message: string) => () => ({ error: { code, message } });

type Fault = [name: string, handle: Handle];

/** Faults that tell nothing about a payment, however long they last. */
const OUTAGES: Fault[] = [
  ["is gone", dead],
  ["never answers", () => new Promise(() => {})],
  ["answers with a page", async () => new Response("<h1>Bad gateway</h1>", { status: 502 })],
  ["is on another chain", says("eth_chainId", () => ({ result: "0x1" }))],
  ["has no latest block", says("eth_getBlockByNumber", () => ({ result: null }))],
  ["is behind", says("eth_blockNumber", () => ({ result: "0x1" }))],
  [
    "has no time for a call",
    says("eth_call", failing(-32_000, "execution aborted (timeout = 5s)")),
  ],
  ["reverts each call", says("eth_call", failing(3, "execution reverted"))],
  ["has no contracts", says("eth_call", () => ({ result: "0x" }))],
  ["refuses to look for logs", says("eth_getLogs", failing(-32_005, "range is too large"))],
];
/** Wrong answers. Once the authorization has long expired, two in a row are believed. */
const LIES: Fault[] = [
  ["says that the nonce is unused", says("eth_call", () => ({ result: ZERO_WORD }))],
  ["has no logs", says("eth_getLogs", () => ({ result: [] }))],
  ["has no transactions", says("eth_getTransactionByHash", () => ({ result: null }))],
];
const FAULTS = [...OUTAGES, ...LIES];

/** Runs something while the node is at fault. */
async function atFault<T>(handle: Handle, run: () => Promise<T>): Promise<T> {
  const realFetch = globalThis.fetch;
  shortenTimeouts([NODE_TIMEOUT_MS]);
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    if (!String(input).startsWith(x402.url)) return realFetch(input, init);
    const body = String(init?.body);
    const calls = [JSON.parse(body) as RpcCall | RpcCall[]].flat();
    const hangUp = new Promise<never>((_, reject) => {
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
    const forward = () => realFetch(input, init);
    const answer = handle({ methods: calls.map(({ method }) => method), body, forward });
    return Promise.race([answer, hangUp]);
  });
  const result = await run();
  vi.unstubAllGlobals();
  return result;
}

describe.each(FORMS)("a payment of $name", (of) => {
  beforeAll(() => {
    form = of;
  });

  describe("a Worker stopped at any awaited step of a payment", () => {
    it.each(
      paired(FATES, ["before", "after"] as const).map(
        ([when, [name, fate]]) => [when, name, fate] as const,
      ),
    )(
      "debits the maximum once and returns the rest once (%s it, and the payment %s)",
      async (when, _, fate) => {
        expect(await atEveryStep(7, (k) => stopAt(k, when, fate))).toBeGreaterThan(10);
      },
    );
  });

  describe("a node that is at fault", () => {
    beforeEach(async () => {
      await expectOk(await grant(x402, "payer", wallet, `${BUDGET}`));
    });

    it.each(sampled(4, FAULTS, 3))("and %s debits the maximum once", async (_, handle) => {
      const key = crypto.randomUUID();
      const answer = await atFault(handle, () => sign(key));
      expect(await remaining()).toBe(answer ? BUDGET - MAXIMUM : BUDGET);
      const paid = await sign(key);
      if (answer) expect(paid).toEqual(answer);
      expect(await attempts()).toMatchObject([{ id: paid?.attemptId }]);
      expect(await remaining()).toBe(BUDGET - MAXIMUM);
    });

    it.each(sampled(4, FAULTS, 1))(
      "and %s returns no more than the rest of a final charge",
      async (_, handle) => {
        const paid = await signed();
        await charge(paid, form.charge);
        await x402.rpc("anvil_mine", FINAL_BLOCKS);
        await atFault(handle, () => runSchedule(env));
        expect([BUDGET - MAXIMUM, leftOf(form.charge)]).toContain(await remaining());
        for (let repeat = 0; repeat < 2; repeat++) await runSchedule(env);
        expect(await remaining()).toBe(leftOf(form.charge));
        expect(await attempts()).toMatchObject([{ status: "Settled", amount: `${form.charge}` }]);
      },
    );

    it.each([
      ...OUTAGES.map(([name, handle]) => [name, 3, handle] as const),
      ...LIES.map(([name, handle]) => [name, 1, handle] as const),
    ])(
      "and %s for %i min returns no more than the rest long after the expiry",
      async (_, minutes, handle) => {
        const paid = await signed();
        await charge(paid, form.charge);
        await expire();
        await env.DB.prepare(
          "UPDATE x402_payment_attempt SET created_at = created_at - 1000000",
        ).run();
        await x402.rpc("anvil_mine", FINAL_BLOCKS);
        for (let minute = 0; minute < minutes; minute++) {
          await atFault(handle, () => runSchedule(env));
          expect([BUDGET - MAXIMUM, leftOf(form.charge)]).toContain(await remaining());
        }
        for (let repeat = 0; repeat < 2; repeat++) await runSchedule(env);
        expect(await remaining()).toBe(leftOf(form.charge));
        expect(await attempts()).toMatchObject([{ status: "Settled", amount: `${form.charge}` }]);
      },
    );

    it.each(sampled(4, FAULTS, 2))("and %s returns an expired maximum once", async (_, handle) => {
      await signed();
      await expire();
      await atFault(handle, () => runSchedule(env));
      for (let repeat = 0; repeat < 3; repeat++) await runSchedule(env);
      expect(await remaining()).toBe(leftOf(null));
      expect(await attempts()).toMatchObject([{ status: "Failed" }]);
    });
  });

  describe("a cron that runs several times at once", () => {
    it("returns the rest once", async () => {
      await expectOk(await grant(x402, "payer", wallet, `${BUDGET}`));
      await charge(await signed(), form.charge);
      await x402.rpc("anvil_mine", FINAL_BLOCKS);
      await Promise.all(Array.from({ length: 4 }, () => runSchedule(env)));
      expect(await remaining()).toBe(leftOf(form.charge));
    });
  });
});
