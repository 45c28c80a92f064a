/** The checks by which the marketplace accepts a seller, buys from it and pays over x402, from its files. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { createPayer } from "../../devnet/demo/x402/buyer.ts";
import { NETWORK as EVM_NETWORK } from "../../devnet/demo/x402/rail.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { type ClientScene, startClientScene } from "./client-scene.ts";
import { type Foreign, findCopy, loadCopy } from "./folder.ts";

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
const x402File = findCopy(
  "sokosumi",
  `${CLIENTS}/masumi-payment-x402.ts`,
  "the marketplace's buyer over x402",
);

/** What a copy's call found. @throws with the copy's reason when it refuses. */
function accept(result: Foreign): Foreign {
  if (result.isErr()) throw new Error(`the marketplace refuses: ${JSON.stringify(result.error)}`);
  return result.value;
}

describe.runIf([sellerFile, buyerFile, registryFile, x402File].some(Boolean))(
  "the marketplace",
  () => {
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

    const createKey = (more: object) =>
      ask<{ id: string; token: string }>(scene.access, "POST", "/api-key", {
        permission: "ReadAndPay",
        NetworkLimit: [NETWORK],
        UsageCredits: [],
        usageLimited: "false",
        ...more,
      });

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
      expect(await reasonOf("Web3ChainV1", fixed, { token: access.token })).toBe(
        "permission_denied",
      );
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
            const one = accept(
              await client.getPurchaseByBlockchainIdentifier(blockchainIdentifier),
            );
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

    it.runIf(x402File)("finds a network, its own budget, a funded wallet, and pays", async () => {
      const { createX402PaymentMethods } = await loadCopy(x402File);
      const { createClient } = await import("./market-stand-ins.ts");
      const { node, resource } = scene.x402;
      const { evmWalletId } = await createPayer(scene.access, node);
      const key = await createKey({ permission: "Admin" });
      const asset = node.token.toLowerCase();
      await ask(scene.access, "POST", "/x402/budgets", {
        ...{ apiKeyId: key.id, evmWalletId, caip2Network: EVM_NETWORK, asset: node.token },
        remainingAmount: "15000",
      });
      const connect = (token: string) =>
        createX402PaymentMethods(() => createClient({ baseUrl: api, headers: { token } }), NETWORK);
      const client = connect(key.token);

      const networks = accept(await client.getX402AvailableNetworks());
      expect(networks).toMatchObject([
        { caip2Id: EVM_NETWORK, isEnabled: true, isTestnet: true, defaultAssetDecimals: 6 },
      ]);
      expect(networks[0].defaultAsset.toLowerCase()).toBe(asset);
      expect(accept(await client.getX402KeySpendCaps()).usageLimited).toBe(false);
      const budgets = accept(await client.getX402Budgets());
      expect(budgets).toMatchObject([
        { apiKeyId: key.id, evmWalletId, caip2Network: EVM_NETWORK, remainingAmount: "15000" },
      ]);
      const wallets = accept(await client.getX402AdminPurchasingWallets());
      const wallet = wallets.find(({ id }: Foreign) => id === evmWalletId);
      expect(wallet).toMatchObject({ networkId: networks[0].id, caip2Network: EVM_NETWORK });
      expect(budgets[0].evmWalletAddress).toBe(wallet.address);
      const [balance, ...others] = accept(
        await client.getX402WalletBalances({
          evmWalletId,
          evmWalletAddress: wallet.address,
          caip2Network: wallet.caip2Network,
        }),
      );
      expect(others).toEqual([]);
      expect(BigInt(balance.native.amount)).toBeGreaterThan(0n);
      expect(balance.asset).toMatchObject({ decimals: 6, amount: "10000000" });
      expect(balance.asset.asset.toLowerCase()).toBe(asset);

      const terms = (await fetch(resource.url)).headers.get("payment-required") ?? "";
      const order = {
        evmWalletId,
        paymentRequired: JSON.parse(Buffer.from(terms, "base64").toString()),
        preferredNetwork: EVM_NETWORK,
        preferredAsset: asset,
      };
      const signed = accept(await client.payX402(order));
      expect(signed.payer.toLowerCase()).toBe(wallet.address.toLowerCase());
      const paid = await fetch(resource.url, {
        headers: { "payment-signature": signed.xPaymentHeader },
      });
      expect(paid.status).toBe(200);
      expect(accept(await client.getX402Budgets())[0].remainingAmount).toBe("5000");
      expect((await client.payX402(order)).error).toMatchObject({ kind: "refused", status: 402 });

      const limited = await createKey({ usageLimited: "true", ChainIdLimit: [EVM_NETWORK] });
      await ask(scene.access, "POST", "/x402/budgets", {
        ...{ apiKeyId: limited.id, evmWalletId, caip2Network: EVM_NETWORK, asset: node.token },
        remainingAmount: "4000",
      });
      expect(accept(await connect(limited.token).getX402KeySpendCaps())).toEqual({
        usageLimited: true,
        creditsByUnit: new Map([[`${EVM_NETWORK}:${asset}`, 4000n]]),
        grandfatheredUncapped: false,
      });

      const stranger = connect((await createKey({ ChainIdLimit: [EVM_NETWORK] })).token);
      expect(accept(await stranger.getX402AdminPurchasingWallets())).toEqual([]);
    });
  },
);
