/** Quotes that were good where and when they were made, and are not where and when they are bought. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import { emptyTables } from "../../support/app.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { agentMetadata, FIXED } from "../../support/escrow/quote-fixture.ts";
import { found } from "../../support/registry/registration-fixture.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
/** Longer than the holder of a token is remembered. */
const HOLDER_FORGOTTEN_MS = 20_001;
const POLICY_LENGTH = 56;
const DEARER = [{ unit: "", amount: "6000000" }];
const OTHER_PRICE = "Amounts: must be the agent's fixed price: 6000000 of the native coin";

beforeEach(emptyTables);

afterEach(() => {
  vi.useRealTimers();
});

/** Lets the time pass after which the holders of tokens are asked for again. */
function forgetHolders(): void {
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() + HOLDER_FORGOTTEN_MS);
}

/** The same credentials on Mainnet. */
function onMainnet(address: string): string {
  const parsed = parseAddress(address);
  if (!parsed) throw new Error(`${address} is no address`);
  return formatAddress({ ...parsed, network: "Mainnet" });
}

const MAINNET_CONTRACT = formatAddress({
  network: "Mainnet",
  payment: { kind: "script", hash: "ab".repeat(28) },
  stake: null,
});

/** Has the service sell and buy on Mainnet too, with the same wallets for agents of the same policy. */
async function openMainnet(fixture: PurchaseFixture): Promise<void> {
  const service = fixture.quotes.fixture;
  const { chain, contract, sellers } = service;
  const [seller] = sellers;
  const own = { walletAddress: onMainnet(seller.address) };
  // Where LOOPBACK_ORIGINS allows a local provider, Mainnet is refused.
  service.bindings = { BLOCKFROST_URL_MAINNET: chain.url, LOOPBACK_ORIGINS: "" };
  // As of wallets that no block has seen; the local chain has no addresses on Mainnet.
  await chain.faults({ match: "^/addresses/addr1", status: 404 });
  const { status, message } = await service.ask("POST", "/payment-source-extended", {
    network: "Mainnet",
    paymentSourceType: contract.type,
    smartContractAddress: MAINNET_CONTRACT,
    policyId: contract.policyId,
    PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
    AdminWallets: [own],
    feeRatePermille: 50,
    ...(contract.type === V1 && { FeeReceiverNetworkWallet: own }),
    SellingWallets: [{ walletMnemonic: seller.mnemonic }],
    PurchasingWallets: [{ walletMnemonic: fixture.buyer.mnemonic }],
  });
  if (status !== 200) throw new Error(message);
}

