import { Hono } from "hono";
import { auditRoutes } from "./api-keys/audit-routes.ts";
import { findKey } from "./api-keys/find-key.ts";
import { apiKeyRoutes } from "./api-keys/routes.ts";
import { ledgerRoutes } from "./chain-lookups/routes.ts";
import { disputeRoutes } from "./escrow/disputes/routes.ts";
import { purchaseRoutes } from "./escrow/purchases/routes.ts";
import { booksRoutes } from "./escrow/queries/books/routes.ts";
import { csvRoutes } from "./escrow/queries/csv/routes.ts";
import { escrowRoutes } from "./escrow/queries/routes.ts";
import { escrowRequestRoutes } from "./escrow/quotes/routes.ts";
import { stepRoutes } from "./escrow/steps/routes.ts";
import { taskRoutes } from "./escrow/task-list/routes.ts";
import type { AppEnv } from "./http/context.ts";
import type { Mounted } from "./http/document.ts";
import { drainBody } from "./http/drain-body.ts";
import { errorResponse } from "./http/errors.ts";
import { openCors, requestId, securityHeaders } from "./http/headers.ts";
import { notFound } from "./http/not-found.ts";
import { referenceRoutes } from "./http/reference.ts";
import { inboxAgentRoutes } from "./inbox/inbox-agent-routes.ts";
import { inboxRoutes } from "./inbox/routes.ts";
import { invoiceRoutes } from "./invoices/routes.ts";
import { mcpRoutes } from "./mcp/routes.ts";
import { operationRoutes } from "./observability/routes.ts";
import { paymentSourceRoutes } from "./payment-sources/routes.ts";
import { tellRecords } from "./payment-sources/tell-records.ts";
import { readinessRoutes } from "./readiness/routes.ts";
import { registrationRoutes } from "./registrations/routes.ts";
import { registryRoutes } from "./registry/routes.ts";
import { registrySourceRoutes } from "./registry/sources/routes.ts";
import { unitRoutes } from "./tokens/routes.ts";
import { WALLET_FEATURES } from "./wallet-features.ts";
import { walletRoutes } from "./wallets/routes.ts";
import { topUpRoutes } from "./wallets/top-ups/routes.ts";
import { transferRoutes } from "./wallets/transfers/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { workerBotRoutes } from "./worker-bots/routes.ts";
import { x402Routes } from "./x402/routes.ts";

const API = "/api/v1";
const ADMIN_API = "/v1";

/** The Hono app: the middleware of every request, then each feature's routes. */
export function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ strict: false });

  app.use(requestId, drainBody, securityHeaders, openCors);
  app.use(async (c, next) => {
    c.set("findCaller", findKey);
    await next();
  });
  app.onError(errorResponse);
  app.notFound(notFound(() => app.routes));

  const mounted: Mounted[] = [
    { at: API, router: operationRoutes() },
    { at: API, router: escrowRoutes() },
    { at: API, router: booksRoutes() },
    { at: API, router: csvRoutes() },
    { at: API, router: escrowRequestRoutes() },
    { at: API, router: purchaseRoutes() },
    { at: API, router: stepRoutes() },
    { at: API, router: taskRoutes() },
    { at: API, router: disputeRoutes() },
    { at: API, router: paymentSourceRoutes() },
    {
      at: API,
      router: walletRoutes(WALLET_FEATURES, (c, { sourceId }) =>
        tellRecords(c.env, sourceId, c.var.deadline),
      ),
    },
    { at: API, router: transferRoutes() },
    { at: API, router: topUpRoutes() },
    { at: API, router: apiKeyRoutes() },
    { at: API, router: auditRoutes() },
    { at: API, router: registryRoutes() },
    { at: API, router: registrationRoutes() },
    { at: API, router: inboxAgentRoutes() },
    { at: API, router: inboxRoutes() },
    { at: API, router: registrySourceRoutes() },
    { at: API, router: webhookRoutes() },
    { at: ADMIN_API, router: workerBotRoutes() },
    { at: API, router: invoiceRoutes() },
    { at: API, router: ledgerRoutes() },
    { at: API, router: unitRoutes() },
    { at: API, router: readinessRoutes() },
    { at: API, router: x402Routes() },
  ];
  for (const { at, router } of mounted) app.route(at, router);
  app.route("/", referenceRoutes(mounted));
  app.route(
    "/",
    mcpRoutes((request, c) => app.fetch(request, c.env)),
  );

  return app;
}
