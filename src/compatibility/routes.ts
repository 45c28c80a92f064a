import { createRouter, type Router } from "../http/endpoint.ts";
import { registerAgentRoutes } from "./agent-routes.ts";
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

/** The operations that differ from ours in more than the fields of their answers. */
export function createCompatibilityRoutes(): Router {
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
