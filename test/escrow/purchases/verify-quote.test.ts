import { env } from "cloudflare:workers";
import lz from "lz-string";
import { beforeEach, describe, expect, it } from "vitest";
import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
} from "../../../src/chain/contracts/blockchain-identifier.ts";
import { readCoseSign1, signCoseSign1 } from "../../../src/chain/cose.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import { deriveWalletKeys } from "../../../src/chain/wallet-keys.ts";
import { emptyTables } from "../../support/app.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { FIXED } from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";
import { FORGED_FORMS, WALLET_FORMS } from "../../support/wallet-signatures.ts";

const TOKEN = `${"ab".repeat(28)}746f6b656e`;
/** A short identifier that expands to very many parts. */
const BOMB = bytesToHex(lz.compressToUint8Array(".".repeat(500_000)));

beforeEach(emptyTables);

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("POST /purchase/verify of %s", (type) => {
  it("says what a purchase would cost, and makes none", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { sellers, sourceId, contract } = fixture.quotes.fixture;
    const quote = await fixture.quote();
    const before = await env.DB.prepare("SELECT count(*) AS n FROM escrow").first("n");
    const { status, data } = await fixture.ask("/purchase/verify", fixture.body(quote));
    expect(status).toBe(200);
    expect(data).toEqual({
      agentIdentifier: quote.agentIdentifier,
      agentName: "agent",
      pricingType: "Fixed",
      PaidFunds: FIXED,
      SellerWallet: { walletVkey: sellers[0].vkey, walletAddress: sellers[0].address },
      PaymentSource: {
        id: sourceId,
        network: "Preprod",
        paymentSourceType: type,
        smartContractAddress: contract.address,
        policyId: contract.policyId,
      },
      Cost: { Locked: FIXED, collateralReturnMinorUnit: "0", usageCredits: 1 },
      Warnings: [],
    });
    expect(await env.DB.prepare("SELECT count(*) AS n FROM escrow").first("n")).toBe(before);

    const asked = [{ unit: TOKEN, amount: "7" }];
    await fixture.quotes.agent({ pricingType: "Dynamic" });
    const dynamic = await fixture.quote({ RequestedFunds: asked });
    const { data: ofToken } = await fixture.ask("/purchase/verify", fixture.body(dynamic));
    const [native, ...tokens] = ofToken.Cost.Locked;
    expect(tokens).toEqual(asked);
    // It comes back in full, and what the seller's service estimates is the same.
    expect(native).toEqual({ unit: "", amount: ofToken.Cost.collateralReturnMinorUnit });
    expect(Number(native.amount)).toBeGreaterThanOrEqual(
      Number(dynamic.Estimate.minimumNativeLock),
    );
  });

  it("takes the seller's signature in each form of a wallet's, and no forged one", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const known = decodeBlockchainIdentifier(quote.blockchainIdentifier);
    const payload = known && readCoseSign1(known)?.payload;
    if (!known || !payload) throw new Error("the quote is not signed");
    const keys = await deriveWalletKeys(fixture.quotes.fixture.sellers[0].mnemonic, "Preprod");
    const verify = (form: (typeof WALLET_FORMS)[number][1]) => {
      const cose = form(payload, (bytes) => signCoseSign1(bytes, keys));
      const blockchainIdentifier = encodeBlockchainIdentifier({ ...known, ...cose });
      return fixture.ask("/purchase/verify", { ...fixture.body(quote), blockchainIdentifier });
    };
    for (const [name, form] of WALLET_FORMS) expect((await verify(form)).status, name).toBe(200);
    for (const [name, form] of FORGED_FORMS)
      expect(await verify(form), name).toMatchObject({
        status: 400,
        message: expect.stringMatching(/^blockchainIdentifier: the seller/),
      });
  });

  it("refuses what a purchase is refused for, and one that exists", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const verify = (overrides: object, headers = {}) =>
      fixture.ask("/purchase/verify", { ...fixture.body(quote), ...overrides }, headers);
    expect(await verify({ inputHash: "00" })).toMatchObject({
      status: 400,
      message: "blockchainIdentifier: the seller signed other terms",
    });
    const token = await insertKey({ canPay: true, usageLimited: true, maxUsageCredits: 1 });
    expect((await verify({ inputHash: "00" }, { token })).status).toBe(400);
    expect(await verify({ blockchainIdentifier: BOMB }, { token })).toMatchObject({
      status: 400,
      message: "blockchainIdentifier: is not the identifier of an escrow",
    });
    expect((await verify({}, { token })).status).toBe(200);
    expect((await verify({}, { token })).status).toBe(402);
    const { data } = await fixture.purchase(quote);
    expect(await verify({})).toMatchObject({ status: 409, json: { id: data.id } });
  });
});
