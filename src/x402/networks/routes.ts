import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, idField, named, textField } from "../../http/openapi/fields.ts";
import { booleanFilter, textParameter } from "../../http/openapi/parameters.ts";
import {
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_PAY_TO,
  EXAMPLE_WALLET_ID,
  evmAddress,
  nullableText,
} from "../model/schemas.ts";
import { gasSponsoring } from "./gas-sponsoring.ts";
import { canSettle, defaultAssetDecimals, networkRecord } from "./network-record.ts";
import { listNetworks, saveNetwork } from "./save-network.ts";

const isTestnet = z.boolean();

const saveNetworkBody = z.object({
  caip2Id: caip2,
  displayName: described(
    textParameter(120).optional(),
    "Display name. Required for a new network.",
    "Base",
  ),
  rpcUrl: described(
    textParameter(2000).meta({ format: "rpc-url-on-the-chain" }).optional(),
    "URL of an RPC node on the declared chain. Required for a new network.",
    "https://mainnet.base.org",
  ),
  isTestnet: described(isTestnet.optional(), "Whether the chain is a testnet.", false),
  isEnabled: described(z.boolean().optional(), "Whether the network is enabled.", true),
  defaultAsset: described(
    evmAddress.nullable().optional(),
    "Default token of new resources. Null: none.",
    EXAMPLE_ASSET,
  ),
  defaultAssetDecimals: described(
    z.int().min(0).max(255).nullable().optional(),
    "Decimals of the default token, as a check. The service reads them from the contract.",
    6,
  ),
  facilitatorWalletId: described(
    textParameter().nullable().optional(),
    "Id of the first facilitator wallet. Null: none, so nothing settles. Alone, it keeps the other wallets.",
    EXAMPLE_WALLET_ID,
  ),
  facilitatorWalletIds: described(
    z
      .array(described(textParameter(), "Id of a wallet.", EXAMPLE_WALLET_ID))
      .max(32)
      .optional(),
    "Ids of all wallets that settle, the first facilitator wallet first. A wallet that is left out settles what it has begun, and nothing new.",
  ),
  facilitatorUrl: described(
    textParameter(2000).meta({ format: "public-https-base-url" }).nullable().optional(),
    "Base URL of another x402 facilitator, which settles in place of wallets. Setting a facilitator clears the wallets, and the reverse. Null: none.",
    "https://facilitator.example.com",
  ),
  facilitatorAuth: described(
    textParameter(2000, 8)
      .regex(/^[!-~]([ -~]*[!-~])?$/, "must be printable ASCII")
      .nullable()
      .optional(),
    "Header `Authorization` for `facilitatorUrl`. A URL of another origin drops the stored header. Null: none.",
    "Bearer 4f7a4f7a4f7a",
  ),
  eip6492AllowedFactories: described(
    z
      .array(described(evmAddress, "Address of a factory.", EXAMPLE_PAY_TO))
      .max(20)
      .optional(),
    "ERC-6492 factories that the service may call for undeployed wallets.",
  ),
  gasSponsoring: described(
    gasSponsoring.nullable().optional(),
    "Gas for payments that approve Permit2 by a permit. Null: none, as by default.",
  ),
});

const networkQuery = z.object({
  isTestnet: described(booleanFilter(), "Only testnets (`true`), or only other chains (`false`)."),
});

const availableNetwork = named(
  "X402AvailableNetwork",
  "An EVM chain that the API key may use.",
  z.object({
    id: idField("the network", "01m80ydys10y2a8emavwntdfzj"),
    caip2Id: caip2,
    displayName: textField("Display name.", "Base"),
    isTestnet: described(isTestnet, "Whether the chain is a testnet.", false),
    defaultAsset: nullableText("Default token of new resources. Null: none.", EXAMPLE_ASSET),
    defaultAssetDecimals,
    canSettle,
  }),
);

/** `/x402/networks` of the interface. */
export function registerNetworkRoutes(router: Router): void {
  serve(
    router,
    {
      method: "get",
      operationId: "listX402Networks",
      isConditional: true,
      path: "/x402/networks",
      access: "Admin",
      scope: "admin",
      tag: "x402",
      summary: "Lists the EVM chains configured for the x402 rail",
      query: networkQuery,
      data: z.object({ Networks: described(z.array(networkRecord), "The networks.") }),
    },
    async (c, { query }) => ({ Networks: await listNetworks(c.env, c.var.deadline, query) }),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "saveX402Network",
      path: "/x402/networks",
      access: "Admin",
      scope: "admin",
      tag: "x402",
      summary: "Creates or updates an EVM chain configuration, keyed by its CAIP-2 id",
      description:
        "A new network requires `displayName` and `rpcUrl`. An update keeps omitted fields, and null clears a field.",
      body: saveNetworkBody,
      data: networkRecord,
      idempotent: true,
      errors: {
        404: "There is no such facilitator wallet.",
        502: "The RPC node failed.",
        504: "The RPC node did not answer in time.",
      },
    },
    (c, { body }) => saveNetwork(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "listAvailableX402Networks",
      isConditional: true,
      path: "/x402/networks/available",
      access: "+PAY",
      scope: "network",
      tag: "x402",
      summary: "Lists the enabled EVM chains that the key may use",
      query: networkQuery,
      data: z.object({ Networks: described(z.array(availableNetwork), "The networks.") }),
    },
    async (c, { query }) => {
      const limit = c.var.caller.networkLimit;
      const networks = await listNetworks(c.env, c.var.deadline, query);
      return {
        Networks: networks
          .filter(({ isEnabled, caip2Id }) => isEnabled && (limit?.includes(caip2Id) ?? true))
          .map((network) => ({
            id: network.id,
            caip2Id: network.caip2Id,
            displayName: network.displayName,
            isTestnet: network.isTestnet,
            defaultAsset: network.defaultAsset,
            defaultAssetDecimals: network.defaultAssetDecimals,
            canSettle: network.canSettle,
          })),
      };
    },
  );
}
