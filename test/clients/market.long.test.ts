/** The checks by which the marketplace accepts a seller and buys from it, from its files. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { type ClientScene, createPayingKey, startClientScene } from "./client-scene.ts";
import { accept, type Foreign, findCopy, loadCopy } from "./folder.ts";

const NETWORK = "Preprod";
const MINUTE_MS = 60_000;
const CLIENTS = "packages/masumi/src/clients";
const PRICE = [{ unit: "lovelace", amount: "5000000" }];

const sellerFile = findCopy(
  "sokosumi",
  `${CLIENTS}/masumi-seller.client.ts`,
  "the marketplace's check of sellers",
);
const buyerFile = findCopy(
  "sokosumi",
  `${CLIENTS}/masumi-payment.client.ts`,
  "the marketplace's buyer",
);
const registryFile = findCopy(
  "sokosumi",
  `${CLIENTS}/masumi-registry.client.ts`,
  "the marketplace's reader of the registry",
);
describe.runIf([sellerFile, buyerFile, registryFile].some(Boolean))("the marketplace", () => {
  let scene: ClientScene;
  let api: string;
  beforeAll(async () => {
    scene = await startClientScene();
    api = `${scene.access.url}/api/v1`;
    // The copies log each request.
    vi.spyOn(console, "info").mockReturnValue();
    vi.spyOn(console, "error").mockReturnValue();
    await ask(scene.access, "POST", "/registry-source", {
      network: NETWORK,
      policyId: contractOf("Web3ChainV2").policy.hash,
      note: "Web3CardanoV2",
      rpcProviderApiKey: "local-chain",
    });
    await Promise.all([scene.fixed, scene.dynamic, scene.onV2].map(isListed));
  });
  afterAll(() => scene?.close());

  /** Waits until the registry service's part lists an agent. */
  const isListed = (agentIdentifier: string) =>
    until(
      async () => {
        const path = `/payment-information?agentIdentifier=${agentIdentifier}`;
        const { token } = scene.access;
        return (await fetch(`${api}${path}`, { headers: { token } })).ok;
      },
      { what: `the agent ${agentIdentifier} in the registry`, everyMs: 500 },
    );

  const createKey = (more: object) => createPayingKey(scene.access, more);

  /** A seller's key for one wallet, and the marketplace's client with it. */
  async function bind(
    type: PaymentSourceType,
    agentIdentifier: string,
    { role = "seller", token }: { role?: "seller" | "otherSeller"; token?: string } = {},
  ) {
    const { createMpsSellerClient } = await loadCopy(sellerFile);
    const seller = scene.parties[type][role];
    const { Wallets } = await ask<{ Wallets: Foreign[] }>(
      scene.access,
      "GET",
      "/wallet/list?take=100&walletType=Selling",
    );
    const { PaymentSources } = await ask<{ PaymentSources: Foreign[] }>(
      scene.access,
      "GET",
      "/payment-source?take=100",
    );
    const source = PaymentSources.find(
      ({ network, smartContractAddress }) =>
        network === NETWORK && smartContractAddress === contractOf(type).address,
    );
    const wallet = Wallets.find(
      ({ walletVkey, paymentSourceId }) =>
        walletVkey === seller.vkey && paymentSourceId === source.id,
    );
    const key = await createKey({
      walletScopeEnabled: true,
      WalletScopeHotWalletIds: [wallet.id],
    });
    const apiUrl = api.replace("http:", "https:");
    const trusted = { apiUrl, apiKey: scene.access.token };
    const client = createMpsSellerClient(
      { apiUrl, apiKey: token ?? key.token, network: NETWORK },
      trusted,
      trusted,
    );
    const selection = { agentIdentifier, walletId: wallet.id, paymentSourceId: source.id };
    return { client, selection, wallet };
  }

  const quoteTimes = () => {
    const at = (minutes: number) => String(Date.now() + minutes * MINUTE_MS);
    return {
      payByTime: at(20),
      submitResultTime: at(40),
      unlockTime: at(60),
      externalDisputeUnlockTime: at(80),
    };
  };

  /** A quote that the marketplace has the seller make, after its check. */
  async function quote(type: PaymentSourceType, agentIdentifier: string) {
    const { client, selection } = await bind(type, agentIdentifier);
    const seller = accept(await client.verifySeller(selection));
    const { supportedPaymentSourceIndex } = seller;
    const input = {
      ...selection,
      ...quoteTimes(),
      sellerVkey: seller.sellerVkey,
      inputHash: randomBytes(32).toString("hex"),
      identifierFromPurchaser: randomBytes(10).toString("hex"),
      metadata: JSON.stringify({ job: randomBytes(4).toString("hex") }),
      sellerReturnAddress: seller.collectionAddress,
      paymentSourceType: seller.paymentSourceType,
      smartContractAddress: seller.smartContractAddress,
      ...(supportedPaymentSourceIndex !== undefined && { supportedPaymentSourceIndex }),
      amounts: seller.amounts,
    };
    expect((await client.recoverQuote(input)).error?.kind).toBe("not_found");
    const made = accept(await client.createQuote(input));
    expect(accept(await client.recoverQuote(input))).toEqual(made);
    return { seller, made, metadata: input.metadata };
  }

  const agents = () => [
    ["Web3ChainV1", "Web3CardanoV1", scene.fixed] as const,
    ["Web3ChainV2", "Web3CardanoV2", scene.onV2] as const,
  ];

  it.runIf(sellerFile)("accepts a seller of each contract", async () => {
    for (const [type, name, agentIdentifier] of agents()) {
      const { client, selection, wallet } = await bind(type, agentIdentifier);
      const seller = accept(await client.verifySeller(selection));
      expect(seller).toMatchObject({
        ...selection,
        paymentSourceType: name,
        smartContractAddress: contractOf(type).address,
        sellerVkey: wallet.walletVkey,
        walletAddress: wallet.walletAddress,
        amounts: PRICE,
      });
      expect(seller.supportedPaymentSourceIndex).toBe(type === "Web3ChainV2" ? 0 : undefined);
    }
  });

  it.runIf(sellerFile)("refuses a seller for the reason that it has", async () => {
    const reasonOf = async (...seller: Parameters<typeof bind>) => {
      const { client, selection } = await bind(...seller);
      return (await client.verifySeller(selection)).error?.code;
    };
    const { fixed, dynamic, access } = scene;
    expect(await reasonOf("Web3ChainV1", fixed, { token: access.token })).toBe("permission_denied");
    expect(await reasonOf("Web3ChainV1", dynamic)).toBe("identity_mismatch");
    const dynamicPrice = await reasonOf("Web3ChainV1", dynamic, { role: "otherSeller" });
    expect(dynamicPrice).toBe("unsupported_pricing");
  });

  it.runIf(sellerFile && buyerFile)("buys a quote of each contract, once, and asks", async () => {
    const { createPaymentClient } = await loadCopy(buyerFile);
    const client = createPaymentClient(NETWORK, api, (await createKey({})).token);
    const orders: string[] = [];
    for (const [type, , agentIdentifier] of agents()) {
      const { made, metadata } = await quote(type, agentIdentifier);
      const { paymentId: _, ...order } = { ...made, metadata };
      expect((await client.resolveMasumiTaskPaymentPurchase(order)).error.kind).toBe("not_found");
      const bought = accept(await client.createPurchaseFromMasumiTaskPayment(order));
      const again = accept(await client.createPurchaseFromMasumiTaskPayment(order));
      expect(again.id).toBe(bought.id);
      expect(accept(await client.resolveMasumiTaskPaymentPurchase(order)).id).toBe(bought.id);
      const { blockchainIdentifier } = made;
      const found = await until(
        async () => {
          const one = accept(await client.getPurchaseByBlockchainIdentifier(blockchainIdentifier));
          return one.onChainState === "FundsLocked" && one;
        },
        { what: `the locked funds on ${type}`, everyMs: 500 },
      );
      expect(found).toMatchObject({ id: bought.id, inputHash: made.inputHash, metadata });
      accept(await client.requestRefund(blockchainIdentifier));
      orders.push(bought.id);
    }
    const changed = accept(await client.getPurchasesDiff(new Date(0), null, 100));
    expect(changed.map(({ id }: Foreign) => id)).toEqual(expect.arrayContaining(orders));
  });

  it.runIf(sellerFile && buyerFile)("buys what an agent's start of a job quotes", async () => {
    const { createPaymentClient } = await loadCopy(buyerFile);
    const client = createPaymentClient(NETWORK, api, (await createKey({})).token);
    const { made } = await quote("Web3ChainV1", scene.fixed);
    const { agentIdentifier, identifierFromPurchaser } = made;
    const started = {
      ...made,
      id: "job-1",
      input_hash: made.inputHash,
      sellerVKey: made.sellerVkey,
    };
    const order = (text: string, amounts = made.Amounts) =>
      client.createPurchase(agentIdentifier, started, { text }, identifierFromPurchaser, amounts);
    const dearer = [{ unit: "lovelace", amount: "6000000" }];
    expect((await order("Guten Tag", dearer)).error).toMatchObject({
      kind: "permanent",
      status: 400,
    });
    expect(accept(await order("Guten Tag")).metadata).toBe(
      JSON.stringify({ inputData: { text: "Guten Tag" }, jobId: "job-1" }),
    );
    expect((await order("Gute Nacht")).error.message).toBe(
      "Duplicate purchase does not match request",
    );
  });

  it.runIf(buyerFile)("finds the contract of Web3CardanoV2 ready to buy on", async () => {
    const { createPaymentClient } = await loadCopy(buyerFile);
    const client = createPaymentClient(NETWORK, api, (await createKey({})).token);
    const ready = accept(await client.getCardanoV2RailReadiness());
    expect(ready).toEqual([
      {
        policyId: scene.onV2.slice(0, 56),
        smartContractAddress: contractOf("Web3ChainV2").address,
      },
    ]);
  });

  it.runIf(registryFile)("reads the changes of the registry", async () => {
    const { createRegistryClient } = await loadCopy(registryFile);
    const client = createRegistryClient(NETWORK, api, (await createKey({})).token);
    const entries = accept(await client.getAgentsDiff(new Date(0), null));
    const found = entries.map(({ agentIdentifier }: Foreign) => agentIdentifier);
    expect(found).toEqual(expect.arrayContaining([scene.fixed, scene.onV2]));
  });
});