describe.each([V1, V2] as const)("POST /purchase of a quote of %s", (type) => {
  it("refuses an identifier that the same seller quoted on another network, and accepts it there", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { chain, sellers } = fixture.quotes.fixture;
    const preprod = { network: "Preprod" };
    const mainnet = { network: "Mainnet", ...(type === V2 && { supportedPaymentSourceIndex: 1 }) };
    await openMainnet(fixture);
    const { supported_payment_sources: sources = [] } = agentMetadata(type, MAINNET_CONTRACT, {
      pricingType: "Fixed",
      prices: FIXED,
    }) as { supported_payment_sources?: object[] };
    await fixture.quotes.agent(undefined, {
      sources: sources.map((one) => ({ ...one, network: "Mainnet" })),
    });
    const here = await fixture.quote(preprod);
    const refused =
      type === V1
        ? { status: 400, message: "blockchainIdentifier: the seller signed other terms" }
        : {
            status: 404,
            message:
              "agentIdentifier: no payment source of Web3ChainV2 has this agent's policy and the contract of blockchainIdentifier",
          };
    const holders = JSON.stringify([{ address: onMainnet(sellers[0].address), quantity: "1" }]);
    await chain.faults({ match: "/assets/.*/addresses", status: 200, body: holders });
    const there = await fixture.quote(mainnet);
    expect(there.sellerVKey).toBe(here.sellerVKey);
    expect(await fixture.purchase(here, mainnet)).toMatchObject(refused);
    expect(await fixture.purchase(there, mainnet)).toMatchObject({ status: 200 });
    await chain.faults();
    expect(await fixture.purchase(there, preprod)).toMatchObject(refused);
    expect(await fixture.purchase(here, preprod)).toMatchObject({ status: 200 });
  });

  it("is refused while the agent's token is in another wallet, and accepted once the token is back", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { chain, sellers } = fixture.quotes.fixture;
    const quote = await fixture.quote();
    const move = async (to: string) => {
      await chain.act([{ do: "send", on: "agent-0", to }]);
      forgetHolders();
    };
    const moved = {
      status: 400,
      message: "sellerVkey: another wallet holds the agent's token",
    };
    await move("seller-1");
    expect(await fixture.purchase(quote)).toMatchObject(moved);
    expect(await fixture.purchase(quote, { sellerVkey: sellers[1].vkey })).toMatchObject({
      status: 400,
      message: "blockchainIdentifier: the signing key is not the seller's",
    });
    await move("stranger");
    expect(await fixture.purchase(quote)).toMatchObject(moved);
    expect(await fixture.purchases()).toEqual([]);
    await move("seller-0");
    expect((await fixture.purchase(quote)).status).toBe(200);
  });

  it("is refused once the agent is registered again at another price, which a new quote contains", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { chain, contract } = fixture.quotes.fixture;
    const quote = await fixture.quote();
    const dearer = { pricingType: "Fixed", prices: DEARER };
    if (type === V1) {
      await chain.act([{ do: "burn", on: "agent-0" }]);
      await fixture.quotes.agent(dearer);
    } else {
      const metadata = agentMetadata(type, contract.address, dearer);
      const [updated] = await chain.act([
        { do: "mintAll", version: type, tokens: [{ metadata }], burns: ["agent-0"] },
      ]);
      fixture.quotes.agentIdentifier = updated?.units?.[0] ?? "";
    }
    const { agentIdentifier } = fixture.quotes;
    forgetHolders();
    expect(await fixture.purchase(quote)).toMatchObject({
      status: 404,
      message: "agentIdentifier: no wallet holds this agent's token",
    });
    const Amounts = quote.RequestedFunds;
    expect(await fixture.purchase(quote, { agentIdentifier, Amounts })).toMatchObject({
      status: 400,
      message: OTHER_PRICE,
    });
    expect(await fixture.purchase(quote, { agentIdentifier })).toMatchObject({
      status: 400,
      message: "agentIdentifier: must be the agent in blockchainIdentifier",
    });
    expect(await fixture.purchases()).toEqual([]);
    expect(await fixture.purchase(await fixture.quote())).toMatchObject({
      status: 200,
      data: { PaidFunds: DEARER },
    });
  });
});

it("POST /purchase reports the token's present price to a buyer who names the price of the quote, and shows others what they pay", async () => {
  const fixture = await PurchaseFixture.open(V1);
  const service = fixture.quotes.fixture;
  const { chain } = service;
  const { wallets, open } = await chain.wallets();
  const wallet = (name: string) => found(wallets, (one) => one.name === name);
  const [seller, buyer] = [wallet("seller-2"), wallet("buyer-1")];
  const { status, message } = await service.ask("POST", "/payment-source-extended", {
    network: "Preprod",
    paymentSourceType: V1,
    smartContractAddress: open.address,
    policyId: open.policyId,
    PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
    AdminWallets: [{ walletAddress: seller.address }],
    feeRatePermille: 50,
    FeeReceiverNetworkWallet: { walletAddress: seller.address },
    SellingWallets: [{ walletMnemonic: seller.mnemonic }],
    PurchasingWallets: [{ walletMnemonic: buyer.mnemonic }],
  });
  expect([status, message]).toEqual([200, ""]);
  // The contracts' own policies never mint a name twice.
  const mint = async (prices: typeof FIXED, assetName?: string) => {
    const metadata = agentMetadata(V1, open.address, { pricingType: "Fixed", prices });
    const order = { do: "mint", as: "priced", version: V1, rules: "open", holder: "seller-2" };
    const [minted] = await chain.act([{ ...order, metadata, ...(assetName && { assetName }) }]);
    return minted?.unit ?? "";
  };
  const agentIdentifier = await mint(FIXED);
  const quote = await fixture.quote({ agentIdentifier });
  const Amounts = quote.RequestedFunds;
  expect(Amounts).toEqual(FIXED);
  await chain.act([{ do: "burn", on: "priced" }]);
  expect(await mint(DEARER, agentIdentifier.slice(POLICY_LENGTH))).toBe(agentIdentifier);

  expect(await fixture.purchase(quote, { Amounts })).toMatchObject({
    status: 400,
    message: OTHER_PRICE,
  });
  expect(await fixture.purchases()).toEqual([]);
  expect(await fixture.purchase(quote)).toMatchObject({ status: 200, data: { PaidFunds: DEARER } });
});
