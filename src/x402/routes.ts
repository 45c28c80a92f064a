import { createRouter } from "../http/endpoint.ts";
import { networkRoutes } from "./networks/routes.ts";
import { payRoutes } from "./pay/routes.ts";
import { facilitatorRoutes } from "./settle/facilitator-routes.ts";
import { paymentRoutes } from "./settle/routes.ts";
import { walletRoutes } from "./wallets/routes.ts";

/** Everything under `/x402`: first the interface's paths, then ours beyond it. */
export function x402Routes() {
  const router = createRouter();
  paymentRoutes(router);
  networkRoutes(router);
  walletRoutes(router);
  payRoutes(router);
  facilitatorRoutes(router);
  return router;
}
