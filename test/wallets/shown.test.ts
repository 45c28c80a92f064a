import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { countingWrites } from "../support/d1.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { TransferFixture } from "../support/wallets/transfer-fixture.ts";

beforeEach(emptyTables);

interface ShownOutput {
  output: string;
  amount: string;
}

interface Shown {
  id: string;
  walletVkey: string;
  walletAddress: string;
  createdAt: string;
  Balance: { unit: string; amount: string }[] | null;
  Outputs: {
    count: number;
    largest: string;
    Line: ShownOutput | null;
    Collateral: ShownOutput | null;
  } | null;
  Transactions: { txHash: string; state: string; since: string; Tasks: { id: string }[] }[];
  Waiting: { feature: string; id: string; reasonCode: string; reason: string; dueAt: string }[];
  HeldUp: { reasonCode: string; reason: string; since: string } | null;
  SpentElsewhere: { pausedUntil: string | null; Outputs: object[] } | null;
  Missing: { unit: string; amount: string; sendTo: string; reason: string }[];
  LowBalanceSummary: object;
}

/** The wallet with which `fixture.register` registers, as the list shows it. */
async function listed(fixture: RegistrationFixture): Promise<Shown> {
  const path = `/wallet/list?walletVkey=${fixture.sellers[0].vkey}`;
  const { data } = await fixture.ask<{ Wallets: [Shown] }>("GET", path);
  return data.Wallets[0];
}

/** The same wallet alone. */
async function alone(fixture: RegistrationFixture, query = "") {
  const { id } = await listed(fixture);
  return fixture.ask<Shown & Record<string, unknown>>("GET", `/wallet?id=${id}${query}`);
}

/** Native minor units of each output at the wallet's address, as the provider shows them. */
async function coins(fixture: RegistrationFixture): Promise<bigint[]> {
  const utxos = await fixture.chain.get<{ amount: { unit: string; quantity: string }[] }[]>(
    `/addresses/${fixture.sellers[0].address}/utxos`,
  );
  return utxos.map(({ amount }) => BigInt(amount[0]?.quantity ?? 0));
}

const largestOf = (amounts: bigint[]) => String(amounts.toSorted((a, b) => (a < b ? 1 : -1))[0]);

