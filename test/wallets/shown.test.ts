import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { countingWrites } from "../support/d1.ts";
import { RegistrationDesk } from "../support/registry/registration.ts";
import { TransferDesk } from "../support/wallets/transfers.ts";

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
  Waiting: { feature: string; id: string; reason: string; dueAt: string }[];
  HeldUp: { reason: string; since: string } | null;
  SpentElsewhere: { pausedUntil: string | null; Outputs: object[] } | null;
  Missing: { unit: string; amount: string; sendTo: string; reason: string }[];
  LowBalanceSummary: object;
}

/** The wallet with which `desk.register` registers, as the list shows it. */
async function listed(desk: RegistrationDesk): Promise<Shown> {
  const path = `/wallet/list?walletVkey=${desk.sellers[0].vkey}`;
  const { data } = await desk.ask<{ Wallets: [Shown] }>("GET", path);
  return data.Wallets[0];
}

/** The same wallet alone. */
async function alone(desk: RegistrationDesk, query = "") {
  const { id } = await listed(desk);
  return desk.ask<Shown & Record<string, unknown>>("GET", `/wallet?id=${id}${query}`);
}

/** Native minor units of each output at the wallet's address, as the provider shows them. */
async function coins(desk: RegistrationDesk): Promise<bigint[]> {
  const utxos = await desk.chain.get<{ amount: { unit: string; quantity: string }[] }[]>(
    `/addresses/${desk.sellers[0].address}/utxos`,
  );
  return utxos.map(({ amount }) => BigInt(amount[0]?.quantity ?? 0));
}

const largestOf = (amounts: bigint[]) => String(amounts.toSorted((a, b) => (a < b ? 1 : -1))[0]);

