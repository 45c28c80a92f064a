import { OpenAPIHono } from "@hono/zod-openapi";
import { auditRoutes } from "./api-keys/audit.ts";
import { findKey } from "./api-keys/find-key.ts";
import { apiKeyRoutes } from "./api-keys/routes.ts";
import { escrowRoutes } from "./escrow/routes.ts";
import type { AppEnv } from "./http/context.ts";
import { errorResponse } from "./http/errors.ts";
import { openCors, releaseBody, requestId, securityHeaders } from "./http/headers.ts";
import { notFound } from "./http/not-found.ts";
import { referenceRoutes } from "./http/reference.ts";
import { inboxAgentRoutes } from "./inbox/agent-routes.ts";
import { inboxRoutes } from "./inbox/routes.ts";
import { invoiceRoutes } from "./invoices/routes.ts";
import { registrationRoutes } from "./registry/registration-routes.ts";
import { registryRoutes } from "./registry/routes.ts";
import { registrySourceRoutes } from "./registry/source-routes.ts";
import { healthRoutes } from "./sources/health.ts";
import { paymentSourceRoutes } from "./sources/routes.ts";
import { walletRoutes } from "./sources/wallet-routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { workerBotRoutes } from "./worker-bots/routes.ts";
import { x402Routes } from "./x402/routes.ts";

const API = "/api/v1";
const ADMIN_API = "/v1";

/** The Hono app: what every request passes, then each feature's routes. */
export function createApp(): OpenAPIHono<AppEnv> {
  const app = new OpenAPIHono<AppEnv>({ strict: false });

  app.use(requestId, securityHeaders, openCors, releaseBody);
  app.use(async (c, next) => {
    c.set("findCaller", findKey);
    await next();
  });
  app.onError(errorResponse);
  app.notFound(notFound(() => app.routes));

  app.route(API, healthRoutes());
  app.route(API, escrowRoutes());
  app.route(API, paymentSourceRoutes());
  app.route(API, walletRoutes());
  app.route(API, apiKeyRoutes());
  app.route(API, auditRoutes());
  app.route(API, registryRoutes());
  app.route(API, registrationRoutes());
  app.route(API, inboxAgentRoutes());
  app.route(API, inboxRoutes());
  app.route(API, registrySourceRoutes());
  app.route(API, webhookRoutes());
  app.route(ADMIN_API, workerBotRoutes());
  app.route(API, invoiceRoutes());
  app.route(API, x402Routes());
  app.route("/", referenceRoutes(app));

  return app;
}
