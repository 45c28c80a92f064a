/** What real clients of such services ask, in their order and words, and how they read the answers. */
import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Chain } from "../../devnet/ledger/chain.ts";
import { type Answer, poll, type Service } from "./services.ts";

export interface Parties {
  chain: Chain;
  seller: Service;
  buyer: Service;
}

export const MINUTE = 60_000;
export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
export const isoIn = (chain: Chain, ms: number) => new Date(chain.now() + ms).toISOString();

export const expectSuccess = ({ status, json }: Answer) => {
  expect({ status, said: json.status, error: json.error }).toEqual({
    status: 200,
    said: "success",
    error: undefined,
  });
  return json.data;
};

/** The buyer's half that the Python client and n8n share: times go back as text. */
function purchaseOf(
  quote: Record<string, unknown>,
  { seller }: Pick<Parties, "seller">,
  nonce: string,
): Record<string, unknown> {
  return {
    identifierFromPurchaser: nonce,
    blockchainIdentifier: quote.blockchainIdentifier,
    network: "Preprod",
    sellerVkey: seller.agent("Web3ChainV1").sellerVkey,
    paymentType: "Web3CardanoV1",
    agentIdentifier: seller.agent("Web3ChainV1").agentIdentifier,
    inputHash: quote.inputHash,
    payByTime: String(quote.payByTime),
    submitResultTime: String(quote.submitResultTime),
    unlockTime: String(quote.unlockTime),
    externalDisputeUnlockTime: String(quote.externalDisputeUnlockTime),
  };
}

/** The Python client: a seller's agent that resolves, and a buyer. @returns the identifier */
export async function pythonClient({ chain, seller, buyer }: Parties): Promise<string> {
  const [sells, buys] = [await seller.key(), await buyer.key()];
  const nonce = randomBytes(10).toString("hex");
  const quote = expectSuccess(
    await seller.call(sells.token, "POST", "/payment/", {
      agentIdentifier: seller.agent("Web3ChainV1").agentIdentifier,
      network: "Preprod",
      inputHash: sha256(`${nonce};{}`),
      payByTime: isoIn(chain, 12 * 60 * MINUTE),
      submitResultTime: isoIn(chain, 24 * 60 * MINUTE),
      paymentType: "Web3CardanoV1",
      identifierFromPurchaser: nonce,
    }),
  );
  for (const name of ["payByTime", "submitResultTime", "unlockTime", "externalDisputeUnlockTime"])
    expect(Number.isSafeInteger(Number(quote[name]))).toBe(true);
  expect(quote.sellerVKey).toBe(seller.agent("Web3ChainV1").sellerVkey);
  expectSuccess(
    await buyer.call(buys.token, "POST", "/purchase/", purchaseOf(quote, { seller }, nonce)),
  );
  const { blockchainIdentifier } = quote;
  const resolve = (shows: string) =>
    poll(
      `the Python client's payment to be ${shows}`,
      () =>
        seller.call(sells.token, "POST", "/payment/resolve-blockchain-identifier", {
          network: "Preprod",
          blockchainIdentifier,
          includeHistory: "false",
        }),
      ({ status, json }) => status === 200 && json.data.onChainState === shows,
    );
  await resolve("FundsLocked");
  expectSuccess(
    await seller.call(sells.token, "POST", "/payment/submit-result", {
      network: "Preprod",
      blockchainIdentifier,
      submitResultHash: sha256(`${nonce};a translation`),
    }),
  );
  await resolve("ResultSubmitted");
  return blockchainIdentifier;
}

