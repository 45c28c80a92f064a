import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import worker from "../../../src/worker.ts";
import { call, emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { holdEventsToTheDocument } from "../../support/webhooks/declared.ts";
import { api, expectOk, settle, X402Fixture } from "../x402-fixture.ts";

interface Rule {
  id: string;
  evmWalletId: string;
  asset: string;
  threshold: string;
  state: string;
  checkedAt: string | null;
}

interface Wallet {
  id: string;
  address: string;
}

const realFetch = globalThis.fetch;
let x402: X402Fixture;
/** A chain whose node can be made to fail. */
let other: X402Fixture;
let wallet: Wallet;

holdEventsToTheDocument();
beforeAll(async () => {
  await emptyTables();
  [x402, other] = await Promise.all([
    X402Fixture.create("84532-low-balance"),
    X402Fixture.create("8453-low-balance"),
  ]);
});
beforeEach(async () => {
  await emptyTables();
  await Promise.all([x402.setUp(), other.setUp()]);
  wallet = await newWallet();
});
afterEach(() => vi.unstubAllGlobals());

async function newWallet(on = x402): Promise<Wallet> {
  const body = { caip2Network: on.caip2, type: "Purchasing" };
  return expectOk(await api<Wallet>("/x402/wallets", body));
}

const watch = (body: object, headers: Record<string, string> = {}) =>
  api<Rule>("/x402/low-balance", body, headers);

async function rules(query = "limit=100"): Promise<Rule[]> {
  return (await expectOk(await api<{ Rules: Rule[] }>(`/x402/low-balance?${query}`))).Rules;
}

const cron = () => worker.scheduled(createScheduledController(), env);

interface Event {
  sequence: number;
  network: string;
  data: Record<string, unknown>;
}

async function events(): Promise<Event[]> {
  const rows = await openDb(env).all<Event & { data: string }>(
    "SELECT sequence, network, data FROM event WHERE kind = 'X402_WALLET_LOW_BALANCE' ORDER BY seq",
  );
  return rows.map((row) => ({ ...row, data: JSON.parse(row.data) }));
}

/** The node of the other chain is gone for the service, or hears nothing but refusals. */
function lose(answer: () => Promise<Response>): void {
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
    String(input).startsWith(other.url) ? answer() : realFetch(input, init),
  );
}

