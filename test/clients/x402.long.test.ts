/** Buyers and resource servers of npm, unchanged: what buyers sign, the service settles as a facilitator. */
import { existsSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { approvePermit2, dollarsOf, giveDollars, giveGas } from "../../devnet/evm/money.ts";
import { type EvmNode, startEvmNode } from "../../devnet/evm/node.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import type { Foreign } from "./folder.ts";

/** Version 1 has names for public chains only. */
const CHAIN_ID = 84_532;
const NETWORK = `eip155:${CHAIN_ID}`;
const NAME = "base-sepolia";
const PRICE = "10000";
/** What a resource server of `upto` charges. */
const CHARGE = "2500";
const FORECAST = "Rain until noon";

const packages = new URL("../../tools/x402-packages/package.json", import.meta.url);
const load: (name: string) => Foreign = createRequire(packages);
const isInstalled = existsSync(new URL("node_modules", packages));
if (!isInstalled)
  console.log("tools/x402-packages is not installed: the buyers and servers of npm are left out");

type Scheme = "exact" | "upto";
/** `permit`: Permit2, which the payer approves by a permit alone (EIP-2612). */
type Method = "eip3009" | "permit2" | "permit";
type Handler = (request: Request) => Promise<Response> | Response;
/** A resource server, which is paid at an address. */
type Seller = (payTo: string, method: Method, scheme: Scheme) => Foreign;
/** `fetch` that pays with a key. */
type Buyer = (key: `0x${string}`, fetch: typeof globalThis.fetch) => Foreign;

describe.runIf(isInstalled)("what npm has of x402", () => {
  let service: Service;
  let node: EvmNode;
  const variables = freshSecrets();
  const closers: (() => void)[] = [];

  beforeAll(async () => {
    node = await startEvmNode(CHAIN_ID);
    service = await startService({
      variables,
      isEmpty: true,
      origins: [node.url],
      log: () => {},
    });
    const access = { url: service.url, token: variables.ADMIN_KEY };
    const caip2Id = NETWORK;
    const network = { caip2Id, displayName: "Local", rpcUrl: node.url, isTestnet: true };
    await ask(access, "POST", "/x402/networks", network);
    const wallet = await ask<{ id: string; address: string }>(access, "POST", "/x402/wallets", {
      caip2Network: caip2Id,
      type: "Selling",
    });
    await giveGas(node, wallet.address);
    await ask(access, "POST", "/x402/networks", {
      caip2Id,
      facilitatorWalletId: wallet.id,
      defaultAsset: node.token,
      gasSponsoring: { maxWeiPerPayer: `${10n ** 18n}`, maxWeiPerDay: `${10n ** 19n}` },
    });
  });
  afterAll(async () => {
    for (const close of closers) close();
    await service?.close();
    await node?.close();
  });

  function facilitator() {
    const token = variables.ADMIN_KEY;
    const keys = { verify: { token }, settle: { token }, supported: { token } };
    const url = `${service.url}/api/v1/x402/facilitator`;
    return { url, createAuthHeaders: async () => keys };
  }

  const version1Routes = () => {
    const eip712 = { name: "Test Dollar", version: "1" };
    const asset = { address: node.token, decimals: 6, eip712 };
    return { "GET /forecast": { price: { amount: PRICE, asset }, network: NAME } };
  };
  const version2Routes = (payTo: string, method: Method, scheme: Scheme) => {
    const assetTransferMethod = method === "eip3009" ? method : "permit2";
    const extra = { name: "Test Dollar", version: "1", assetTransferMethod };
    const price = { amount: PRICE, asset: node.token, extra };
    const { declareEip2612GasSponsoringExtension } = load("@x402/extensions");
    const extensions = method === "permit" ? declareEip2612GasSponsoringExtension() : {};
    const accepts = { scheme, network: NETWORK, payTo, price };
    return { "GET /forecast": { accepts, extensions } };
  };
  const version2Server = () => {
    const { HTTPFacilitatorClient, x402ResourceServer } = load("@x402/core/server");
    const { ExactEvmScheme } = load("@x402/evm/exact/server");
    const { UptoEvmScheme } = load("@x402/evm/upto/server");
    const server = new x402ResourceServer(new HTTPFacilitatorClient(facilitator()));
    server.register("eip155:*", new ExactEvmScheme());
    return server.register("eip155:*", new UptoEvmScheme());
  };
  const onExpress = (middleware: Foreign, scheme: Scheme = "exact"): RequestListener => {
    const app = load("express")();
    app.get("/forecast", middleware, (_: Foreign, response: Foreign) => {
      if (scheme === "upto")
        load("@x402/express").setSettlementOverrides(response, { amount: CHARGE });
      response.send(FORECAST);
    });
    return app;
  };
  const onHono = (middleware: Foreign, scheme: Scheme = "exact"): Handler => {
    const { Hono } = load("hono");
    const app = new Hono();
    app.use("/forecast", middleware);
    app.get("/forecast", (c: Foreign) => {
      if (scheme === "upto") load("@x402/hono").setSettlementOverrides(c, { amount: CHARGE });
      return c.text(FORECAST);
    });
    return (request) => app.fetch(request);
  };

  const SELLERS: Record<string, Seller> = {
    "x402-express": (payTo) =>
      onExpress(load("x402-express").paymentMiddleware(payTo, version1Routes(), facilitator())),
    "x402-hono": (payTo) =>
      onHono(load("x402-hono").paymentMiddleware(payTo, version1Routes(), facilitator())),
    "@x402/express": (payTo, method, scheme) => {
      const { paymentMiddleware } = load("@x402/express");
      const routes = version2Routes(payTo, method, scheme);
      return onExpress(paymentMiddleware(routes, version2Server()), scheme);
    },
    "@x402/hono": (payTo, method, scheme) => {
      const { paymentMiddleware } = load("@x402/hono");
      const routes = version2Routes(payTo, method, scheme);
      return onHono(paymentMiddleware(routes, version2Server()), scheme);
    },
  };

  const BUYERS: Record<string, Buyer> = {
    "x402-fetch": async (key, fetch) => {
      const { createSigner, wrapFetchWithPayment } = load("x402-fetch");
      return wrapFetchWithPayment(fetch, await createSigner(NAME, key));
    },
    "@x402/fetch": (key, fetch) => {
      const { wrapFetchWithPayment, x402Client } = load("@x402/fetch");
      const { ExactEvmScheme } = load("@x402/evm/exact/client");
      const { ExactEvmSchemeV1 } = load("@x402/evm/exact/v1/client");
      const { UptoEvmScheme } = load("@x402/evm/upto/client");
      const account = privateKeyToAccount(key);
      const schemes = [
        { network: NETWORK, client: new ExactEvmScheme(account, { rpcUrl: node.url }) },
        { network: NETWORK, client: new UptoEvmScheme(account, { rpcUrl: node.url }) },
      ];
      const client = x402Client.fromConfig({ schemes, spendControls: false });
      client.registerV1(NAME, new ExactEvmSchemeV1(account));
      return wrapFetchWithPayment(fetch, client);
    },
  };

  /** The seller's URL, and a `fetch` that reaches it. */
  async function open(seller: Foreign, isExpress: boolean) {
    if (!isExpress)
      return {
        url: "http://seller.example.com/forecast",
        fetch: async (...request: Parameters<typeof fetch>) => seller(new Request(...request)),
      };
    const server = createServer(seller).listen(0, "127.0.0.1");
    closers.push(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/forecast`, fetch: globalThis.fetch };
  }

  it.each<[buyer: string, seller: string, version: 1 | 2, scheme: Scheme, method: Method]>([
    ["x402-fetch", "x402-express", 1, "exact", "eip3009"],
    ["x402-fetch", "x402-hono", 1, "exact", "eip3009"],
    ["@x402/fetch", "x402-express", 1, "exact", "eip3009"],
    ["@x402/fetch", "x402-hono", 1, "exact", "eip3009"],
    ["@x402/fetch", "@x402/express", 2, "exact", "eip3009"],
    ["@x402/fetch", "@x402/express", 2, "exact", "permit2"],
    ["@x402/fetch", "@x402/express", 2, "upto", "permit2"],
    ["@x402/fetch", "@x402/express", 2, "exact", "permit"],
    ["@x402/fetch", "@x402/express", 2, "upto", "permit"],
    ["@x402/fetch", "@x402/hono", 2, "exact", "eip3009"],
    ["@x402/fetch", "@x402/hono", 2, "exact", "permit2"],
    ["@x402/fetch", "@x402/hono", 2, "upto", "permit2"],
    ["@x402/fetch", "@x402/hono", 2, "exact", "permit"],
    ["@x402/fetch", "@x402/hono", 2, "upto", "permit"],
  ])(
    "%s pays %s once, in version %i with %s by %s",
    async (buyer, seller, version, scheme, method) => {
      const paid = BigInt(scheme === "upto" ? CHARGE : PRICE);
      const key = generatePrivateKey();
      const payer = privateKeyToAccount(key).address;
      const payTo = privateKeyToAccount(generatePrivateKey()).address;
      await giveDollars(node, payer, BigInt(PRICE) * 2n);
      if (method !== "permit") await giveGas(node, payer);
      if (method === "permit2") await approvePermit2(node, payer);

      const { url, fetch } = await open(
        SELLERS[seller]?.(payTo, method, scheme),
        seller.endsWith("express"),
      );
      const header = version === 1 ? "x-payment" : "payment-signature";
      let signature = "";
      const observed: typeof fetch = async (...request) => {
        signature = new Request(...request).headers.get(header) ?? signature;
        return fetch(...request);
      };
      const paying: Foreign = await BUYERS[buyer]?.(key, observed);
      const response: Response = await paying(url, { method: "GET" });
      expect(response.status, await response.clone().text()).toBe(200);
      expect(await response.text()).toBe(FORECAST);
      const settled = response.headers.get(`${version === 1 ? "x-" : ""}payment-response`) ?? "";
      expect(JSON.parse(atob(settled))).toMatchObject({
        success: true,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        network: version === 1 ? NAME : NETWORK,
        payer: payer.toLowerCase(),
      });
      expect(await dollarsOf(node, payTo)).toBe(paid);

      expect((await fetch(url, { headers: { [header]: signature } })).status).toBe(402);
      expect(await dollarsOf(node, payTo)).toBe(paid);
    },
  );

  it("@x402/extensions reads and searches the catalog of resources", async () => {
    const { HTTPFacilitatorClient } = load("@x402/core/server");
    const { declareDiscoveryExtension, withBazaar } = load("@x402/extensions/bazaar");
    const input = { city: "Vienna" };
    const inputSchema = { properties: { city: { type: "string" } } };
    const { bazaar: discovery } = declareDiscoveryExtension({ input, inputSchema });
    discovery.info.input.method ??= "GET";
    const access = { url: service.url, token: variables.ADMIN_KEY };
    const source = {
      url: "https://seller.example.com/forecast",
      description: "Weather of tomorrow",
      caip2Network: NETWORK,
      amount: PRICE,
      payTo: privateKeyToAccount(generatePrivateKey()).address,
      discovery: { ...discovery, serviceName: "Forecasts", tags: ["weather"] },
    };
    await ask(access, "POST", "/x402/payment-sources", source);
    const { url } = facilitator();
    const client = withBazaar(new HTTPFacilitatorClient({ url }));
    const entry = {
      resource: source.url,
      type: "http",
      x402Version: 2,
      accepts: [{ scheme: "exact", network: NETWORK, amount: PRICE }],
      serviceName: "Forecasts",
      extensions: { bazaar: { info: { input: { type: "http" } } } },
    };
    const listed = await client.extensions.bazaar.listResources({ type: "http", limit: 10 });
    expect(listed).toMatchObject({ items: [entry], pagination: { total: 1 } });
    const found = await client.extensions.bazaar.search({ query: "weather of tomorrow" });
    expect(found).toMatchObject({ resources: [entry] });
  });
});
