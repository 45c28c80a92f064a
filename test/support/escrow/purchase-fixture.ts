import type { PaymentSourceType } from "../../../src/chain/network.ts";
import type { ChainWallet } from "../chain.ts";
import type { FixtureOptions } from "../registry/registration-fixture.ts";
import { QuoteFixture, type Shown } from "./quote-fixture.ts";

/** A service that sells and buys: agents, quotes for them, and a purchasing wallet. */
export class PurchaseFixture {
  readonly quotes: QuoteFixture;
  readonly buyer: ChainWallet;

  private constructor(quotes: QuoteFixture, buyer: ChainWallet) {
    this.quotes = quotes;
    this.buyer = buyer;
  }

  /** With an agent whose price is fixed. */
  static async open(
    type: PaymentSourceType = "Web3ChainV1",
    options: Omit<FixtureOptions, "type"> = {},
  ): Promise<PurchaseFixture> {
    const quotes = await QuoteFixture.open(type, options);
    const { wallets } = await quotes.fixture.chain.wallets();
    const buyer = wallets.find(({ name }) => name === "buyer-0");
    if (!buyer) throw new Error("the chain has no such wallet");
    const fixture = new PurchaseFixture(quotes, buyer);
    await fixture.change({ AddPurchasingWallets: [{ walletMnemonic: buyer.mnemonic }] });
    await quotes.agent();
    return fixture;
  }

  /** Of a service that has its agent and its purchasing wallets already. */
  static of(quotes: QuoteFixture, buyer: ChainWallet): PurchaseFixture {
    return new PurchaseFixture(quotes, buyer);
  }

  /** Changes the payment source. */
  async change(fields: object): Promise<void> {
    const { fixture } = this.quotes;
    const body = { id: fixture.sourceId, ...fields };
    const { status, message } = await fixture.ask("PATCH", "/payment-source-extended", body);
    if (status !== 200) throw new Error(message);
  }

  /** A quote that a seller's service has given. */
  async quote(overrides: Record<string, unknown> = {}): Promise<Shown> {
    const { status, data, message } = await this.quotes.quote(overrides);
    if (status !== 200) throw new Error(message);
    return data;
  }

  /** A body of `POST /purchase` that accepts a quote. */
  body(quote: Shown, overrides: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      network: "Preprod",
      blockchainIdentifier: quote.blockchainIdentifier,
      agentIdentifier: quote.agentIdentifier,
      inputHash: quote.inputHash,
      sellerVkey: quote.sellerVKey,
      identifierFromPurchaser: "0123456789abcdef0123",
      payByTime: quote.payByTime,
      submitResultTime: quote.submitResultTime,
      unlockTime: quote.unlockTime,
      externalDisputeUnlockTime: quote.externalDisputeUnlockTime,
      ...(quote.pricingType === "Dynamic" && { Amounts: quote.RequestedFunds }),
      ...(this.quotes.type === "Web3ChainV2" && {
        supportedPaymentSourceIndex: 0,
        sellerReturnAddress: quote.sellerReturnAddress,
      }),
      ...overrides,
    };
  }

  ask<Data = Shown>(path: string, body: object, headers: Record<string, string> = {}) {
    return this.quotes.fixture.ask<Data>("POST", path, body, headers);
  }

  purchase(
    quote: Shown,
    overrides: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) {
    return this.ask("/purchase", this.body(quote, overrides), headers);
  }

  /** The purchases as a list shows them. */
  async purchases(headers: Record<string, string> = {}): Promise<Shown[]> {
    const path = "/purchase?network=Preprod";
    const { data } = await this.quotes.fixture.ask<{ Purchases: Shown[] }>(
      "GET",
      path,
      null,
      headers,
    );
    return data.Purchases;
  }
}
