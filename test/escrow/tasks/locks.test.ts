import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { CallClass } from "../../../src/chain/provider/budget.ts";
import { emptyTables } from "../../support/app.ts";
import { sized } from "../../support/effort.ts";
import {
  PaymentSourceFixture,
  storedRecords,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { insertKey } from "../../support/keys.ts";
import { objectsLike } from "../../support/objects.ts";
import { found } from "../../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

/** Of a node that does not know what is spent. */
const REFUSAL = JSON.stringify({
  error: "Bad Request",
  status_code: 400,
  message: "BadInputsUTxO",
});
const MINUTE = 60_000;
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null };

describe("a purchase that is to be locked", () => {
  it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
    "is locked by the purchasing wallet, and both sides follow (%s)",
    async (type) => {
      const buying = await PaymentSourceFixture.open(type);
      await buying.buy();
      await buying.work();
      const begun = await buying.only("purchase");
      expect(begun).toMatchObject({
        onChainState: null,
        NextAction: { requestedAction: "FundsLockingInitiated", errorType: null },
        CurrentTransaction: { status: "Pending" },
        SmartContractWallet: { walletVkey: buying.buyers["buyer-0"]?.vkey },
      });
      await buying.sync();
      for (const side of ["purchase", "payment"] as const)
        expect(await buying.only(side)).toMatchObject({
          onChainState: "FundsLocked",
          NextAction: { ...WAITING, errorNote: null },
        });
    },
  );

  it("shares its transaction with others that wait", async () => {
    const buying = await PaymentSourceFixture.open();
    for (let i = 0; i < 4; i++) await buying.buy();
    await buying.work();
    expect(await walletTransactions()).toHaveLength(1);
    await buying.sync();
    const purchases = await buying.shown("purchase");
    expect(purchases.map(({ onChainState }) => onChainState)).toEqual(Array(4).fill("FundsLocked"));
  });

  it("is dealt to one of several wallets by the calls that are kept for deadlines, when no others are left", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV1", {
      "buyer-0": [500_000_000],
      "buyer-1": [500_000_000],
    });
    await buying.buy();
    const { PROVIDER_BUDGET } = env;
    const budget = objectsLike("PROVIDER_BUDGET", (id) => {
      const real = PROVIDER_BUDGET.get(id);
      return {
        lease: async (calls: number, by: CallClass) =>
          by === "wallet"
            ? { granted: 0, waitMs: 0, retryAt: Date.now() + MINUTE }
            : real.lease(calls, by),
        refuse: (until: number) => real.refuse(until),
      };
    });
    for (const buyer of Object.values(buying.buyers))
      await buying.fixture.work(buyer, { PROVIDER_BUDGET: budget });
    expect((await buying.only("purchase")).NextAction).toMatchObject({
      requestedAction: "FundsLockingInitiated",
      errorType: null,
    });
  });

  it("says that it waits for a purchasing wallet when all of them were removed, until one is there", async () => {
    const buying = await PaymentSourceFixture.open();
    const { fixture } = buying;
    await buying.buy();
    const waitsFor = async () => (await buying.only("purchase")).Next;
    const reasons = async () => {
      const { data } = await fixture.ask<{ Tasks: { reason: string }[] }>(
        "GET",
        "/task?network=Preprod",
      );
      return data.Tasks.map(({ reason }) => reason);
    };
    expect(await waitsFor()).toMatchObject({ action: "FundsLocking", waitsFor: null });
    const buyer = found(Object.values(buying.buyers), () => true);
    const id = await env.DB.prepare("SELECT id FROM managed_wallet WHERE vkey = ?")
      .bind(buyer.vkey)
      .first("id");
    const change = (fields: object) =>
      fixture.ask("PATCH", "/payment-source-extended", { id: fixture.sourceId, ...fields });
    await change({ RemovePurchasingWallets: [{ id }], force: true });
    const nobody = /^waits for a purchasing wallet of its payment source/;
    expect(await waitsFor()).toMatchObject({ waitsFor: expect.stringMatching(nobody) });
    expect(await reasons()).toEqual([expect.stringMatching(nobody)]);

    const walletMnemonic = buyer.mnemonic;
    await change({ AddPurchasingWallets: [{ walletMnemonic, drives: "all" }] });
    expect(await waitsFor()).toMatchObject({ waitsFor: null });
    await buying.work();
    expect((await buying.only("purchase")).NextAction).toMatchObject({
      requestedAction: "FundsLockingInitiated",
    });
  });

  it("waits a moment for others, and no longer", async () => {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    await env.DB.prepare(
      "UPDATE escrow SET intent = json_set(intent, '$.since', ?) WHERE side = 'purchase'",
    )
      .bind(Date.now() + 60_000)
      .run();
    const again = await buying.work();
    expect(again).toBeGreaterThan(Date.now() + 30_000);
    expect(await walletTransactions()).toEqual([]);
  });

  it("reports what each wallet lacks, and continues when the funds are there", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV1", { "buyer-0": [4_000_000] });
    const { address, vkey } = buying.buyers["buyer-0"] ?? { address: "", vkey: "" };
    await buying.buy();
    await buying.work();
    const short = await buying.only("purchase");
    expect(short).toMatchObject({
      NextAction: {
        requestedAction: "FundsLockingRequested",
        errorType: "InsufficientFunds",
        errorNote: expect.stringMatching(
          /^the wallet \S+ lacks \d+ minor units of the native coin: /,
        ),
      },
    });
    expect(short.NextAction.errorNote).toContain(address);
    const told = await env.DB.prepare(
      "SELECT count(*) AS n FROM event WHERE kind = 'PURCHASE_ON_ERROR'",
    ).first("n");
    expect(told).toBe(1);
    const { data } = await buying.fixture.ask<{
      Wallets: { walletVkey: string; Waiting: unknown[] }[];
    }>("GET", "/wallet/list");
    expect(data.Wallets.find(({ walletVkey }) => walletVkey === vkey)?.Waiting).toEqual([
      expect.objectContaining({ feature: "lock", reason: short.NextAction.errorNote }),
    ]);

    const [, rich] = buying.fixture.sellers;
    await buying.fixture.ask("POST", "/wallet/transfer-funds", {
      fromWalletAddress: rich.address,
      toAddress: address,
      minorUnitAmount: "50000000",
    });
    await buying.fixture.settle(rich);
    await buying.fixture.skipPauses();
    await buying.work();
    expect(await buying.only("purchase")).toMatchObject({
      NextAction: { requestedAction: "FundsLockingInitiated", errorType: null },
    });
  });

  it("is locked at once from unconfirmed change of a wallet, when the other wallets lack funds", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV1", {
      "buyer-0": [25_000_000],
      "buyer-1": [2_000_000],
    });
    await buying.chain.holdBlocks();
    for (let bought = 1; bought <= 3; bought++) {
      await buying.buy();
      await buying.work();
      for (const { NextAction, SmartContractWallet } of await buying.shown("purchase")) {
        expect(NextAction).toMatchObject({
          requestedAction: "FundsLockingInitiated",
          errorType: null,
          errorNote: null,
        });
        expect(SmartContractWallet?.walletVkey).toBe(buying.buyers["buyer-0"]?.vkey);
      }
      expect(await buying.chain.mempool()).toHaveLength(bought);
    }
    await buying.chain.mine();
    await buying.sync();
    const states = (await buying.shown("purchase")).map(({ onChainState }) => onChainState);
    expect(states).toEqual(Array(3).fill("FundsLocked"));
    const told = "SELECT count(*) AS n FROM event WHERE kind = 'PURCHASE_ON_ERROR'";
    expect(await env.DB.prepare(told).first("n")).toBe(0);
  });

  it("is not begun too late for a block within its validity window", async () => {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    await buying.chain.advance(59 * 60_000);
    await buying.chain.mine();
    await buying.work();
    expect(await walletTransactions()).toEqual([]);
    expect(await buying.only("purchase")).toMatchObject({
      NextAction: {
        requestedAction: "FundsLockingRequested",
        errorNote: expect.stringContaining("pay-by time"),
      },
    });
  });

  it("is left alone while the wallet begins nothing new", async () => {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    await env.DB.prepare("UPDATE managed_wallet SET drives = 'finish'").run();
    await buying.work();
    expect(await walletTransactions()).toEqual([]);
    expect((await buying.only("purchase")).SmartContractWallet).toBeNull();
  });

  it("is locked once when its submission got no answer and landed after its time", async () => {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    await buying.chain.faults({ match: "/tx/submit", status: 504 });
    await buying.work();
    await buying.chain.faults();
    await buying.chain.advance(15 * 60_000);
    await buying.chain.mine();
    await buying.work();
    await buying.fixture.skipPauses();
    await buying.work();
    await buying.sync();
    expect(await buying.only("purchase")).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: WAITING,
      TransactionHistory: [{ status: "FailedViaTimeout" }],
    });
  });

  it.each(["is refused", "comes into no block in time"])(
    "keeps its lock when the next transaction of the wallet %s, which is sent again",
    async (failure) => {
      const buying = await PaymentSourceFixture.open();
      const { chain, fixture } = buying;
      const asked = [await buying.buy(), await buying.buy()];
      // Each lock needs a separate transaction in the same run of the wallet.
      await env.DB.prepare(
        "UPDATE escrow SET intent = json_set(intent, '$.failures', 1) WHERE side = 'purchase'",
      ).run();
      await chain.holdBlocks();
      if (failure === "is refused")
        await chain.faults({ match: "/tx/submit", after: 1, times: 1, status: 400, body: REFUSAL });
      await buying.work();
      const [first = "", ...others] = await chain.mempool();
      if (failure !== "is refused") {
        await chain.evict(others);
        await chain.faults({ match: "/tx/submit", status: 400, body: REFUSAL });
      }
      await chain.mine();
      await buying.sync();
      const both = async () => {
        const shown = await buying.shown("purchase");
        return asked.map(({ id }) => found(shown, (one) => one.id === id));
      };
      const locked = {
        onChainState: "FundsLocked",
        NextAction: WAITING,
        CurrentTransaction: { txHash: first, status: "Confirmed" },
        TransactionHistory: [],
      };
      expect((await both())[0]).toMatchObject(locked);

      // The other one's time is over, and then it is as wanted as before.
      await chain.advance(15 * MINUTE);
      await chain.mine();
      fixture.bindings = { CHAIN_CLOCK: "tip" };
      await buying.work();
      await chain.faults();
      await fixture.skipPauses();
      await buying.work();
      await chain.mine();
      await buying.sync();
      const [kept, again] = await both();
      expect(kept).toMatchObject(locked);
      expect(again).toMatchObject({
        onChainState: "FundsLocked",
        NextAction: WAITING,
        TransactionHistory: [{ status: "FailedViaTimeout" }],
      });
      expect(again?.CurrentTransaction?.txHash).not.toBe(first);
    },
  );
});

