import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  verifySellerSignature,
} from "../../../src/chain/contracts/blockchain-identifier.ts";
import type { Funds } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import { emptyTables } from "../../support/app.ts";
import {
  datumOf,
  FIXED,
  HOUR,
  QuoteFixture,
  type Shown,
} from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";
import { settleRegistry } from "../../support/registry/registry-sync.ts";
import { settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const TOKEN = `${"ab".repeat(28)}746f6b656e`;

beforeEach(emptyTables);

describe.each([V1, V2] as const)("POST /payment of an agent of %s", (type) => {
  it.each([
    ["Fixed", FIXED, null],
    [
      "Dynamic",
      [],
      [
        { unit: TOKEN, amount: "7" },
        { unit: "", amount: "3000000" },
      ],
    ],
  ] as const)(
    "with the pricing %s answers a quote that its seller signed",
    async (pricingType, prices, requested) => {
      const fixture = await QuoteFixture.open(type);
      const [seller] = fixture.fixture.sellers;
      await fixture.agent({ pricingType, prices: [...prices] });
      await fixture.fixture.chain.stats();
      const { status, data } = await fixture.quote({
        metadata: "order 7 €",
        ...(requested && { RequestedFunds: requested }),
      });
      expect(status).toBe(200);
      // The token's holder, its mint and the bytes of the mint.
      expect((await fixture.fixture.chain.stats()).total).toBe(3);
      const price = requested ?? FIXED;
      const submitted = Number(data.submitResultTime);
      expect(data).toMatchObject({
        onChainState: null,
        agentIdentifier: fixture.agentIdentifier,
        agentName: "agent",
        forceLayer: null,
        expiredAt: null,
        sellerVKey: seller.vkey,
        pricingType,
        inputHash: "9f".repeat(32),
        resultHash: "",
        unlockTime: String(submitted + 6 * HOUR),
        externalDisputeUnlockTime: String(submitted + 12 * HOUR),
        requestedById: "env-admin",
        RequestedFunds: price,
        NextAction: {
          requestedAction: "WaitingForExternalAction",
          errorType: null,
          errorNote: null,
          resultHash: null,
        },
        CurrentTransaction: null,
        BuyerWallet: null,
        collateralReturnMinorUnit: null,
        buyerReturnAddress: null,
        sellerReturnAddress: null,
        totalSellerChainFees: 0,
        cooldownTime: 0,
        PaymentSource: {
          id: fixture.fixture.sourceId,
          paymentSourceType: type,
          smartContractAddress: fixture.fixture.contract.address,
          policyId: fixture.fixture.contract.policyId,
        },
        SmartContractWallet: { walletVkey: seller.vkey, walletAddress: seller.address },
        metadata: "order 7 €",
        Warnings: [],
      });

      const decoded = decodeBlockchainIdentifier(data.blockchainIdentifier);
      expect(decoded).toMatchObject({
        agentIdentifier: fixture.agentIdentifier,
        buyerNonce: "0123456789abcdef0123",
        contractAddress: type === V2 ? fixture.fixture.contract.address : null,
      });
      if (!decoded) throw new Error("not an identifier");
      expect(encodeBlockchainIdentifier(decoded)).toBe(data.blockchainIdentifier);
      const lockedFunds: Funds[] = price.map(({ unit, amount }) => ({
        unit,
        amount: BigInt(amount),
      }));
      const text = datumOf(data, seller.address);
      const times = ["payByTime", "submitResultTime", "unlockTime", "externalDisputeUnlockTime"];
      const numbers = Object.fromEntries(times.map((name) => [name, BigInt(text[name] ?? "")]));
      const datum: Shown = { ...text, ...numbers, version: type, sellerVkey: seller.vkey };
      const signed = (funds: Funds[]) =>
        verifySellerSignature(
          { ...datum, collateralReturn: 0n },
          { contractAddress: fixture.fixture.contract.address, lockedFunds: funds },
        );
      expect(signed(lockedFunds)).toEqual({ ok: true });
      // A dynamic price is signed, a fixed one is the registry's.
      const other = lockedFunds.map((one) => ({ ...one, amount: one.amount + 1n }));
      expect(signed(other).ok).toBe(pricingType === "Fixed");

      const [shown] = await fixture.payments();
      const { Estimate: _, Warnings: __, ...record } = data;
      // The record is the payment's, and the quote's answer adds what a buyer needs.
      const listed = type === V2 && { supportedPaymentSourceIndex: 0 };
      expect(record).toEqual({ ...shown, ...listed });
      const stamp = data.nextActionOrOnChainStateOrResultLastChangedAt;
      expect(stamp >= data.createdAt).toBe(true);
      const events = await openDb(env).all<{ kind: string; data: string }>(
        "SELECT kind, data FROM event",
      );
      expect(events.map(({ kind }) => kind)).toEqual(["PAYMENT_ON_CHAIN_STATUS_CHANGED"]);
      expect(JSON.parse(events[0]?.data ?? "")).toEqual({
        ...shown,
        metadata: null,
        previous: null,
      });
    },
  );

  it("is taken up by the lock that pays it, after those that pay less were ignored", async () => {
    const fixture = await QuoteFixture.open(type);
    const [seller] = fixture.fixture.sellers;
    await fixture.agent();
    const { data } = await fixture.quote();
    const lock = (as: string, amount: string) => ({
      do: "lock",
      as,
      version: type,
      funds: [{ unit: "", amount }],
      collateral: "0",
      datum: datumOf(data, seller.address),
    });
    const sync = () =>
      settle(fixture.fixture.chain, fixture.fixture.sourceId, {
        env: { BLOCKFROST_URL_PREPROD: fixture.fixture.chain.url },
      });
    await fixture.fixture.chain.act([lock("less", "4999999")]);
    await sync();
    const [ignored] = await fixture.payments();
    expect(ignored).toMatchObject({
      id: data.id,
      onChainState: null,
      NextAction: {
        requestedAction: "WaitingForExternalAction",
        errorType: "Unknown",
        errorNote: expect.stringMatching(
          /locks other terms: 4999999 of the native coin are locked/,
        ),
      },
    });

    await fixture.fixture.chain.act([lock("fits", "5000000")]);
    await sync();
    const payments = await fixture.payments();
    expect(payments).toHaveLength(1);
    expect(payments[0]).toMatchObject({
      id: data.id,
      blockchainIdentifier: data.blockchainIdentifier,
      onChainState: "FundsLocked",
      RequestedFunds: FIXED,
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
      BuyerWallet: { walletVkey: expect.stringMatching(/^[0-9a-f]{56}$/) },
      CurrentTransaction: { status: "Confirmed" },
    });
  });
});

describe("POST /payment", () => {
  it("with six units is taken up in whatever order they are locked, and with more coin", async () => {
    const fixture = await QuoteFixture.open();
    const { sellers, chain, sourceId } = fixture.fixture;
    const minted = await chain.act(
      ["a", "b", "c", "d", "e"].map((as) => ({
        do: "mint",
        as,
        version: V1,
        holder: "buyer-0",
        metadata: {},
      })),
    );
    const tokens = minted.map(({ unit = "" }) => ({ unit, amount: "1" }));
    const RequestedFunds = [...tokens.toReversed(), { unit: "", amount: "9000000" }];
    await fixture.agent({ pricingType: "Dynamic" });
    const { data } = await fixture.quote({ RequestedFunds });
    const funds = [{ unit: "", amount: "10000000" }, ...tokens];
    const datum = datumOf(data, sellers[0].address);
    await chain.act([{ do: "lock", as: "paid", version: V1, funds, collateral: "0", datum }]);
    await settle(chain, sourceId, { env: { BLOCKFROST_URL_PREPROD: chain.url } });
    expect(await fixture.payments()).toMatchObject([
      { id: data.id, onChainState: "FundsLocked", RequestedFunds },
    ]);
  });

  it("asks the provider for the holder alone where the registry knows the agent", async () => {
    for (const type of [V1, V2] as const) {
      await emptyTables();
      const fixture = await QuoteFixture.open(type);
      await fixture.agent();
      await settleRegistry(fixture.fixture.chain, await fixture.fixture.followPolicy());
      await fixture.fixture.chain.stats();
      expect((await fixture.quote()).status).toBe(200);
      const { calls, total } = await fixture.fixture.chain.stats();
      expect({ total, calls: Object.keys(calls) }).toEqual({
        total: 1,
        calls: [expect.stringContaining("/addresses")],
      });
      // What was read long ago may be wrong by now.
      await env.DB.prepare("UPDATE registry_cursor SET last_checked_at = 1").run();
      await fixture.agent();
      expect((await fixture.quote()).status).toBe(200);
    }
  });

  it("makes one quote for each Idempotency-Key, and answers it as it was", async () => {
    const fixture = await QuoteFixture.open();
    await fixture.agent();
    const body = fixture.body();
    const key = { "idempotency-key": "once" };
    const first = await fixture.quote(body, key);
    expect(first.status).toBe(200);
    expect(await fixture.quote(body, key)).toEqual(first);
    expect((await fixture.quote({ ...body, inputHash: "00" }, key)).status).toBe(422);
    expect((await fixture.quote(body)).data.blockchainIdentifier).not.toBe(
      first.data.blockchainIdentifier,
    );
    expect(await fixture.payments()).toHaveLength(2);
    const audit = await openDb(env).all<{ target: string }>(
      "SELECT target FROM audit WHERE action = 'payment.create' ORDER BY id",
    );
    expect(audit[0]?.target).toBe(first.data.id);
    expect(audit).toHaveLength(2);
  });

  it("costs a limited key a credit, and answers 402 when it has none", async () => {
    const fixture = await QuoteFixture.open();
    await fixture.agent();
    const token = await insertKey({ canPay: true, usageLimited: true, maxUsageCredits: 1 });
    expect((await fixture.quote({ inputHash: "0" }, { token })).status).toBe(400);
    expect((await fixture.quote({}, { token })).status).toBe(200);
    await fixture.fixture.chain.stats();
    expect((await fixture.quote({}, { token })).status).toBe(402);
    expect((await fixture.fixture.chain.stats()).total).toBe(0);
    expect(await fixture.payments()).toHaveLength(1);
  });

  it("shows what the caller noted to it and to Admins alone", async () => {
    const fixture = await QuoteFixture.open();
    await fixture.agent();
    const owner = { token: await insertKey({ canPay: true }) };
    const other = { token: await insertKey({ canPay: true }) };
    const { data } = await fixture.quote({ metadata: "mine" }, owner);
    expect(data.metadata).toBe("mine");
    expect((await fixture.payments(owner))[0]?.metadata).toBe("mine");
    expect((await fixture.payments())[0]?.metadata).toBe("mine");
    expect((await fixture.payments(other))[0]?.metadata).toBeNull();
    const since = { token: owner.token };
    const diff = await fixture.fixture.ask<{ Payments: Shown[] }>(
      "GET",
      "/payment/diff?network=Preprod",
      null,
      since,
    );
    expect(diff.data.Payments).toEqual(await fixture.payments(owner));
    const tooLong = await fixture.quote({ metadata: "€".repeat(6_000) });
    expect(tooLong).toMatchObject({
      status: 400,
      message: "metadata: must have at most 16384 bytes",
    });
  });
});
