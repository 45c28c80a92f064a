import { Hono } from "hono";
import { auditRoutes } from "./api-keys/audit-routes.ts";
import { findKey } from "./api-keys/find-key.ts";
import { apiKeyRoutes } from "./api-keys/routes.ts";
import { chainLookupRoutes } from "./chain-lookups/routes.ts";
import { disputeRoutes } from "./escrow/disputes/routes.ts";
import { purchaseRoutes } from "./escrow/purchases/routes.ts";
import { booksRoutes } from "./escrow/queries/books/routes.ts";
import { csvRoutes } from "./escrow/queries/csv/routes.ts";
import { escrowRoutes } from "./escrow/queries/routes.ts";
import { quoteRoutes } from "./escrow/quotes/routes.ts";
import { stepRoutes } from "./escrow/steps/routes.ts";
import { taskRoutes } from "./escrow/task-list/routes.ts";
import type { AppEnv } from "./http/context.ts";
import type { MountedRouter } from "./http/document.ts";
import { drainBody } from "./http/drain-body.ts";
import { createErrorResponse } from "./http/errors.ts";
import { allowAnyOrigin, assignRequestId, setSecurityHeaders } from "./http/headers.ts";
import { createNotFoundHandler } from "./http/not-found.ts";
import { referenceRoutes } from "./http/reference.ts";
import { inboxAgentRoutes } from "./inbox/inbox-agent-routes.ts";
import { inboxRoutes } from "./inbox/routes.ts";
import { invoiceRoutes } from "./invoices/routes.ts";
import { mcpRoutes } from "./mcp/routes.ts";
import { observabilityRoutes } from "./observability/routes.ts";
import { applyWalletChanges } from "./payment-sources/apply-wallet-changes.ts";
import { paymentSourceRoutes } from "./payment-sources/routes.ts";
import { readinessRoutes } from "./readiness/routes.ts";
import { registrationRoutes } from "./registrations/routes.ts";
import { registryRoutes } from "./registry/routes.ts";
import { registrySourceRoutes } from "./registry/sources/routes.ts";
import { tokenRoutes } from "./tokens/routes.ts";
import { WALLET_FEATURES } from "./wallet-features.ts";
import { walletRoutes } from "./wallets/routes.ts";
import { topUpRoutes } from "./wallets/top-ups/routes.ts";
import { transferRoutes } from "./wallets/transfers/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { workerBotRoutes } from "./worker-bots/routes.ts";
import { x402Routes } from "./x402/routes.ts";

const API_PREFIX = "/api/v1";
const ADMIN_API_PREFIX = "/v1";

/** The Hono app: the middleware of every request, then each feature's routes. */
export function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ strict: false });

  app.use(assignRequestId, drainBody, setSecurityHeaders, allowAnyOrigin);
  app.use(async (c, next) => {
    c.set("findCaller", findKey);
    await next();
  });
  app.onError(createErrorResponse);
  app.notFound(createNotFoundHandler(() => app.routes));

  const mounted: MountedRouter[] = [
    { prefix: API_PREFIX, router: observabilityRoutes() },
    { prefix: API_PREFIX, router: escrowRoutes() },
    { prefix: API_PREFIX, router: booksRoutes() },
    { prefix: API_PREFIX, router: csvRoutes() },
    { prefix: API_PREFIX, router: quoteRoutes() },
    { prefix: API_PREFIX, router: purchaseRoutes() },
    { prefix: API_PREFIX, router: stepRoutes() },
    { prefix: API_PREFIX, router: taskRoutes() },
    { prefix: API_PREFIX, router: disputeRoutes() },
    { prefix: API_PREFIX, router: paymentSourceRoutes() },
    {
      prefix: API_PREFIX,
      router: walletRoutes(WALLET_FEATURES, (c, { sourceId }) =>
        applyWalletChanges(c.env, sourceId, c.var.deadline),
      ),
    },
    { prefix: API_PREFIX, router: transferRoutes() },
    { prefix: API_PREFIX, router: topUpRoutes() },
    { prefix: API_PREFIX, router: apiKeyRoutes() },
    { prefix: API_PREFIX, router: auditRoutes() },
    { prefix: API_PREFIX, router: registryRoutes() },
    { prefix: API_PREFIX, router: registrationRoutes() },
    { prefix: API_PREFIX, router: inboxAgentRoutes() },
    { prefix: API_PREFIX, router: inboxRoutes() },
    { prefix: API_PREFIX, router: registrySourceRoutes() },
    { prefix: API_PREFIX, router: webhookRoutes() },
    { prefix: ADMIN_API_PREFIX, router: workerBotRoutes() },
    { prefix: API_PREFIX, router: invoiceRoutes() },
    { prefix: API_PREFIX, router: chainLookupRoutes() },
    { prefix: API_PREFIX, router: tokenRoutes() },
    { prefix: API_PREFIX, router: readinessRoutes() },
    { prefix: API_PREFIX, router: x402Routes() },
  ];
  for (const { prefix: at, router } of mounted) app.route(at, router);
  app.route("/", referenceRoutes(mounted));
  app.route(
    "/",
    mcpRoutes((request, c) => app.fetch(request, c.env)),
  );

  return app;
}