describe("purchases of a source with several purchasing wallets", () => {
  it("go to the fullest wallet that has enough, and stay with it", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV1", {
      "buyer-0": [15_000_000],
      "buyer-1": [24_000_000],
    });
    for (let i = 0; i < 4; i++) await buying.buy();
    await buying.work();
    const vkeys = async () =>
      (await storedRecords("purchase")).map(({ wallet }) => wallet?.vkey ?? null);
    const [poor, rich] = ["buyer-0", "buyer-1"].map((name) => buying.buyers[name]?.vkey);
    const dealt = await vkeys();
    expect(dealt.filter((vkey) => vkey === rich)).toHaveLength(3);
    expect(dealt.filter((vkey) => vkey === poor)).toHaveLength(1);
    await buying.work("buyer-1");
    await buying.sync();
    expect(await vkeys()).toEqual(dealt);
    const states = (await buying.shown("purchase")).map(({ onChainState }) => onChainState);
    expect(states).toEqual(Array(4).fill("FundsLocked"));
  });

  it("use only the wallets that they may", async () => {
    const buying = await PaymentSourceFixture.open("Web3ChainV1", {
      "buyer-0": [100_000_000],
      "buyer-1": [900_000_000],
    });
    const { id } = await buying.buy();
    const poor = await env.DB.prepare("SELECT id FROM managed_wallet WHERE vkey = ?")
      .bind(buying.buyers["buyer-0"]?.vkey)
      .first("id");
    await env.DB.prepare("UPDATE escrow SET wallet_ids = json_array(?) WHERE id = ?")
      .bind(poor, id)
      .run();
    await buying.work("buyer-1");
    expect((await buying.only("purchase")).SmartContractWallet?.id).toBe(poor);
    await buying.work("buyer-0");
    expect((await buying.only("purchase")).NextAction.requestedAction).toBe(
      "FundsLockingInitiated",
    );
  });
});