describe.each([
  ["GET /wallet/list", listed],
  ["GET /wallet", async (fixture: RegistrationFixture) => (await alone(fixture)).data],
])("%s 200", (_, shown) => {
  it("shows a wallet at rest: what it can spend, and nothing to do", async () => {
    const fixture = await RegistrationFixture.open();
    const amounts = await coins(fixture);
    expect(await shown(fixture)).toMatchObject({
      Balance: [{ unit: "", amount: String(amounts.reduce((sum, coin) => sum + coin)) }],
      Outputs: {
        count: amounts.length,
        largest: largestOf(amounts),
        Line: null,
        Collateral: null,
      },
      Transactions: [],
      Waiting: [],
      HeldUp: null,
      SpentElsewhere: null,
      Missing: [],
      LowBalanceSummary: { isLow: false, lowRuleCount: 0, lastCheckedAt: null },
    });
  });

  it("shows what is under way, and what the wallet can spend after it", async () => {
    const fixture = await RegistrationFixture.open();
    await fixture.chain.holdBlocks();
    for (let i = 0; i < 2; i++) await fixture.register();
    await fixture.work();
    const under = await shown(fixture);
    const hashes = await fixture.chain.mempool();
    expect(under.Transactions.map(({ txHash }) => txHash)).toEqual(hashes);
    expect(under.Transactions[0]).toEqual({
      txHash: hashes[0],
      state: "Sent",
      since: expect.stringMatching(/Z$/),
      Tasks: [{ feature: "registration", id: expect.stringMatching(/:Registration$/) }],
    });
    expect(under.Waiting).toEqual([]);
    expect(under.Outputs?.Line?.output).toMatch(new RegExp(`^${hashes[1]}#\\d$`));
    expect(under.Outputs?.Collateral).toEqual({
      output: expect.stringMatching(new RegExp(`^${hashes[0]}#\\d$`)),
      amount: "5000000",
    });

    await fixture.chain.mine();
    await fixture.settle();
    const after = await shown(fixture);
    expect(after.Transactions).toEqual([]);
    const amounts = await coins(fixture);
    expect(after.Outputs).toEqual({
      ...under.Outputs,
      count: amounts.length,
      largest: largestOf(amounts),
    });
  });

  it("shows what waits and for what, first what is tried first", async () => {
    const fixture = await RegistrationFixture.open({ sellerFunds: [2_000_000] });
    const ids = [(await fixture.register()).data.id, (await fixture.register()).data.id];
    const waiting = await shown(fixture);
    expect(waiting.Waiting.map(({ id }) => id)).toEqual(ids.map((id) => `${id}:Registration`));
    expect(waiting.Waiting[0]).toMatchObject({
      feature: "registration",
      reason: "waits for its turn",
    });

    await fixture.work();
    const { Waiting, walletAddress, Transactions } = await shown(fixture);
    expect(Transactions).toEqual([]);
    expect(Waiting).toHaveLength(2);
    for (const { reason, dueAt } of Waiting) {
      expect(reason).toMatch(/lacks [1-9]\d* minor units of the native coin/);
      expect(reason).toContain(`send them to ${walletAddress}`);
      expect(Date.parse(dueAt)).toBeGreaterThan(0);
    }
    const other = fixture.sellers[1].vkey;
    const { data } = await fixture.ask<{ Wallets: [Shown] }>(
      "GET",
      `/wallet/list?walletVkey=${other}`,
    );
    expect(data.Wallets[0].Waiting).toEqual([]);
  });

  it("shows what waits for each feature", async () => {
    const transfers = await TransferFixture.open({ sellerFunds: [3_000_000] });
    const { fixture } = transfers;
    const transfer = await transfers.sent();
    const { id: registration } = (await fixture.register()).data;
    const waits = async () => (await shown(fixture)).Waiting.map(({ dueAt: _, ...task }) => task);
    const first = { feature: "transfer", id: transfer };
    const second = { feature: "registration", id: `${registration}:Registration` };
    const turn = { reasonCode: "turn", reason: "waits for its turn" };
    expect(await waits()).toEqual([
      { ...first, ...turn },
      { ...second, ...turn },
    ]);
    await fixture.work();
    const lacking = expect.stringMatching(/^the wallet lacks \d+ minor units/);
    expect(await waits()).toEqual(
      expect.arrayContaining([
        { ...first, reasonCode: "funds", reason: lacking },
        { ...second, reasonCode: "funds", reason: lacking },
      ]),
    );
  });

  it("shows what holds it up, and no longer than it does", async () => {
    const fixture = await RegistrationFixture.open();
    await fixture.register();
    await fixture.chain.faults({ match: "^/blocks/latest", status: 403 });
    await fixture.work();
    const held = await shown(fixture);
    expect(held.HeldUp).toEqual({
      reasonCode: "provider",
      reason: expect.stringMatching(/^waits for the chain provider: /),
      since: expect.stringMatching(/Z$/),
    });
    await fixture.work();
    expect((await shown(fixture)).HeldUp).toEqual(held.HeldUp);
    await fixture.chain.faults();
    await fixture.settle();
    expect((await shown(fixture)).HeldUp).toBeNull();
  });

  it("shows what an empty wallet lacks for a registration, and nothing once that has failed", async () => {
    const fixture = await RegistrationFixture.open({ sellerFunds: [] });
    const { id } = (await fixture.register()).data;
    await fixture.work();
    const waiting = await shown(fixture);
    expect(waiting.HeldUp).toMatchObject({ reasonCode: "funds" });
    expect(waiting.HeldUp?.reason).toContain("10000000");
    expect(waiting.Missing).toMatchObject([{ unit: "", amount: "10000000" }]);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationFailed" });
    expect(await shown(fixture)).toMatchObject({ Waiting: [], HeldUp: null, Missing: [] });
  });

  it("shows what another user of its key has spent", async () => {
    const fixture = await RegistrationFixture.open({ sellerFunds: [100_000_000] });
    await fixture.register();
    await fixture.settle();
    const { Outputs } = await shown(fixture);
    const [theirs] = await fixture.chain.act([
      { do: "mint", as: "theirs", version: "Web3ChainV1", holder: "seller-0", metadata: {} },
    ]);
    await fixture.register();
    await fixture.work();
    expect((await shown(fixture)).SpentElsewhere).toEqual({
      pausedUntil: null,
      Outputs: [
        {
          output: Outputs?.Line?.output,
          txHash: theirs?.txHash,
          noticedAt: expect.stringMatching(/Z$/),
        },
      ],
    });
  });

  it("shows what the tasks that wait for it lack", async () => {
    const transfers = await TransferFixture.open({ sellerFunds: [3_000_000] });
    const { fixture } = transfers;
    await transfers.sent({ minorUnitAmount: "4000000" });
    const lacks = (amount: string, reason: string) => ({
      ...{ unit: "", amount, reason },
      sendTo: fixture.sellers[0].address,
    });
    expect((await shown(fixture)).Missing).toEqual([lacks("1160000", "for a task that waits")]);
    await fixture.register();
    const token = "ab".repeat(30);
    await transfers.sent({ minorUnitAmount: "2000000", assets: [{ unit: token, quantity: "7" }] });
    expect((await shown(fixture)).Missing).toEqual(
      expect.arrayContaining([
        { ...lacks("7", "for a task that waits"), unit: token },
        lacks("8160000", "for 3 tasks that wait"),
      ]),
    );
  });

  it("shows what is missing by its rules, by the balance now or else by the last check", async () => {
    const fixture = await RegistrationFixture.open({ sellerFunds: [2_000_000] });
    const { id: walletId, walletAddress } = await listed(fixture);
    const rule = async (unit: string, thresholdAmount: string) =>
      (await fixture.ask("POST", "/wallet/low-balance", { walletId, unit, thresholdAmount })).data
        .id;
    const token = "ab".repeat(30);
    const low = await rule("", "2000001");
    const none = await rule(token, "7");
    const lacks = (amount: string, reason: string) => ({ amount, sendTo: walletAddress, reason });
    const ofRule = `below 2000001, the threshold of the rule ${low}`;
    expect((await shown(fixture)).Missing).toEqual([
      { unit: token, ...lacks("7", `below 7, the threshold of the rule ${none}`) },
      { unit: "", ...lacks("1", ofRule) },
    ]);

    await env.DB.prepare(
      "UPDATE low_balance_rule SET balance = '500', status = 'Low', checked_at = 1 WHERE id = ?",
    )
      .bind(low)
      .run();
    await fixture.chain.faults({ match: "^/addresses/", status: 403 });
    expect(await shown(fixture)).toMatchObject({
      Balance: null,
      Outputs: null,
      Missing: [{ unit: "", ...lacks("1999501", ofRule) }],
      LowBalanceSummary: {
        isLow: true,
        lowRuleCount: 1,
        lastCheckedAt: "1970-01-01T00:00:00.001Z",
      },
    });
  });

  it("writes nothing", async () => {
    const fixture = await RegistrationFixture.open();
    await fixture.register();
    await fixture.work();
    const { d1, rowsWritten } = countingWrites(env.DB);
    fixture.bindings = { DB: d1 };
    await shown(fixture);
    expect(rowsWritten(/./)).toBe(0);
  });
});