/** n8n: polls the first page of the list, by either name of its array. @returns the identifier */
export async function n8n({ chain, seller, buyer }: Parties): Promise<string> {
  const [sells, buys] = [await seller.key(), await buyer.key()];
  const nonce = randomBytes(7).toString("hex");
  const quote = expectSuccess(
    await seller.call(sells.token, "POST", "/payment/", {
      agentIdentifier: seller.agent("Web3ChainV1").agentIdentifier,
      network: "Preprod",
      inputHash: sha256(`${nonce};{"a":1}`),
      payByTime: isoIn(chain, 5 * MINUTE),
      submitResultTime: isoIn(chain, 20 * MINUTE),
      metadata: 'payment request for: {"a":1}',
      paymentType: "Web3CardanoV1",
      identifierFromPurchaser: nonce,
    }),
  );
  expect(quote.RequestedFunds).toEqual([{ amount: "5000000", unit: "" }]);
  expectSuccess(
    await buyer.call(buys.token, "POST", "/purchase/", purchaseOf(quote, { seller }, nonce)),
  );
  const { blockchainIdentifier } = quote;
  const isAmong = ({ json }: Answer, state: string) =>
    (json.data?.payments ?? json.data?.Payments ?? []).some(
      (one: Record<string, unknown>) =>
        one.blockchainIdentifier === blockchainIdentifier && one.onChainState === state,
    );
  const list = () => seller.call(sells.token, "GET", "/payment/", { network: "Preprod" });
  await poll("n8n's payment to be locked", list, (answer) => isAmong(answer, "FundsLocked"));
  expectSuccess(
    await seller.call(sells.token, "POST", "/payment/submit-result", {
      network: "Preprod",
      blockchainIdentifier,
      submitResultHash: sha256(`${nonce};done`),
    }),
  );
  await poll("n8n's result", list, (answer) => isAmong(answer, "ResultSubmitted"));
  return blockchainIdentifier;
}

/** kodosumi: any state but the locked one aborts its job. @returns the identifier */
export async function kodosumi({ chain, seller, buyer }: Parties): Promise<string> {
  const [sells, buys] = [await seller.key(), await buyer.key()];
  const nonce = randomBytes(13).toString("hex");
  const quote = expectSuccess(
    await seller.call(sells.token, "POST", "/payment/", {
      agentIdentifier: seller.agent("Web3ChainV1").agentIdentifier,
      network: "Preprod",
      inputHash: sha256('{"prompt": "hello"}'),
      payByTime: isoIn(chain, 20 * MINUTE).replace(/\.\d{3}Z$/, ".000Z"),
      submitResultTime: isoIn(chain, 120 * MINUTE).replace(/\.\d{3}Z$/, ".000Z"),
      identifierFromPurchaser: nonce,
    }),
  );
  expect(Number.parseFloat(quote.payByTime) / 1000).toBeGreaterThan(chain.now() / 1000);
  expectSuccess(
    await buyer.call(buys.token, "POST", "/purchase/", purchaseOf(quote, { seller }, nonce)),
  );
  const { blockchainIdentifier } = quote;
  const seen = new Set<string | null>();
  await poll(
    "kodosumi's payment to be locked",
    () =>
      seller.call(sells.token, "GET", "/payment/", {
        limit: "10",
        network: "Preprod",
        includeHistory: "false",
      }),
    ({ json }) => {
      const found = json.data.Payments.find(
        (one: Record<string, unknown>) => one.blockchainIdentifier === blockchainIdentifier,
      );
      seen.add(found?.onChainState ?? null);
      return found?.onChainState === "FundsLocked";
    },
  );
  expect([...seen].filter((state) => state !== null)).toEqual(["FundsLocked"]);
  expectSuccess(
    await seller.call(sells.token, "POST", "/payment/submit-result", {
      blockchainIdentifier,
      network: "Preprod",
      submitResultHash: sha256("a result"),
    }),
  );
  return blockchainIdentifier;
}

/** The marketplace: onboards a seller, has a job quoted, buys it, and follows it until it is delivered. */
export async function marketplace(parties: Parties): Promise<string> {
  const { seller } = parties;
  const { named, sells, nonce } = await marketplaceJob(parties);
  await poll(
    "the seller's service to see the lock",
    () => seller.call(sells, "POST", "/payment/resolve-blockchain-identifier", named),
    ({ json }) => json.data.onChainState === "FundsLocked",
  );
  expectSuccess(
    await seller.call(sells, "POST", "/payment/submit-result", {
      ...named,
      submitResultHash: sha256(`${nonce};done`),
    }),
  );
  return named.blockchainIdentifier;
}

