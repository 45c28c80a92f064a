import { decodeBlockchainIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { type FixtureOptions, RegistrationFixture } from "../registry/registration-fixture.ts";
import { metadataOf } from "../registry/registry-sync.ts";

const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** A price as metadata of either version has it. */
export const FIXED = [{ unit: "", amount: "5000000" }];

/** Metadata of an agent that is paid through a contract. */
export function agentMetadata(
  type: PaymentSourceType,
  contractAddress: string,
  pricing: { pricingType: string; prices?: { unit: string; amount: string }[] },
  sources: object[] = [],
): Record<string, unknown> {
  const { pricingType, prices = [] } = pricing;
  const list = (name: string, unitName: string) =>
    pricingType === "Fixed" && {
      [name]: prices.map(({ unit, amount }) => ({ amount, [unitName]: unit === "" ? [] : [unit] })),
    };
  if (type === "Web3ChainV1")
    return metadataOf("agent", {
      agentPricing: { pricingType, ...list("fixedPricing", "unit") },
    });
  const { agentPricing: _, ...rest } = metadataOf("agent", { metadata_version: "2" });
  return {
    ...rest,
    supported_payment_sources: [
      {
        chain: "Cardano",
        network: "Preprod",
        settlement: {
          paymentSourceType: "Web3CardanoV2",
          address: [contractAddress.slice(0, 60), contractAddress.slice(60)],
        },
        pricing: { pricingType, ...list("fixed", "asset") },
      },
      ...sources,
    ],
  };
}

/** A payment or purchase as an answer shows it. */
// biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
export type Shown = any;

/** The datum that a buyer's service makes of a quote; amounts and times as text. */
export function datumOf(payment: Shown, seller: string): Record<string, string | null> {
  const decoded = decodeBlockchainIdentifier(payment.blockchainIdentifier);
  if (!decoded) throw new Error("not an identifier");
  return {
    referenceKey: decoded.key,
    referenceSignature: decoded.signature,
    sellerNonce: decoded.sellerId.slice(0, 64),
    buyerNonce: decoded.buyerNonce,
    agentIdentifier: payment.agentIdentifier,
    inputHash: payment.inputHash,
    payByTime: payment.payByTime,
    submitResultTime: payment.submitResultTime,
    unlockTime: payment.unlockTime,
    externalDisputeUnlockTime: payment.externalDisputeUnlockTime,
    seller,
    sellerReturnAddress:
      payment.PaymentSource.paymentSourceType === "Web3ChainV2"
        ? payment.sellerReturnAddress
        : null,
  };
}

/** A payment source with selling wallets, and agents of theirs on its chain. */
export class QuoteFixture {
  readonly fixture: RegistrationFixture;
  readonly type: PaymentSourceType;
  agentIdentifier = "";
  #agents = 0;

  private constructor(fixture: RegistrationFixture, type: PaymentSourceType) {
    this.fixture = fixture;
    this.type = type;
  }

  static async open(
    type: PaymentSourceType = "Web3ChainV1",
    options: Omit<FixtureOptions, "type"> = {},
  ): Promise<QuoteFixture> {
    const fixture = await RegistrationFixture.open({ published: false, ...options, type });
    return new QuoteFixture(fixture, type);
  }

  /** Mints an agent to its first selling wallet, or another one, and quotes for it from now on. */
  async agent(
    pricing: { pricingType: string; prices?: { unit: string; amount: string }[] } = {
      pricingType: "Fixed",
      prices: FIXED,
    },
    {
      holder = "seller-0",
      sources = [],
      metadata,
    }: {
      holder?: string;
      sources?: object[];
      metadata?: object;
    } = {},
  ): Promise<string> {
    const { address } = this.fixture.contract;
    const [minted] = await this.fixture.chain.act([
      {
        do: "mint",
        as: `agent-${this.#agents++}`,
        version: this.type,
        holder,
        metadata: metadata ?? agentMetadata(this.type, address, pricing, sources),
      },
    ]);
    this.agentIdentifier = minted?.unit ?? "";
    return this.agentIdentifier;
  }

  /** A body of `POST /payment`, whose times are ISO 8601 from epoch milliseconds. */
  body(overrides: Record<string, unknown> = {}): Record<string, unknown> {
    const now = Date.now();
    const at = (ms: number) => new Date(ms).toISOString();
    return {
      network: "Preprod",
      agentIdentifier: this.agentIdentifier,
      inputHash: "9f".repeat(32),
      identifierFromPurchaser: "0123456789abcdef0123",
      payByTime: at(now + HOUR),
      submitResultTime: at(now + 2 * HOUR),
      ...(this.type === "Web3ChainV2" && { supportedPaymentSourceIndex: 0 }),
      ...overrides,
    };
  }

  quote(overrides: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    return this.fixture.ask<Shown>("POST", "/payment", this.body(overrides), headers);
  }

  /** The payments as a list shows them. */
  async payments(headers: Record<string, string> = {}) {
    const { data } = await this.fixture.ask<{ Payments: Shown[] }>(
      "GET",
      "/payment?network=Preprod",
      null,
      headers,
    );
    return data.Payments;
  }
}