describe("a hundred purchases of ten keys with limits, over three wallets", () => {
  const PRICE = 5_000_000;
  const MOST = 9;

  it("are locked once each and charged where they are locked, though keys race and nodes fail", async () => {
    const jobs = sized(40, 100);
    const keys = jobs / 10;
    const names = ["buyer-0", "buyer-1", "buyer-2"];
    const funds = Object.fromEntries(names.map((name) => [name, [300_000_000, 20_000_000]]));
    const buying = await PaymentSourceFixture.open("Web3ChainV1", funds);
    const fixture = PurchaseFixture.of(
      buying.quotes,
      found(Object.values(buying.buyers), () => true),
    );
    const limit = [{ network: "Preprod", unit: "", amount: String(MOST * PRICE) }];
    const tokens = await Promise.all(
      Array.from({ length: keys }, () => insertKey({ canPay: true, spendingLimits: limit })),
    );
    const quotes = await Promise.all(Array.from({ length: jobs }, () => fixture.quote()));
    // Every fourth is wanted by two keys at once.
    const asked = quotes.flatMap((quote, i) => [
      { quote, token: tokens[i % keys] },
      ...(i % 4 === 0 ? [{ quote, token: tokens[(i + 1) % keys] }] : []),
    ]);
    const answers = await Promise.all(
      asked.map(({ quote, token = "" }) => fixture.purchase(quote, {}, { token })),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    const identifiers = accepted.map(({ data }) => data.blockchainIdentifier);
    expect(new Set(identifiers).size).toBe(accepted.length);
    expect(accepted.length).toBeGreaterThan(0.75 * jobs);
    for (const { status, message } of answers)
      if (status !== 200)
        expect([status, message]).toEqual([
          ...(status === 409
            ? [409, "blockchainIdentifier: already has a purchase"]
            : [400, "Insufficient funds"]),
        ]);

    const purchases = "FROM escrow WHERE side = 'purchase'";
    await env.DB.prepare(
      "UPDATE escrow SET intent = json_set(intent, '$.since', intent->>'since' - 5000) WHERE side = 'purchase'",
    ).run();
    await buying.chain.faults(
      { match: "tx/submit", status: 425, times: 1 },
      { match: "tx/submit", after: 2, reset: true, times: 2 },
      { match: "utxos", status: 500, times: 1 },
    );
    const isOpen = async () =>
      env.DB.prepare(`SELECT count(*) AS open ${purchases} AND on_chain_state IS NULL`).first(
        "open",
      );
    for (let round = 0; round < 20 && (await isOpen()) !== 0; round++) {
      await Promise.all(names.map((name) => buying.work(name)));
      await buying.sync();
    }
    const { results } = await env.DB.prepare(
      `SELECT on_chain_state AS state, charge, count(*) AS count, count(DISTINCT utxo) AS outputs
       ${purchases} GROUP BY 1, 2`,
    ).all();
    const count = accepted.length;
    expect(results).toEqual([{ state: "FundsLocked", charge: "held", count, outputs: count }]);
    const locked = await env.DB.prepare(
      `SELECT sum(json_array_length(tasks)) AS count FROM wallet_transaction
       WHERE hash IN (SELECT substr(utxo, 1, 64) FROM escrow)`,
    ).first("count");
    expect(locked).toBe(count);
    const { results: accounts } = await env.DB.prepare(
      `SELECT spent, (SELECT count(*) ${purchases} AND requested_by_id = api_key_id) AS bought
       FROM key_spending`,
    ).all<{ spent: number; bought: number }>();
    expect(accounts).toHaveLength(keys);
    for (const { spent, bought } of accounts) {
      expect(spent).toBe(bought * PRICE);
      expect(bought).toBeLessThanOrEqual(MOST);
    }
  });
});
