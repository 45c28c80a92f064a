import type { MountedRouter } from "../http/document.ts";
import { createRouter, type Router } from "../http/endpoint.ts";
import type { EndpointDeclaration } from "../http/router.ts";
import { registerAgentRoutes } from "./agent-routes.ts";
import { createAnswerRoutes, extendDeclaration } from "./answer-fields.ts";
import { registerFundRoutes } from "./fund-routes.ts";
import { registerInvoiceRoutes } from "./invoice-routes.ts";
import { registerKeyRoutes } from "./key-routes.ts";
import { registerRegistryRoutes } from "./registry-routes.ts";
import { registerServiceRoutes } from "./service-routes.ts";
import { registerWalletRoutes } from "./wallet-routes.ts";
import { registerWebhookRoutes } from "./webhook-routes.ts";
import { registerX402BalanceRuleRoutes } from "./x402-balance-rules.ts";
import { registerX402RecordRoutes } from "./x402-record-routes.ts";
import { registerX402Routes } from "./x402-routes.ts";

/**
 * Adds what clients of other services call and read, for `WIRE_NAMES=cardano`. An operation of this
 * folder replaces the one of the same method and path, in the document too.
 *
 * @param mounted - the routers of the features, in the order in which they are mounted
 * @param prefix - of the paths of the interface
 */
export function addCompatibility(mounted: MountedRouter[], prefix: string): void {
  const router = createCompatibilityRoutes();
  const replaced = new Set(router.declared.map(operationOf));
  for (const { router: feature, prefix: at } of mounted) {
    if (at !== prefix) continue;
    feature.declared = feature.declared
      .filter((declared) => !replaced.has(operationOf(declared)))
      .map((declared) => extendDeclaration(operationOf(declared), declared));
  }
  router.declared = router.declared.map((declared) =>
    extendDeclaration(operationOf(declared), declared),
  );
  mounted.unshift({ prefix, router: createAnswerRoutes() }, { prefix, router });
}

const operationOf = ({ method, path }: EndpointDeclaration) => `${method.toUpperCase()} ${path}`;

/** The operations that differ from ours in more than the fields of their answers. */
function createCompatibilityRoutes(): Router {
  const router = createRouter();
  registerAgentRoutes(router);
  registerKeyRoutes(router);
  registerRegistryRoutes(router);
  registerX402Routes(router);
  registerX402BalanceRuleRoutes(router);
  registerX402RecordRoutes(router);
  registerWalletRoutes(router);
  registerFundRoutes(router);
  registerServiceRoutes(router);
  registerInvoiceRoutes(router);
  registerWebhookRoutes(router);
  return router;
}
