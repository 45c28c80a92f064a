import { createRouter } from "../http/endpoint.ts";
import { facilitatorRoutes } from "./facilitator-routes.ts";
import { networkRoutes } from "./network-routes.ts";
import { payRoutes } from "./pay-routes.ts";
import { paymentRoutes } from "./payment-routes.ts";
import { walletRoutes } from "./wallet-routes.ts";

/** Everything under `/x402`: what the interface names first, then what goes beyond it. */
export function x402Routes() {
  const router = createRouter();
  paymentRoutes(router);
  networkRoutes(router);
  walletRoutes(router);
  payRoutes(router);
  facilitatorRoutes(router);
  return router;
}