describe("a low-balance rule", () => {
  it.each(["native", "token"])(
    "on %s tells once on the way down, and again after it was up",
    async (kind) => {
      const asset = kind === "native" ? kind : x402.contracts.token.toLowerCase();
      const hold = (amount: bigint) =>
        kind === "native"
          ? x402.fund(wallet.address, amount)
          : x402.rpc("anvil_dealERC20", wallet.address, asset, `0x${amount.toString(16)}`);
      const threshold = 5n * 10n ** 18n;
      const rule = await expectOk(
        await watch({ evmWalletId: wallet.id, asset, threshold: `${threshold}` }),
      );
      expect(rule).toEqual({
        id: expect.any(String),
        evmWalletId: wallet.id,
        caip2Network: x402.caip2,
        address: wallet.address,
        asset,
        threshold: `${threshold}`,
        enabled: true,
        state: "Unknown",
        balance: null,
        checkedAt: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      const told: [string | undefined, number][] = [];
      for (const amount of [threshold, threshold - 1n, 1n, threshold - 1n, threshold, 0n, 0n]) {
        await hold(amount);
        await cron();
        told.push([(await rules())[0]?.state, (await events()).length]);
      }
      expect(told).toEqual([
        ["Healthy", 0],
        ["Low", 1],
        ["Low", 1],
        ["Low", 1],
        ["Healthy", 1],
        ["Low", 2],
        ["Low", 2],
      ]);
      const [first, second] = await events();
      expect(first).toMatchObject({
        network: x402.caip2,
        data: {
          evmWalletId: wallet.id,
          caip2Network: x402.caip2,
          address: wallet.address,
          walletNote: null,
          asset,
          threshold: `${threshold}`,
          balance: `${threshold - 1n}`,
        },
      });
      expect(second?.data).toMatchObject({ balance: "0" });
      expect([first?.sequence, second?.sequence]).toEqual([2, 4]);
    },
  );

  it("tells once when runs of the cron overlap", async () => {
    await expectOk(await watch({ evmWalletId: wallet.id, threshold: "1" }));
    await Promise.all([cron(), cron(), cron()]);
    expect(await events()).toHaveLength(1);
  });

  it("counts a token that is not there as none", async () => {
    const asset = `0x${"1".repeat(40)}`;
    await expectOk(await watch({ evmWalletId: wallet.id, asset, threshold: "1" }));
    await cron();
    expect(await events()).toMatchObject([{ data: { asset, balance: "0" } }]);
  });

  it("tells when its threshold is raised above the balance", async () => {
    await x402.fund(wallet.address, 10n);
    const rule = await expectOk(await watch({ evmWalletId: wallet.id, threshold: "10" }));
    await cron();
    const raised = await expectOk(await watch({ evmWalletId: wallet.id, threshold: "11" }));
    expect(raised).toMatchObject({ id: rule.id, threshold: "11", state: "Healthy" });
    expect(await rules()).toHaveLength(1);
    expect(await events()).toEqual([]);
    await cron();
    expect(await events()).toMatchObject([{ data: { threshold: "11", balance: "10" } }]);
  });

  it("is not looked at while its network is off", async () => {
    await expectOk(await watch({ evmWalletId: wallet.id, threshold: "1" }));
    const turn = (isEnabled: boolean) => api("/x402/networks", { caip2Id: x402.caip2, isEnabled });
    await expectOk(await turn(false));
    await cron();
    expect(await rules()).toMatchObject([{ state: "Unknown", checkedAt: null }]);
    await expectOk(await turn(true));
    await cron();
    expect(await rules()).toMatchObject([{ state: "Low" }]);
  });

  it.each([
    ["is gone", () => Promise.reject(new TypeError("the node is gone"))],
    [
      "turns every call away",
      async () => Response.json({ jsonrpc: "2.0", error: { code: -32005, message: "limit" } }),
    ],
  ])(
    "stays as it is while its node %s, however many there are, and the others go on",
    async (_, answer) => {
      const dead = await newWallet(other);
      await other.fund(dead.address, 5n);
      await expectOk(await watch({ evmWalletId: dead.id, threshold: "5" }));
      await cron();
      const tokens = Array.from({ length: 25 }, (_, i) => `0x${`${i}`.padStart(40, "a")}`);
      for (const asset of tokens)
        await expectOk(await watch({ evmWalletId: dead.id, asset, threshold: "1" }));
      const before = await rules();
      await expectOk(await watch({ evmWalletId: wallet.id, threshold: "1" }));

      await other.fund(dead.address, 0n);
      lose(answer);
      await cron();
      vi.unstubAllGlobals();
      const [live, ...rest] = await rules();
      expect(rest).toEqual(before);
      expect(live).toMatchObject({ evmWalletId: wallet.id, state: "Low" });
      expect(await events()).toMatchObject([{ data: { evmWalletId: wallet.id } }]);

      await cron();
      await cron();
      expect(new Set((await rules()).map(({ state }) => state))).toEqual(new Set(["Low"]));
    },
  );

  it.each([429, -32005])(
    "is the only one to wait when its node refuses its call with %i",
    async (code) => {
      const wallets = [await newWallet(other), await newWallet(other), await newWallet(other)];
      for (const { id } of wallets)
        await expectOk(await watch({ evmWalletId: id, threshold: "1" }));
      const refused = wallets[1];
      vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
        const response = await realFetch(input, init);
        if (!String(input).startsWith(other.url)) return response;
        const calls = JSON.parse(String(init?.body)) as { id: number; params: unknown[] }[];
        const answers = (await response.json()) as { id: number }[];
        const id = calls.find(({ params }) => params[0] === refused?.address)?.id;
        const error = { code, message: "too many requests" };
        return Response.json(
          answers.map((one) => (one.id === id ? { jsonrpc: "2.0", id, error } : one)),
        );
      });
      await cron();
      vi.unstubAllGlobals();
      const low = { state: "Low", checkedAt: expect.any(String) };
      const waiting = { evmWalletId: refused?.id, state: "Unknown", checkedAt: null };
      expect(await rules()).toMatchObject([low, waiting, low]);
      expect(await events()).toHaveLength(2);

      await cron();
      expect(await rules()).toMatchObject([low, low, low]);
    },
  );

  it("on what is no token keeps no other from its turn", async () => {
    for (let i = 0; i < 50; i++) {
      const asset = `0x${`${i}`.padStart(40, "b")}`;
      // Code that fails whatever it is asked.
      await x402.rpc("anvil_setCode", asset, "0xfd");
      await expectOk(await watch({ evmWalletId: wallet.id, asset, threshold: "1" }));
    }
    await expectOk(await watch({ evmWalletId: wallet.id, threshold: "1" }));
    await cron();
    await cron();
    expect(await events()).toMatchObject([{ data: { evmWalletId: wallet.id } }]);
    expect((await rules()).filter(({ state }) => state === "Unknown")).toHaveLength(50);
  });
});