/** The marketplace's customer asks for the money back before there is a result. @returns the identifier */
export async function marketplaceRefund(parties: Parties): Promise<string> {
  const { buyer } = parties;
  const { named, buys } = await marketplaceJob(parties);
  expectSuccess(await buyer.call(buys, "POST", "/purchase/request-refund", named));
  await followedByFeed(
    buyer,
    buys,
    ({ blockchainIdentifier, onChainState, CurrentTransaction }) =>
      blockchainIdentifier === named.blockchainIdentifier &&
      onChainState === "RefundRequested" &&
      CurrentTransaction?.txHash,
  );
  return named.blockchainIdentifier;
}

/** A job of the marketplace up to its lock, with the keys of both sides. */
async function marketplaceJob({ chain, seller, buyer }: Parties) {
  const { agentIdentifier, sellerVkey, sourceId } = seller.agent("Web3ChainV2");
  const sells = await onboarded(seller);
  const nonce = randomBytes(10).toString("hex");
  const inputHash = sha256(`${nonce};{"job":1}`);
  const note = JSON.stringify({ jobId: nonce });
  const quote = expectSuccess(
    await seller.call(sells.token, "POST", "/payment", {
      network: "Preprod",
      agentIdentifier,
      inputHash,
      identifierFromPurchaser: nonce,
      metadata: note,
      paymentSourceType: "Web3CardanoV2",
      supportedPaymentSourceIndex: 0,
      payByTime: isoIn(chain, 30 * MINUTE),
      submitResultTime: isoIn(chain, 60 * MINUTE),
      unlockTime: isoIn(chain, 120 * MINUTE),
      externalDisputeUnlockTime: isoIn(chain, 240 * MINUTE),
    }),
  );
  expect(quote).toMatchObject({
    pricingType: "Fixed",
    requestedById: sells.id,
    metadata: note,
    sellerReturnAddress: null,
    forceLayer: null,
    PaymentSource: {
      id: sourceId,
      network: "Preprod",
      paymentSourceType: seller.name("Web3CardanoV2"),
    },
    SmartContractWallet: { id: sells.walletId, walletVkey: sellerVkey },
    blockchainIdentifier: expect.stringMatching(/^(?:[0-9a-f]{4})+$/),
  });
  const recovered = expectSuccess(
    await seller.call(sells.token, "GET", "/payment", {
      network: "Preprod",
      limit: "100",
      filterAgentIdentifier: agentIdentifier,
      filterPaymentSourceType: "Web3CardanoV2",
      filterSmartContractAddress: quote.PaymentSource.smartContractAddress,
      searchQuery: inputHash,
    }),
  );
  expect(recovered.Payments.map((one: Record<string, unknown>) => one.metadata)).toEqual([note]);

  const buys = await bought({ chain, seller, buyer }, quote, nonce);
  const blockchainIdentifier = String(quote.blockchainIdentifier);
  return { named: { network: "Preprod", blockchainIdentifier }, nonce, sells: sells.token, buys };
}

async function onboarded(
  seller: Service,
): Promise<{ id: string; token: string; walletId: string }> {
  const { agentIdentifier, sourceId } = seller.agent("Web3ChainV2");
  const { Wallets } = await seller.admin<{ Wallets: { id: string }[] }>(
    "GET",
    `/wallet/list?paymentSourceId=${sourceId}&walletType=Selling`,
  );
  const walletId = Wallets[0]?.id ?? "";
  const key = await seller.key({ walletLimit: [walletId] });
  const status = expectSuccess(await seller.call(key.token, "GET", "/api-key-status"));
  expect(status).toMatchObject({
    status: "Active",
    canRead: true,
    canPay: true,
    canAdmin: false,
    walletScopeEnabled: true,
    WalletScopes: [{ hotWalletId: walletId }],
  });
  const own = expectSuccess(
    await seller.call(key.token, "GET", "/wallet/list", {
      take: "100",
      paymentSourceId: sourceId,
      walletType: "Selling",
    }),
  );
  const [wallet, ...others] = own.Wallets;
  expect(wallet.id).toBe(walletId);
  expect(others).toEqual([]);
  const { PaymentSources } = expectSuccess(
    await seller.call(key.token, "GET", "/payment-source", { take: "100" }),
  );
  expect(PaymentSources.map((one: Record<string, unknown>) => one.id)).toEqual([sourceId]);
  const asset = expectSuccess(
    await seller.call(key.token, "GET", "/registry/agent-identifier", {
      agentIdentifier,
      network: "Preprod",
    }),
  );
  expect(JSON.stringify(asset)).toContain(agentIdentifier);
  const { Balance } = expectSuccess(
    await seller.call(key.token, "GET", "/balance", {
      address: wallet.walletAddress,
      network: "Preprod",
    }),
  );
  const coin = Balance.find(({ unit }: { unit: string }) => unit === seller.coin);
  expect(coin.quantity).toBeGreaterThan(0);
  return { id: key.id, token: key.token, walletId };
}

