import { createRouter } from "../http/endpoint.ts";
import { registerAttemptRoutes } from "./attempts/routes.ts";
import { registerNetworkRoutes } from "./networks/routes.ts";
import { registerPayRoutes } from "./pay/routes.ts";
import { registerCatalogRoutes } from "./settle/catalog-routes.ts";
import { registerFacilitatorRoutes } from "./settle/facilitator-routes.ts";
import { registerPaymentRoutes } from "./settle/routes.ts";
import { registerBalanceRuleRoutes } from "./wallets/low-balance-routes.ts";
import { registerWalletRoutes } from "./wallets/routes.ts";

/** Everything under `/x402`: first the interface's paths, then ours beyond it. */
export function createX402Routes() {
  const router = createRouter();
  registerPaymentRoutes(router);
  registerAttemptRoutes(router);
  registerNetworkRoutes(router);
  registerWalletRoutes(router);
  registerBalanceRuleRoutes(router);
  registerPayRoutes(router);
  registerFacilitatorRoutes(router);
  registerCatalogRoutes(router);
  return router;
}