describe("GET /x402/wallets/balances", () => {
  it("shows exactly what wallets hold, for half a minute, and a silent node for its own alone", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const balances = async (query = "", headers: Record<string, string> = {}) => {
      const answer = await api<{ Balances: unknown[] }>(
        `/x402/wallets/balances?${query}`,
        undefined,
        headers,
      );
      return (await expectOk(answer)).Balances;
    };
    const far = await newWallet(other);
    const token = x402.contracts.token.toLowerCase();
    const [none, broken] = [`0x${"1".repeat(40)}`, `0x${"b".repeat(40)}`];
    await x402.rpc("anvil_setCode", broken, "0xfd");
    for (const asset of [none, broken])
      await expectOk(await watch({ evmWalletId: wallet.id, asset, threshold: "1" }));
    const much = 2n ** 96n + 1n;
    await x402.fund(wallet.address, much);
    await x402.rpc("anvil_dealERC20", wallet.address, token, `0x${much.toString(16)}`);
    const found = await balances(`id=${wallet.id}`);
    expect(found).toEqual([
      {
        evmWalletId: wallet.id,
        caip2Network: x402.caip2,
        address: wallet.address,
        readAt: expect.any(String),
        error: null,
        Assets: [
          { asset: "native", decimals: 18, amount: `${much}` },
          { asset: token, decimals: expect.any(Number), amount: `${much}` },
          { asset: none, decimals: null, amount: "0" },
          { asset: broken, decimals: null, amount: null },
        ],
      },
    ]);
    const stranger = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    expect(await balances("", { token: stranger })).toEqual([]);

    await x402.fund(wallet.address, 7n);
    expect(await balances(`id=${wallet.id}`)).toEqual(found);
    vi.setSystemTime(Date.now() + 31_000);
    lose(() => Promise.reject(new TypeError("the node is gone")));
    const shown = { error: null, Assets: [{ asset: "native", amount: "7" }, {}, {}, {}] };
    const lost = { evmWalletId: far.id, readAt: null, Assets: [] };
    const error = "The network's RPC node did not answer";
    const all = (await balances("limit=20")) as { evmWalletId: string }[];
    expect(all.find(({ evmWalletId }) => evmWalletId === wallet.id)).toMatchObject(shown);
    expect(all.find(({ evmWalletId }) => evmWalletId === far.id)).toMatchObject({ ...lost, error });
    vi.unstubAllGlobals();
    const turn = (isEnabled: boolean) => api("/x402/networks", { caip2Id: other.caip2, isEnabled });
    await expectOk(await turn(false));
    const off = { ...lost, error: "The network is disabled" };
    expect(await balances(`caip2Network=${other.caip2}`)).toContainEqual(
      expect.objectContaining(off),
    );
    vi.useRealTimers();
  });
});

describe("/x402/low-balance", () => {
  it("changes nothing when it is asked again under its Idempotency-Key", async () => {
    const send = (threshold: string) =>
      watch({ evmWalletId: wallet.id, threshold }, { "idempotency-key": "rule" });
    const answers = await Promise.all([1, 2, 3].map(() => send("1")));
    const [first, ...repeats] = await Promise.all(answers.map(expectOk));
    expect(repeats).toEqual([first, first]);
    await expectOk(await watch({ evmWalletId: wallet.id, threshold: "2" }));
    expect(await expectOk(await send("1"))).toEqual(first);
    expect((await send("3")).status).toBe(422);
    expect(await rules()).toMatchObject([{ id: first?.id, threshold: "2" }]);
  });

  it("keeps one rule for a wallet and an asset that several create at once", async () => {
    const answers = await Promise.all(
      ["1", "2", "3"].map((threshold) => watch({ evmWalletId: wallet.id, threshold })),
    );
    const created = await Promise.all(answers.map(expectOk));
    expect(new Set(created.map(({ id }) => id)).size).toBe(1);
    const stored = await rules();
    expect(stored).toHaveLength(1);
    expect(created).toContainEqual(stored[0]);
  });

  it("answers 404 for a wallet that is not there, and pages newest first", async () => {
    expect((await watch({ evmWalletId: "nowhere", threshold: "1" })).status).toBe(404);
    const ids: string[] = [];
    for (const asset of ["native", x402.contracts.token, x402.contracts.feeToken])
      ids.unshift(
        (await expectOk(await watch({ evmWalletId: wallet.id, asset, threshold: "1" }))).id,
      );
    const page = async (query: string) => (await rules(query)).map(({ id }) => id);
    expect(await page("limit=2")).toEqual(ids.slice(0, 2));
    expect(await page(`limit=2&cursorId=${ids[1]}`)).toEqual(ids.slice(2));
  });
});

