import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "../../../src/escrow/store/escrow-row.ts";
import { emptyTables } from "../../support/app.ts";
import { problemsOf } from "../../support/endpoints/document.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { datumOf, FIXED } from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";
import { settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const TOKEN = `${"ab".repeat(28)}746f6b656e`;
const ASKED = [
  { unit: TOKEN, amount: "7" },
  { unit: "", amount: "3000000" },
];

beforeEach(emptyTables);

describe.each([V1, V2] as const)("POST /purchase of a quote of %s", (type) => {
  it.each(["Fixed", "Dynamic"] as const)(
    "with the pricing %s answers a purchase whose funds are to be locked",
    async (pricingType) => {
      const fixture = await PurchaseFixture.open(type);
      const isDynamic = pricingType === "Dynamic";
      if (isDynamic) await fixture.quotes.agent({ pricingType });
      const quote = await fixture.quote(isDynamic ? { RequestedFunds: ASKED } : {});
      const { chain } = fixture.quotes.fixture;
      await chain.stats();
      const { status, data, message } = await fixture.purchase(quote, { metadata: "order 7 €" });
      expect({ status, message }).toEqual({ status: 200, message: "" });
      // The holder, unless it was just asked for, what its token says, and the tip.
      expect((await chain.stats()).total).toBeLessThanOrEqual(3);
      expect(data).toMatchObject({
        blockchainIdentifier: quote.blockchainIdentifier,
        agentIdentifier: quote.agentIdentifier,
        agentName: "agent",
        pricingType,
        inputHash: quote.inputHash,
        resultHash: "",
        payByTime: quote.payByTime,
        submitResultTime: quote.submitResultTime,
        unlockTime: quote.unlockTime,
        externalDisputeUnlockTime: quote.externalDisputeUnlockTime,
        requestedById: "env-admin",
        onChainState: null,
        PaidFunds: isDynamic ? ASKED : FIXED,
        NextAction: { requestedAction: "FundsLockingRequested", errorType: null, errorNote: null },
        CurrentTransaction: null,
        SellerWallet: { walletVkey: quote.sellerVKey },
        SmartContractWallet: null,
        collateralReturnMinorUnit: null,
        buyerReturnAddress: null,
        sellerReturnAddress: null,
        totalBuyerChainFees: 0,
        forceLayer: null,
        expiredAt: null,
        metadata: "order 7 €",
        PaymentSource: { id: fixture.quotes.fixture.sourceId, paymentSourceType: type },
        TransactionHistory: [],
        ActionHistory: [],
        Warnings: [],
      });
      const [shown] = await fixture.purchases();
      const { Warnings: _, ...record } = data;
      expect(record).toEqual(shown);
      // The same identifier is the seller's payment.
      expect(await fixture.quotes.payments()).toMatchObject([{ id: quote.id }]);
      for (const [side, expected] of [
        ["purchase", shown],
        ["payment", (await fixture.quotes.payments())[0]],
      ] as const) {
        const path = `/${side}/resolve-blockchain-identifier`;
        const { blockchainIdentifier } = quote;
        const one = await fixture.ask(path, { network: "Preprod", blockchainIdentifier });
        expect(one.data).toEqual(expected);
        expect(problemsOf("POST", `/api/v1${path}`, 200, one.json)).toEqual([]);
      }
      const events = await openDb(env).all<{ kind: string; data: string }>(
        "SELECT kind, data FROM event WHERE record_id = ?",
        data.id,
      );
      expect(events.map(({ kind }) => kind)).toEqual(["PURCHASE_ON_CHAIN_STATUS_CHANGED"]);
      expect(JSON.parse(events[0]?.data ?? "")).toEqual({
        ...shown,
        metadata: null,
        previous: null,
      });
      const audit = await openDb(env).all(
        "SELECT target FROM audit WHERE action = 'purchase.create'",
      );
      expect(audit).toEqual([{ target: data.id }]);
    },
  );

  it("stores everything that a wallet needs for the lock, and waits for no wallet", async () => {
    const fixture = await PurchaseFixture.open(type);
    const returns = type === V2 ? fixture.quotes.fixture.sellers[0].address : null;
    const quote = await fixture.quote(returns === null ? {} : { sellerReturnAddress: returns });
    const { data } = await fixture.purchase(quote, { buyerReturnAddress: fixture.buyer.address });
    const [row] = await openDb(env).all<EscrowRow & { dueAt: number }>(
      `SELECT ${ESCROW_COLUMNS}, due_at AS dueAt FROM escrow WHERE id = ?`,
      data.id,
    );
    const record = toEscrowRecord(row as EscrowRow);
    expect(record.wallet).toBeNull();
    expect(row?.dueAt).toBe(record.createdAt);
    expect(record.progress.intent).toMatchObject({ step: "FundsLocking", by: "env-admin" });
    expect(record.terms).toMatchObject({
      isRequested: true,
      seller: fixture.quotes.fixture.sellers[0].address,
      sellerVkey: quote.sellerVKey,
      buyer: null,
      buyerReturnAddress: fixture.buyer.address,
      sellerReturnAddress: returns,
      funds: FIXED,
    });
  });

  it("moves with the first lock that is what was agreed, even if none of ours is known", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { sellers, chain, sourceId } = fixture.quotes.fixture;
    const quote = await fixture.quote();
    const { data } = await fixture.purchase(quote);
    const lock = (as: string, amount: string) => ({
      do: "lock",
      as,
      version: type,
      buyer: "buyer-0",
      funds: [{ unit: "", amount }],
      collateral: "0",
      datum: datumOf(quote, sellers[0].address),
    });
    const sync = () => settle(chain, sourceId, { env: { BLOCKFROST_URL_PREPROD: chain.url } });
    await chain.act([lock("less", "4999999")]);
    await sync();
    expect(await fixture.purchases()).toMatchObject([
      {
        id: data.id,
        onChainState: null,
        NextAction: {
          requestedAction: "FundsLockingRequested",
          errorNote: expect.stringMatching(/locks other terms: 4999999/),
        },
      },
    ]);
    await chain.act([lock("fits", "5000000")]);
    await sync();
    expect(await fixture.purchases()).toMatchObject([
      {
        id: data.id,
        onChainState: "FundsLocked",
        PaidFunds: FIXED,
        SmartContractWallet: { walletVkey: fixture.buyer.vkey },
        NextAction: { requestedAction: "WaitingForExternalAction", errorNote: null },
      },
    ]);
    expect(await fixture.quotes.payments()).toMatchObject([
      {
        id: quote.id,
        onChainState: "FundsLocked",
        NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
      },
    ]);
  });
});