/** Buys a quote and waits for its lock by the feed. @returns the token of the key that has bought it */
async function bought(
  { seller, buyer }: Parties,
  quote: Record<string, unknown>,
  nonce: string,
): Promise<string> {
  const buys = await buyer.key();
  const source = quote.PaymentSource as { smartContractAddress: string };
  const { Rails } = expectSuccess(
    await buyer.call(buys.token, "GET", "/rail-readiness", { network: "Preprod" }),
  );
  const rail = Rails.find((one: { rail: string }) => one.rail === buyer.name("CardanoV2"));
  expect(rail.PurchaseSources).toContainEqual(
    expect.objectContaining({
      smartContractAddress: source.smartContractAddress,
      isPurchaseReady: true,
    }),
  );
  const { agentIdentifier, sellerVkey } = seller.agent("Web3ChainV2");
  const terms = {
    agentIdentifier,
    inputHash: quote.inputHash,
    blockchainIdentifier: quote.blockchainIdentifier,
    payByTime: quote.payByTime,
    submitResultTime: quote.submitResultTime,
    unlockTime: quote.unlockTime,
    externalDisputeUnlockTime: quote.externalDisputeUnlockTime,
    metadata: JSON.stringify({ inputData: { job: 1 }, jobId: nonce }),
  };
  const purchase = {
    ...terms,
    network: "Preprod",
    sellerVkey,
    identifierFromPurchaser: nonce,
    paymentSourceType: "Web3CardanoV2",
    smartContractAddress: source.smartContractAddress,
    supportedPaymentSourceIndex: 0,
    Amounts: [{ amount: "5000000", unit: "" }],
    paymentForceLayer: null,
  };
  const { id } = expectSuccess(await buyer.call(buys.token, "POST", "/purchase", purchase));
  const again = await buyer.call(buys.token, "POST", "/purchase", purchase);
  expect(again).toMatchObject({
    status: 409,
    json: { status: "error", id, object: { id, NextAction: { errorType: null } } },
  });
  const resolved = expectSuccess(
    await buyer.call(buys.token, "POST", "/purchase/resolve-blockchain-identifier", {
      blockchainIdentifier: quote.blockchainIdentifier,
      network: "Preprod",
    }),
  );
  expect(resolved).toMatchObject({
    ...terms,
    SellerWallet: { walletVkey: sellerVkey },
    PaymentSource: {
      paymentSourceType: buyer.name("Web3CardanoV2"),
      smartContractAddress: source.smartContractAddress,
    },
    PaidFunds: [{ amount: "5000000", unit: "" }],
  });
  await followedByFeed(
    buyer,
    buys.token,
    (one) => one.id === id && one.onChainState === "FundsLocked",
  );
  return buys.token;
}

/** Waits for a purchase as the marketplace does, which takes a page with impossible stamps for an error. */
async function followedByFeed(
  buyer: Service,
  token: string,
  // biome-ignore lint/suspicious/noExplicitAny: as of an answer
  isThere: (purchase: any) => boolean,
): Promise<void> {
  await poll(
    "the marketplace's purchase to move on",
    () =>
      buyer.call(token, "GET", "/purchase/diff", {
        network: "Preprod",
        lastUpdate: new Date(0).toISOString(),
        limit: "100",
      }),
    ({ json }) =>
      json.data.Purchases.some((one: Record<string, string>) => {
        const changed = Date.parse(one.nextActionOrOnChainStateOrResultLastChangedAt ?? "");
        expect(changed).toBeGreaterThanOrEqual(Date.parse(one.createdAt ?? ""));
        return isThere(one);
      }),
  );
}
