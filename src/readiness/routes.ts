import { createRouter, serve } from "../http/endpoint.ts";
import { readChainRail, readX402Rail } from "./read-rails.ts";
import { readiness, readinessQuery } from "./schemas.ts";

/** `/rail-readiness`: marketplaces sell only what can be paid through a rail that is ready. */
export function createReadinessRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "getRailReadiness",
      path: "/rail-readiness",
      access: "User",
      scope: "wallets",
      tag: "Health",
      summary: "Shows what each payment rail still needs on a network",
      description:
        "`PurchaseSources` are the payment sources for purchases; `isPurchaseReady` shows whether they are ready.",
      query: readinessQuery,
      data: readiness,
    },
    async (c, { query: { network } }) => {
      const Rails = await Promise.all([
        readChainRail(c, network, Date.now()),
        readX402Rail(c, network),
      ]);
      return { network, Rails };
    },
  );

  return router;
}