describe("POST /purchase", () => {
  it("answers 409 with the purchase that the identifier has, to its owner and Admins", async () => {
    const fixture = await PurchaseFixture.open();
    const quote = await fixture.quote();
    const [owner, other] = [
      { token: await insertKey({ canPay: true }) },
      { token: await insertKey({ canPay: true }) },
    ];
    const { data } = await fixture.purchase(quote, { metadata: "mine" }, owner);
    const error = expect.objectContaining({ code: "already_exists" });
    const [shown] = await fixture.purchases(owner);
    expect(shown).toMatchObject({ id: data.id, metadata: "mine" });
    // It is told before anything else of the request is looked at.
    for (const [headers, object] of [
      [owner, { object: shown }],
      [{}, { object: shown }],
      [other, {}],
    ] as const) {
      const again = await fixture.purchase(quote, { sellerVkey: "00".repeat(28) }, headers);
      expect(again.status).toBe(409);
      expect(again.json).toEqual({ status: "error", error, id: data.id, ...object });
      expect(problemsOf("POST", "/api/v1/purchase", 409, again.json)).toEqual([]);
    }
  });

  it("stores one purchase when it is sent five times at once, and answers 409 four times", async () => {
    const fixture = await PurchaseFixture.open();
    const quote = await fixture.quote();
    const token = await insertKey({ canPay: true, usageLimited: true, maxUsageCredits: 9 });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => fixture.purchase(quote, {}, { token })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    const [purchase] = await fixture.purchases();
    for (const { status, json } of answers) if (status === 409) expect(json.id).toBe(purchase?.id);
    const used = "SELECT accumulated_usage_credits AS used FROM api_key WHERE usage_limited = 1";
    expect(await env.DB.prepare(used).first("used")).toBe(1);
  });

  it("makes one purchase for each Idempotency-Key, and answers it as it was", async () => {
    const fixture = await PurchaseFixture.open();
    const quote = await fixture.quote();
    const key = { "idempotency-key": "once" };
    const answers = await Promise.all([
      fixture.purchase(quote, {}, key),
      fixture.purchase(quote, {}, key),
      fixture.purchase(quote, {}, key),
    ]);
    for (const answer of [...answers, await fixture.purchase(quote, {}, key)])
      expect(answer).toEqual(answers[0]);
    expect(answers[0]?.status).toBe(200);
    expect((await fixture.purchase(quote, { metadata: "other" }, key)).status).toBe(422);
    expect(await fixture.purchases()).toHaveLength(1);
  });
});
