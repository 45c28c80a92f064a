import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { answerText, described, named, recordId } from "../../http/openapi/fields.ts";
import { text } from "../../http/parameters.ts";
import {
  ASSET,
  caip2,
  evmAddress,
  networkRecord,
  nullable,
  PAY_TO,
  WALLET_ID,
} from "../schemas.ts";
import { listNetworks, saveNetwork } from "./settings.ts";

const isTestnet = z.boolean();

const saveBody = z.object({
  caip2Id: caip2,
  displayName: described(
    text(120).optional(),
    "What people call it; required when the network is new.",
    "Base",
  ),
  rpcUrl: described(
    text(2000).meta({ format: "rpc-url-on-the-chain" }).optional(),
    "Its RPC node, which must be on the declared chain; required when the network is new.",
    "https://mainnet.base.org",
  ),
  isTestnet: described(isTestnet.optional(), "Whether its coins are worth nothing.", false),
  isEnabled: described(z.boolean().optional(), "Whether it is used.", true),
  defaultAsset: described(
    evmAddress.nullable().optional(),
    "Token of resources that name none; null: none.",
    ASSET,
  ),
  facilitatorWalletId: described(
    text().nullable().optional(),
    "Id of the wallet that settles; null: none.",
    WALLET_ID,
  ),
  eip6492AllowedFactories: described(
    z
      .array(described(evmAddress, "A factory.", PAY_TO))
      .max(20)
      .optional(),
    "Factories that may be called for undeployed wallets.",
  ),
});

const available = named(
  "X402AvailableNetwork",
  "An EVM chain that the API key may use.",
  z.object({
    id: recordId("the network", "01m80ydys10y2a8emavwntdfzj"),
    caip2Id: caip2,
    displayName: answerText("What people call it.", "Base"),
    isTestnet: described(isTestnet, "Whether its coins are worth nothing.", false),
    defaultAsset: nullable("Token of resources that name none; null: none.", ASSET),
    canSettle: described(z.boolean(), "Whether it has a wallet that settles.", true),
  }),
);

/** `/x402/networks` of the interface. */
export function networkRoutes(router: Router): void {
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
      data: z.object({ Networks: described(z.array(networkRecord), "The networks.") }),
    },
    async (c) => ({ Networks: await listNetworks(c.env, c.var.deadline) }),
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
        "`displayName` and `rpcUrl` are required on creation; later, omitted fields are kept and null clears.",
      body: saveBody,
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
      data: z.object({ Networks: described(z.array(available), "The networks.") }),
    },
    async (c) => {
      const limit = c.var.caller.networkLimit;
      const networks = await listNetworks(c.env, c.var.deadline);
      return {
        Networks: networks
          .filter(({ isEnabled, caip2Id }) => isEnabled && (limit?.includes(caip2Id) ?? true))
          .map(({ id, caip2Id, displayName, isTestnet, defaultAsset, ...network }) => ({
            id,
            caip2Id,
            displayName,
            isTestnet,
            defaultAsset,
            canSettle: network.facilitatorWalletAddress !== null,
          })),
      };
    },
  );
}
