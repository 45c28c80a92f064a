import { Hono } from "hono";
import { createAuditRoutes } from "./api-keys/audit-routes.ts";
import { findCaller } from "./api-keys/find-key.ts";
import { createApiKeyRoutes } from "./api-keys/routes.ts";
import { createChainLookupRoutes } from "./chain-lookups/routes.ts";
import { addCompatibility } from "./compatibility/add-compatibility.ts";
import { createErasureRoutes } from "./erasure/routes.ts";
import { createDisputeRoutes } from "./escrow/disputes/routes.ts";
import { createPurchaseRoutes } from "./escrow/purchases/routes.ts";
import { createBooksRoutes } from "./escrow/queries/books/routes.ts";
import { createCsvRoutes } from "./escrow/queries/csv/routes.ts";
import { createEscrowRoutes } from "./escrow/queries/routes.ts";
import { createQuoteRoutes } from "./escrow/quotes/routes.ts";
import { createStepRoutes } from "./escrow/steps/routes.ts";
import { createTaskRoutes } from "./escrow/task-list/routes.ts";
import type { AppEnv } from "./http/context.ts";
import type { MountedRouter } from "./http/document.ts";
import { drainBody } from "./http/drain-body.ts";
import { createErrorResponse } from "./http/errors.ts";
import { allowAnyOrigin, assignRequestId, setSecurityHeaders } from "./http/headers.ts";
import { logRequests } from "./http/log-requests.ts";
import { USES_EXTERNAL_NAMES } from "./http/names/wire-names.ts";
import { createNotFoundHandler } from "./http/not-found.ts";
import { createReferenceRoutes } from "./http/reference.ts";
import { returnBookmark } from "./http/session.ts";
import { createInboxAgentRoutes } from "./inbox/inbox-agent-routes.ts";
import { createInboxRoutes } from "./inbox/routes.ts";
import { createInvoiceRoutes } from "./invoices/routes.ts";
import { createMcpRoutes } from "./mcp/routes.ts";
import { createObservabilityRoutes } from "./observability/routes.ts";
import { applyWalletChanges } from "./payment-sources/apply-wallet-changes.ts";
import { createPaymentSourceRoutes } from "./payment-sources/routes.ts";
import { createReadinessRoutes } from "./readiness/routes.ts";
import { createRegistrationRoutes } from "./registrations/routes.ts";
import { createRegistryRoutes } from "./registry/routes.ts";
import { createRegistrySourceRoutes } from "./registry/sources/routes.ts";
import { createTokenRoutes } from "./tokens/routes.ts";
import { WALLET_FEATURES } from "./wallet-features.ts";
import { createWalletRoutes } from "./wallets/routes.ts";
import { createTopUpRoutes } from "./wallets/top-ups/routes.ts";
import { createTransferRoutes } from "./wallets/transfers/routes.ts";
import { createWebhookRoutes } from "./webhooks/routes.ts";
import { createWorkerBotRoutes } from "./worker-bots/routes.ts";
import { createX402Routes } from "./x402/routes.ts";

const API_PREFIX = "/api/v1";
const ADMIN_API_PREFIX = "/v1";

/** The Hono app: the middleware of every request, then each feature's routes. */
export function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ strict: false });

  app.use(assignRequestId, logRequests, drainBody, setSecurityHeaders, allowAnyOrigin);
  app.use(returnBookmark);
  app.use(async (c, next) => {
    c.set("findCaller", findCaller);
    await next();
  });
  app.onError(createErrorResponse);
  app.notFound(createNotFoundHandler(() => app.routes));

  const mounted: MountedRouter[] = [
    { prefix: API_PREFIX, router: createObservabilityRoutes() },
    { prefix: API_PREFIX, router: createEscrowRoutes() },
    { prefix: API_PREFIX, router: createBooksRoutes() },
    { prefix: API_PREFIX, router: createCsvRoutes() },
    { prefix: API_PREFIX, router: createQuoteRoutes() },
    { prefix: API_PREFIX, router: createPurchaseRoutes() },
    { prefix: API_PREFIX, router: createStepRoutes() },
    { prefix: API_PREFIX, router: createTaskRoutes() },
    { prefix: API_PREFIX, router: createDisputeRoutes() },
    { prefix: API_PREFIX, router: createPaymentSourceRoutes() },
    {
      prefix: API_PREFIX,
      router: createWalletRoutes(WALLET_FEATURES, (c, { sourceId }) =>
        applyWalletChanges(c.env, sourceId, c.var.deadline),
      ),
    },
    { prefix: API_PREFIX, router: createTransferRoutes() },
    { prefix: API_PREFIX, router: createTopUpRoutes() },
    { prefix: API_PREFIX, router: createApiKeyRoutes() },
    { prefix: API_PREFIX, router: createAuditRoutes() },
    { prefix: API_PREFIX, router: createErasureRoutes() },
    { prefix: API_PREFIX, router: createRegistryRoutes() },
    { prefix: API_PREFIX, router: createRegistrationRoutes() },
    { prefix: API_PREFIX, router: createInboxAgentRoutes() },
    { prefix: API_PREFIX, router: createInboxRoutes() },
    { prefix: API_PREFIX, router: createRegistrySourceRoutes() },
    { prefix: API_PREFIX, router: createWebhookRoutes() },
    { prefix: ADMIN_API_PREFIX, router: createWorkerBotRoutes() },
    { prefix: API_PREFIX, router: createInvoiceRoutes() },
    { prefix: API_PREFIX, router: createChainLookupRoutes() },
    { prefix: API_PREFIX, router: createTokenRoutes() },
    { prefix: API_PREFIX, router: createReadinessRoutes() },
    { prefix: API_PREFIX, router: createX402Routes() },
  ];
  if (USES_EXTERNAL_NAMES) addCompatibility(mounted, API_PREFIX);
  for (const { prefix: at, router } of mounted) app.route(at, router);
  app.route("/", createReferenceRoutes(mounted));
  app.route(
    "/",
    createMcpRoutes((request, c) => app.fetch(request, c.env)),
  );

  return app;
}