describe("GET /wallet 200", () => {
  it("shows the oldest transaction under way, and the rules", async () => {
    const fixture = await RegistrationFixture.open();
    const { id: walletId } = await listed(fixture);
    const { data: rule } = await fixture.ask("POST", "/wallet/low-balance", {
      walletId,
      thresholdAmount: "1",
    });
    expect((await alone(fixture)).data).toMatchObject({
      PendingTransaction: null,
      LowBalanceRules: [rule],
    });
    await fixture.chain.holdBlocks();
    for (let i = 0; i < 2; i++) await fixture.register();
    await fixture.work();
    const [hash] = await fixture.chain.mempool();
    const time = expect.stringMatching(/Z$/);
    expect((await alone(fixture)).data.PendingTransaction).toEqual({
      ...{ hash, createdAt: time, updatedAt: time, lastCheckedAt: null },
    });
  });

  it("shows the mnemonic only where it is asked for, and says so in the audit log", async () => {
    const fixture = await RegistrationFixture.open();
    const reveals = async () =>
      (
        await env.DB.prepare(
          "SELECT target, api_key_id AS by FROM audit WHERE action = 'wallet.reveal-secret'",
        ).all()
      ).results;
    const { mnemonic } = fixture.sellers[0];
    for (const query of ["", "&includeSecret=false"])
      expect(JSON.stringify(await alone(fixture, query))).not.toContain(mnemonic);
    expect(await reveals()).toEqual([]);
    const { data } = await alone(fixture, "&includeSecret=true");
    expect(data.Secret).toEqual({ createdAt: data.createdAt, updatedAt: data.createdAt, mnemonic });
    expect(await reveals()).toEqual([{ target: data.id, by: "env-admin" }]);
  });
});

describe("GET /wallet 404", () => {
  it("for a wallet of another type, one that was removed, and none", async () => {
    const fixture = await RegistrationFixture.open();
    const { id } = await listed(fixture);
    expect((await alone(fixture, "&walletType=Selling")).status).toBe(200);
    expect((await alone(fixture, "&walletType=Funding")).status).toBe(404);
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1 WHERE id = ?").bind(id).run();
    for (const gone of [id, "nothing"])
      expect((await fixture.ask("GET", `/wallet?id=${gone}&includeSecret=true`)).status).toBe(404);
    const { results } = await env.DB.prepare(
      "SELECT 1 FROM audit WHERE action = 'wallet.reveal-secret'",
    ).all();
    expect(results).toEqual([]);
  });
});