describe("a facilitator wallet with too little for gas", () => {
  it("is told of by its rule, and fails a payment before anything is sent", async () => {
    const { id, address } = x402.facilitator;
    await x402.fund(address, 1000n);
    await expectOk(await watch({ evmWalletId: id, threshold: `${10n ** 16n}` }));
    await cron();
    expect(await events()).toMatchObject([{ data: { evmWalletId: id, balance: "1000" } }]);

    const source = await x402.source();
    const payment = await x402.payment(await x402.buyer(), source);
    const sent: string[] = [];
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
      sent.push(String(init?.body));
      return realFetch(input, init);
    });
    expect((await settle(source, payment)).data.settleResponse).toMatchObject({
      success: false,
      transaction: "",
      errorReason: "unexpected_settle_error",
      errorMessage:
        "The facilitator wallet cannot pay for gas. Fund the wallet with the native coin.",
    });
    expect(sent.join()).toContain("eth_estimateGas");
    expect(sent.join()).not.toContain("eth_sendRawTransaction");
    expect(await x402.balance(source.payTo)).toBe(0n);
  });
});

describe("PATCH and DELETE /x402/low-balance", () => {
  const send = async (method: "PATCH" | "DELETE", body: object) => {
    const response = await call("/api/v1/x402/low-balance", { method, body: JSON.stringify(body) });
    const { data, error } = (await response.json()) as { data: Rule; error?: { field?: string } };
    return { status: response.status, data, field: error?.field };
  };

  it("turns a rule off and on again: a check of a disabled one tells nothing", async () => {
    const { id } = await expectOk(await watch({ evmWalletId: wallet.id, threshold: "5" }));
    expect((await send("PATCH", { id, enabled: false })).data).toMatchObject({ enabled: false });
    await cron();
    expect(await rules("enabled=false")).toMatchObject([{ id, state: "Unknown", checkedAt: null }]);
    expect([await rules("enabled=true"), await events()]).toEqual([[], []]);
    expect((await send("PATCH", { id, enabled: true })).data).toMatchObject({ state: "Unknown" });
    await cron();
    expect(await rules(`state=Low&evmWalletId=${wallet.id}`)).toMatchObject([{ id, balance: "0" }]);
    expect(await events()).toHaveLength(1);
    await send("PATCH", { id, enabled: false });
    await send("PATCH", { id, enabled: true });
    await cron();
    expect((await events()).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it("keeps what is omitted, and what POST does not name", async () => {
    const { id } = await expectOk(
      await watch({ evmWalletId: wallet.id, threshold: "5", enabled: false }),
    );
    expect((await send("PATCH", { id, threshold: "7" })).data).toMatchObject({
      threshold: "7",
      enabled: false,
    });
    const again = await expectOk(await watch({ evmWalletId: wallet.id, threshold: "9" }));
    expect(again).toMatchObject({ id, threshold: "9", enabled: false });
  });

  it("checks the chain that the caller takes for the wallet's", async () => {
    const body = { evmWalletId: wallet.id, threshold: "5" };
    expect((await watch({ ...body, caip2Network: other.caip2 })).status).toBe(400);
    expect((await watch({ ...body, caip2Network: x402.caip2 })).status).toBe(200);
  });

  it("deletes a rule, and is 404 for one that is not there", async () => {
    const { id } = await expectOk(await watch({ evmWalletId: wallet.id, threshold: "5" }));
    expect((await send("DELETE", { id })).data).toMatchObject({ id, threshold: "5" });
    expect(await rules()).toEqual([]);
    for (const method of ["PATCH", "DELETE"] as const)
      expect(
        (await send(method, { id, ...(method === "PATCH" && { enabled: true }) })).status,
      ).toBe(404);
    expect((await send("PATCH", { id, treshold: "7" })).status).toBe(400);
    expect((await send("PATCH", { id, threshold: "0" })).status).toBe(400);
  });
});
