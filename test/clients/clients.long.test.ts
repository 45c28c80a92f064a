/** Clients of today, unchanged, from their copies. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import {
  buy,
  type ClientScene,
  type Quote,
  startClientScene,
  waitForAgent,
} from "./client-scene.ts";
import { type Foreign, findCopy, loadCopy } from "./folder.ts";

const NETWORK = "Preprod";
const MINUTE_MS = 60_000;
const RESULT = "5e".repeat(32);

const langdock = findCopy("langdock-masumi-wrapper", "src/services/masumiPayment.ts", "langdock");
const n8n = findCopy("n8n-nodes-masumi-payment", "nodes/MasumiPaywall/create-payment.ts", "n8n");
const pip = findCopy("pip-masumi", "masumi/payment.py", "pip-masumi");
const sokosumi = findCopy("pi-sokosumi", "src/masumi/masumiPaymentClient.ts", "pi-sokosumi");
const saas = findCopy("masumi-saas", "apps/web/src/lib/payment-node/client.ts", "masumi-saas");
const peer = findCopy(
  "masumi-payment-service",
  "src/routes/api/registry/wallet/index.ts",
  "the peer's reader of agents",
);
const registry = findCopy(
  "masumi-registry-service",
  "src/services/cardano-registry/web3-cardano-v2-metadata.ts",
  "the registry service's reader of agents",
);

const beside = (path: string | null, name: string) =>
  loadCopy((path ?? "").replace(/[^/]+$/, name));
const at = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS);

describe.runIf([langdock, n8n, pip, sokosumi, saas, peer, registry].some(Boolean))(
  "a client",
  () => {
    let scene: ClientScene;
    let api: string;
    beforeAll(async () => {
      scene = await startClientScene();
      api = `${scene.access.url}/api/v1`;
    });
    afterAll(() => scene?.close());

    const stateOf = (blockchainIdentifier: string, state: string) =>
      until(
        async () => {
          const body = { network: NETWORK, blockchainIdentifier };
          const path = "/payment/resolve-blockchain-identifier";
          const found = await ask<{ onChainState: string }>(scene.access, "POST", path, body);
          return found.onChainState === state;
        },
        { what: `a payment that is ${state}`, everyMs: 500 },
      );

    it.runIf(langdock)("langdock registers an agent, sells a job and delivers", async () => {
      const { MasumiPaymentClient, paymentIsLocked } = await loadCopy(langdock);
      const { token } = scene.access;
      const config = { baseUrl: api, apiKey: token, authHeader: "token", network: NETWORK };
      const client = new MasumiPaymentClient(config);
      const { seller } = scene.parties.Web3ChainV1;
      const registered = await client.registerAgent({
        network: NETWORK,
        sellingWalletVkey: seller.vkey,
        name: "Of langdock",
        description: "An agent",
        apiBaseUrl: "https://agent.example.com",
        capabilityName: "advice",
        capabilityVersion: "1.0.0",
        authorName: "An author",
        tags: ["text"],
        pricing: [{ unit: "lovelace", amount: "5000000" }],
      });
      const agentIdentifier = await waitForAgent(scene.access, registered.data.id);
      const listed: Foreign[] = await client.listRegistry();
      expect(listed.map((one) => one.agentIdentifier)).toContain(agentIdentifier);
      const identifierFromPurchaser = randomBytes(10).toString("hex");
      const seconds = (minutes: number) => Math.floor(at(minutes).getTime() / 1000);
      const sale = await client.registerSale({
        agentIdentifier,
        inputHash: randomBytes(32).toString("hex"),
        identifierFromPurchaser,
        payByTime: seconds(20),
        submitResultTime: seconds(40),
        unlockTime: seconds(60),
        externalDisputeUnlockTime: seconds(80),
      });
      const { blockchainIdentifier } = sale;
      expect((await client.getPaymentStatus(blockchainIdentifier)).onChainState).toBe(null);
      await buy(scene.access, sale.raw, {
        agentIdentifier,
        identifierFromPurchaser,
        sellerVkey: seller.vkey,
      });
      const { onChainState } = await client.getPaymentStatus(blockchainIdentifier);
      expect(paymentIsLocked(onChainState)).toBe(true);
      await client.submitResult({ blockchainIdentifier, submitResultHash: RESULT });
      await stateOf(blockchainIdentifier, "ResultSubmitted");
    });

    it.runIf(n8n)("n8n's functions sell and buy a job", async () => {
      const { createPayment, preparePaymentData } = await loadCopy(n8n);
      const { createPurchase } = await beside(n8n, "create-purchase.ts");
      const { pollPaymentStatus, interpretPaymentStatus } = await beside(
        n8n,
        "check-payment-status.ts",
      );
      const config = {
        paymentServiceUrl: api,
        apiKey: scene.access.token,
        agentIdentifier: scene.fixed,
        network: NETWORK,
        sellerVkey: scene.parties.Web3ChainV1.seller.vkey,
      };
      const data = preparePaymentData({ text: "Guten Tag" });
      const payment = await createPayment(config, data);
      const purchase = await createPurchase(config, payment, data.identifierFromPurchaser);
      expect(purchase.data.NextAction.requestedAction).toBe("FundsLockingRequested");
      const { blockchainIdentifier } = payment.data;
      await stateOf(blockchainIdentifier, "FundsLocked");
      const polled = await pollPaymentStatus(config, blockchainIdentifier, {
        timeoutMinutes: 0.1,
        intervalSeconds: 1,
      });
      expect(polled).toMatchObject({ success: true, status: "FundsLocked" });
      expect(interpretPaymentStatus(polled.payment).isConfirmed).toBe(true);
    });

    it.runIf(pip)(
      "pip-masumi sells a job, buys it, delivers and asks for the money back",
      async () => {
        const script = fileURLToPath(new URL("python/trade.py", import.meta.url));
        const { seller } = scene.parties.Web3ChainV1;
        const copy = (pip ?? "").replace(/\/masumi\/payment\.py$/, "");
        const args = [script, copy, api, scene.access.token, scene.fixed, seller.vkey];
        const { stdout } = await promisify(execFile)("python3", args);
        expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
          bought: "FundsLockingRequested",
          delivered: "SubmitResultRequested",
          refund: "SetRefundRequestedRequested",
        });
      },
    );

    it.runIf(sokosumi)("pi-sokosumi sells a job of a dynamic price and delivers", async () => {
      const { createMasumiPaymentClient } = await loadCopy(sokosumi);
      const client = createMasumiPaymentClient({
        apiUrl: api,
        apiToken: scene.access.token,
        agentIdentifier: scene.dynamic,
        paymentUnit: "lovelace",
      });
      const payment: Quote & Foreign = await client.createPayment({
        taskId: "a task",
        costCents: 500,
      });
      const listed = await client.listPayments({ includeHistory: true });
      const found = listed.Payments.find(
        (one: Quote) => one.blockchainIdentifier === payment.blockchainIdentifier,
      );
      expect(found).toBeDefined();
      await buy(scene.access, payment, {
        agentIdentifier: scene.dynamic,
        identifierFromPurchaser: payment.requestBody.identifierFromPurchaser,
        sellerVkey: scene.parties.Web3ChainV1.otherSeller.vkey,
        Amounts: payment.requestBody.RequestedFunds,
      });
      const { blockchainIdentifier } = payment;
      await client.submitResult({ blockchainIdentifier, submitResultHash: RESULT });
      await stateOf(blockchainIdentifier, "ResultSubmitted");
    });

    it.runIf(peer)(
      "the peer's reader prices an agent of Web3CardanoV2 that was minted here",
      async () => {
        const { metadataSchema, resolveAgentPricingFromMetadata } = await loadCopy(peer);
        const { parseSupportedPaymentSourcesFromMetadata } = await loadCopy(
          (peer ?? "").replace(/src\/routes.*/, "src/types/payment-source.ts"),
        );
        const metadata = await readMetadata(scene.onV2);
        const read = metadataSchema.safeParse(metadata);
        expect(read.error).toBeUndefined();
        const amounts = [{ amount: 5_000_000n, unit: "" }];
        expect(resolveAgentPricingFromMetadata(read.data, 0)).toEqual({
          pricingType: "Fixed",
          fixedPricing: amounts,
        });
        expect(
          parseSupportedPaymentSourcesFromMetadata(read.data.supported_payment_sources),
        ).toMatchObject([
          {
            chain: "Cardano",
            paymentSourceType: "Web3CardanoV2",
            pricing: { pricingType: "Fixed", fixed: [{ asset: "", amount: "5000000" }] },
          },
        ]);
      },
    );

    it.runIf(registry)("the registry service's reader accepts the same agent", async () => {
      const reader = await loadCopy(registry);
      const read = reader.web3CardanoV2MetadataSchema.safeParse(await readMetadata(scene.onV2));
      expect(read.error).toBeUndefined();
      const rows = reader.buildV2SupportedPaymentSourceRows(read.data);
      expect(rows).toMatchObject([{ chain: "Cardano", paymentSourceType: "Web3CardanoV2" }]);
      const { pricingType, FixedPricing } = reader.resolveV2AgentPricingCreate(read.data);
      expect(pricingType).toBe("Fixed");
      const prices = FixedPricing.create.Amounts.createMany.data;
      expect(prices).toEqual([{ amount: 5_000_000n, unit: "" }]);
    });

    /** The metadata of an agent, as a provider shows it. */
    async function readMetadata(agentIdentifier: string): Promise<object> {
      const response = await fetch(`${scene.service.provider}/assets/${agentIdentifier}`, {
        headers: { project_id: "local-chain" },
      });
      return ((await response.json()) as { onchain_metadata: object }).onchain_metadata;
    }

    it.runIf(saas)("the SaaS client reads each answer of its calls", async () => {
      const { createPaymentNodeClient } = await loadCopy(saas);
      const client = createPaymentNodeClient(api, scene.access.token);
      const { calls, failures, call } = recorder(client);
      const { seller, otherSeller } = scene.parties.Web3ChainV1;
      const network = NETWORK;

      const { PaymentSources = [] } = (await call("getPaymentSources", { take: 10 })) ?? {};
      const list = await call("getWalletList", { take: 50, walletType: "Selling" });
      const wallet = list?.Wallets.find((one: Foreign) => one.walletVkey === seller.vkey);
      await call("getWalletStatus", { walletType: "Selling", id: wallet?.id });
      await call("getUtxos", { address: seller.address, network, count: 5, page: 1 });
      const generated = await call("generateWallet", network);
      await call("addWalletsToPaymentSource", {
        paymentSourceId: wallet?.paymentSourceId ?? PaymentSources[0]?.id,
        AddSellingWallets: [
          { walletMnemonic: generated?.walletMnemonic, note: "New", collectionAddress: null },
        ],
      });
      const key = await call("createApiKey", {
        permission: "ReadAndPay",
        NetworkLimit: [network],
        usageLimited: "false",
        UsageCredits: [],
        walletScopeEnabled: "true",
        WalletScopeHotWalletIds: [wallet?.id],
      });
      await call("updateApiKey", { id: key?.id, walletScopeEnabled: false, status: "Active" });
      await call("getApiKeyStatus");

      const describe = (name: string) => ({
        network,
        sellingWalletVkey: otherSeller.vkey,
        name,
        apiBaseUrl: "https://agent.example.com",
        description: "An agent",
        Tags: ["text"],
        ExampleOutputs: [],
        Capability: { name: "advice", version: "1.0.0" },
        Author: { name: "An author" },
      });
      const agent = await call("registerAgent", {
        ...describe("Fixed"),
        AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
      });
      await call("registerAgent", { ...describe("Free"), AgentPricing: { pricingType: "Free" } });
      const inbox = await call("registerInboxAgent", {
        ...{ network, sellingWalletVkey: otherSeller.vkey },
        ...{ name: "Inbox", agentSlug: "saas-inbox", sendFundingLovelace: "5000000" },
      });
      await call("getRegistry", { network });
      await call("getRegistryInbox", { network, limit: 10, filterStatus: "Pending" });
      const agentIdentifier = await waitForAgent(scene.access, agent?.id);
      await call("getRegistryById", { network, id: agent?.id });
      // The method reads a registration, and the peer answers the token's metadata, as its document says: the
      // method fails against the peer too (`peer-service.long.test.ts`).
      calls.add("getRegistryByAgentIdentifier");
      await expect(
        client.getRegistryByAgentIdentifier({ network, agentIdentifier }),
      ).rejects.toThrow(/invalid_type/);
      await call("getRegisteredAgentsByWallet", { network, walletVkey: otherSeller.vkey });
      const inboxAgent = await until(
        async () => {
          const found = await client.getRegistryInboxById({ network, id: inbox?.id });
          return found?.state === "RegistrationConfirmed" && found;
        },
        { what: "the inbox agent", everyMs: 500 },
      );
      await call("getRegistryInboxById", { network, id: inbox?.id });
      const named = { network, agentIdentifier: inboxAgent.agentIdentifier };
      await call("getRegistryInboxByAgentIdentifier", named);
      await call("getInboxAgentsByWallet", { network, walletVkey: otherSeller.vkey });
      await call("listRegistryInboxDiff", { network, lastUpdate: new Date(0).toISOString() });
      await call("getRegistryInboxCount", { network });

      const payment = await call("createPayment", {
        network,
        agentIdentifier,
        inputHash: randomBytes(32).toString("hex"),
        identifierFromPurchaser: randomBytes(10).toString("hex"),
        payByTime: at(20).toISOString(),
        submitResultTime: at(40).toISOString(),
        unlockTime: at(60).toISOString(),
        externalDisputeUnlockTime: at(80).toISOString(),
      });
      await call("resolvePaymentByBlockchainIdentifier", {
        network,
        blockchainIdentifier: payment?.blockchainIdentifier,
        includeHistory: true,
      });
      const { locked } = scene.escrows;
      await call("submitPaymentResult", {
        network,
        blockchainIdentifier: locked.identifier,
        submitResultHash: RESULT,
      });
      const page = { network, limit: 10, includeHistory: true };
      const since = { ...page, lastUpdate: new Date(0).toISOString() };
      await call("listPayments", page);
      await call("listPayments", { ...page, filterOnChainState: "FundsLocked", searchQuery: "a" });
      await call("listPaymentDiff", since);
      await call("listPurchases", page);
      await call("listPurchaseDiff", since);
      await call("getPaymentIncome", { network, startDate: "2026-01-01", endDate: "2026-12-31" });

      await call("deregisterAgent", { network, agentIdentifier });
      await call("deregisterInboxAgent", named);
      const gone = async (path: string, id: string) =>
        until(
          async () => {
            const { Assets } = await ask<{ Assets: { id: string; state: string }[] }>(
              scene.access,
              "GET",
              `${path}?network=Preprod&limit=100`,
            );
            return Assets.find((one) => one.id === id)?.state === "DeregistrationConfirmed";
          },
          { what: `${path} ${id} deregistered`, everyMs: 500 },
        );
      await gone("/registry", agent?.id);
      await gone("/inbox-agents", inbox?.id);
      await call("deleteRegistryEntry", agent?.id);
      await call("deleteRegistryInboxEntry", inbox?.id);
      expect(failures).toEqual([]);
      expect(Object.keys(client).filter((name) => !calls.has(name))).toEqual([]);
    });
  },
);

/** Calls methods of a client by name, and remembers which fail. */
function recorder(client: Record<string, (body?: unknown) => Promise<unknown>>) {
  const calls = new Set<string>();
  const failures: string[] = [];
  const call = async (name: string, body?: unknown): Promise<Foreign> => {
    calls.add(name);
    try {
      return await client[name]?.(body);
    } catch (error) {
      failures.push(`${name}: ${error}`);
      return undefined;
    }
  };
  return { calls, failures, call };
}
