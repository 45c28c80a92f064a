import { z } from "@hono/zod-openapi";
import type { createRouter } from "../http/endpoint.ts";
import { serve } from "../http/endpoint.ts";
import { text } from "../http/parameters.ts";
import { listNetworks, saveNetwork } from "./network-settings.ts";
import { caip2, evmAddress, networkRecord } from "./schemas.ts";

const saveBody = z.object({
  caip2Id: caip2,
  displayName: text(120).optional(),
  rpcUrl: text(2000).optional().openapi({ description: "Must answer for the chain declared." }),
  isTestnet: z.boolean().optional(),
  isEnabled: z.boolean().optional(),
  defaultAsset: evmAddress.nullable().optional(),
  facilitatorWalletId: text().nullable().optional(),
  eip6492AllowedFactories: z
    .array(evmAddress)
    .max(20)
    .optional()
    .openapi({ description: "Factories that may be called for wallets not deployed yet." }),
});

const available = z
  .object({
    id: z.string(),
    caip2Id: z.string(),
    displayName: z.string(),
    isTestnet: z.boolean(),
    defaultAsset: z.string().nullable(),
    canSettle: z.boolean(),
  })
  .openapi("X402AvailableNetwork");

/** `/x402/networks` of the interface. */
export function networkRoutes(router: ReturnType<typeof createRouter>): void {
  serve(
    router,
    {
      method: "get",
      path: "/x402/networks",
      access: "Admin",
      tag: "x402",
      summary: "Lists the EVM chains configured for the x402 rail",
      data: z.object({ Networks: z.array(networkRecord) }),
    },
    async (c) => ({ Networks: await listNetworks(c.env, c.var.deadline) }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/networks",
      access: "Admin",
      tag: "x402",
      summary: "Creates or updates an EVM chain configuration, keyed by its CAIP-2 id",
      description:
        "`displayName` and `rpcUrl` are required on creation; what is left out later is kept, null clears.",
      body: saveBody,
      data: networkRecord,
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
      path: "/x402/networks/available",
      access: "+PAY",
      tag: "x402",
      summary: "Lists the enabled EVM chains that the key may use",
      data: z.object({ Networks: z.array(available) }),
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
