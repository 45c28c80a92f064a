import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import { ADMIN_RULES, NODE_ERRORS } from "../model/endpoint-rules.ts";
import { listNetworks, saveNetwork } from "./save-network.ts";
import { availableNetwork, networkBody, networkQuery, networkRecord } from "./schemas.ts";

/** `/x402/networks` of the interface. */
export function registerNetworkRoutes(router: Router): void {
  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "get",
      operationId: "listX402Networks",
      isConditional: true,
      path: "/x402/networks",
      summary: "Lists the EVM chains configured for the x402 rail",
      query: networkQuery,
      data: z.object({ Networks: described(z.array(networkRecord), "The networks.") }),
    },
    async (c, { query }) => ({ Networks: await listNetworks(c.env, c.var.deadline, query) }),
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "post",
      operationId: "saveX402Network",
      path: "/x402/networks",
      summary: "Creates or updates an EVM chain configuration, keyed by its CAIP-2 id",
      description:
        "A new network requires `displayName` and `rpcUrl`. An update keeps omitted fields, and null clears a field.",
      body: networkBody,
      data: networkRecord,
      idempotent: true,
      errors: { ...NODE_ERRORS, 404: "There is no such facilitator wallet." },
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