describe.each([
  ["GET /wallet/list", listed],
  ["GET /wallet", async (desk: RegistrationDesk) => (await alone(desk)).data],
])("%s 200", (_, shown) => {
  it("shows a wallet at rest: what it can spend, and nothing to do", async () => {
    const desk = await RegistrationDesk.open();
    const amounts = await coins(desk);
    expect(await shown(desk)).toMatchObject({
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
    const desk = await RegistrationDesk.open();
    await desk.chain.holdBlocks();
    for (let i = 0; i < 2; i++) await desk.register();
    await desk.work();
    const under = await shown(desk);
    const hashes = await desk.chain.mempool();
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

    await desk.chain.mine();
    await desk.settle();
    const after = await shown(desk);
    expect(after.Transactions).toEqual([]);
    const amounts = await coins(desk);
    expect(after.Outputs).toEqual({
      ...under.Outputs,
      count: amounts.length,
      largest: largestOf(amounts),
    });
  });

  it("shows what waits and for what, first what is tried first", async () => {
    const desk = await RegistrationDesk.open({ sellerFunds: [2_000_000] });
    const ids = [(await desk.register()).data.id, (await desk.register()).data.id];
    const waiting = await shown(desk);
    expect(waiting.Waiting.map(({ id }) => id)).toEqual(ids.map((id) => `${id}:Registration`));
    expect(waiting.Waiting[0]).toMatchObject({
      feature: "registration",
      reason: "waits for its turn",
    });

    await desk.work();
    const { Waiting, walletAddress, Transactions } = await shown(desk);
    expect(Transactions).toEqual([]);
    expect(Waiting).toHaveLength(2);
    for (const { reason, dueAt } of Waiting) {
      expect(reason).toMatch(/lacks [1-9]\d* minor units of the native coin/);
      expect(reason).toContain(`send them to ${walletAddress}`);
      expect(Date.parse(dueAt)).toBeGreaterThan(0);
    }
    const other = desk.sellers[1].vkey;
    const { data } = await desk.ask<{ Wallets: [Shown] }>(
      "GET",
      `/wallet/list?walletVkey=${other}`,
    );
    expect(data.Wallets[0].Waiting).toEqual([]);
  });

  it("shows what waits for each feature", async () => {
    const transfers = await TransferDesk.open({ sellerFunds: [3_000_000] });
    const { desk } = transfers;
    const transfer = await transfers.sent();
    const { id: registration } = (await desk.register()).data;
    const waits = async () =>
      (await shown(desk)).Waiting.map(({ feature, id, reason }) => ({ feature, id, reason }));
    const first = { feature: "transfer", id: transfer };
    const second = { feature: "registration", id: `${registration}:Registration` };
    const reason = "waits for its turn";
    expect(await waits()).toEqual([
      { ...first, reason },
      { ...second, reason },
    ]);
    await desk.work();
    const lacking = expect.stringMatching(/^the wallet lacks \d+ minor units/);
    expect(await waits()).toEqual(
      expect.arrayContaining([
        { ...first, reason: lacking },
        { ...second, reason: lacking },
      ]),
    );
  });

  it("shows what holds it up, and no longer than it does", async () => {
    const desk = await RegistrationDesk.open();
    await desk.register();
    await desk.chain.faults({ match: "^/blocks/latest", status: 403 });
    await desk.work();
    const held = await shown(desk);
    expect(held.HeldUp).toEqual({
      reason: expect.stringMatching(/^waits for the chain provider: /),
      since: expect.stringMatching(/Z$/),
    });
    await desk.work();
    expect((await shown(desk)).HeldUp).toEqual(held.HeldUp);
    await desk.chain.faults();
    await desk.settle();
    expect((await shown(desk)).HeldUp).toBeNull();
  });

  it("shows what another user of its key has spent", async () => {
    const desk = await RegistrationDesk.open({ sellerFunds: [100_000_000] });
    await desk.register();
    await desk.settle();
    const { Outputs } = await shown(desk);
    const [theirs] = await desk.chain.act([
      { do: "mint", as: "theirs", version: "Web3ChainV1", holder: "seller-0", metadata: {} },
    ]);
    await desk.register();
    await desk.work();
    expect((await shown(desk)).SpentElsewhere).toEqual({
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
    const transfers = await TransferDesk.open({ sellerFunds: [3_000_000] });
    const { desk } = transfers;
    await transfers.sent({ minorUnitAmount: "4000000" });
    const lacks = (amount: string, reason: string) => ({
      ...{ unit: "", amount, reason },
      sendTo: desk.sellers[0].address,
    });
    expect((await shown(desk)).Missing).toEqual([lacks("1160000", "for a task that waits")]);
    await desk.register();
    const token = "ab".repeat(30);
    await transfers.sent({ minorUnitAmount: "2000000", assets: [{ unit: token, quantity: "7" }] });
    expect((await shown(desk)).Missing).toEqual(
      expect.arrayContaining([
        { ...lacks("7", "for a task that waits"), unit: token },
        lacks("8160000", "for 3 tasks that wait"),
      ]),
    );
  });

  it("shows what is missing by its rules, by the balance now or else by the last check", async () => {
    const desk = await RegistrationDesk.open({ sellerFunds: [2_000_000] });
    const { id: walletId, walletAddress } = await listed(desk);
    const rule = async (unit: string, thresholdAmount: string) =>
      (await desk.ask("POST", "/wallet/low-balance", { walletId, unit, thresholdAmount })).data.id;
    const token = "ab".repeat(30);
    const low = await rule("", "2000001");
    const none = await rule(token, "7");
    const lacks = (unit: string, amount: string, of: string) => ({
      ...{ unit, amount, sendTo: walletAddress },
      reason: `below the threshold of the rule ${of}`,
    });
    expect((await shown(desk)).Missing).toEqual([lacks(token, "7", none), lacks("", "1", low)]);

    await env.DB.prepare(
      "UPDATE low_balance_rule SET balance = '500', status = 'Low', checked_at = 1 WHERE id = ?",
    )
      .bind(low)
      .run();
    await desk.chain.faults({ match: "^/addresses/", status: 403 });
    expect(await shown(desk)).toMatchObject({
      Balance: null,
      Outputs: null,
      Missing: [lacks("", "1999501", low)],
      LowBalanceSummary: {
        isLow: true,
        lowRuleCount: 1,
        lastCheckedAt: "1970-01-01T00:00:00.001Z",
      },
    });
  });

  it("writes nothing", async () => {
    const desk = await RegistrationDesk.open();
    await desk.register();
    await desk.work();
    const { d1, rowsWritten } = countingWrites(env.DB);
    desk.bindings = { DB: d1 };
    await shown(desk);
    expect(rowsWritten(/./)).toBe(0);
  });
});

describe("GET /wallet 200", () => {
  it("shows the oldest transaction under way, and the rules", async () => {
    const desk = await RegistrationDesk.open();
    const { id: walletId } = await listed(desk);
    const { data: rule } = await desk.ask("POST", "/wallet/low-balance", {
      walletId,
      thresholdAmount: "1",
    });
    expect((await alone(desk)).data).toMatchObject({
      PendingTransaction: null,
      LowBalanceRules: [rule],
    });
    await desk.chain.holdBlocks();
    for (let i = 0; i < 2; i++) await desk.register();
    await desk.work();
    const [hash] = await desk.chain.mempool();
    const time = expect.stringMatching(/Z$/);
    expect((await alone(desk)).data.PendingTransaction).toEqual({
      ...{ hash, createdAt: time, updatedAt: time, lastCheckedAt: null },
    });
  });

  it("shows the mnemonic only where it is asked for, and says so in the audit log", async () => {
    const desk = await RegistrationDesk.open();
    const reveals = async () =>
      (
        await env.DB.prepare(
          "SELECT target, api_key_id AS by FROM audit WHERE action = 'wallet.reveal-secret'",
        ).all()
      ).results;
    const { mnemonic } = desk.sellers[0];
    for (const query of ["", "&includeSecret=false"])
      expect(JSON.stringify(await alone(desk, query))).not.toContain(mnemonic);
    expect(await reveals()).toEqual([]);
    const { data } = await alone(desk, "&includeSecret=true");
    expect(data.Secret).toEqual({ createdAt: data.createdAt, updatedAt: data.createdAt, mnemonic });
    expect(await reveals()).toEqual([{ target: data.id, by: "env-admin" }]);
  });
});

describe("GET /wallet 404", () => {
  it("for a wallet of another type, one that was removed, and none", async () => {
    const desk = await RegistrationDesk.open();
    const { id } = await listed(desk);
    expect((await alone(desk, "&walletType=Selling")).status).toBe(200);
    expect((await alone(desk, "&walletType=Funding")).status).toBe(404);
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1 WHERE id = ?").bind(id).run();
    for (const gone of [id, "nothing"])
      expect((await desk.ask("GET", `/wallet?id=${gone}&includeSecret=true`)).status).toBe(404);
    const { results } = await env.DB.prepare(
      "SELECT 1 FROM audit WHERE action = 'wallet.reveal-secret'",
    ).all();
    expect(results).toEqual([]);
  });
});
