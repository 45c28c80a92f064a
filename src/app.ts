import { OpenAPIHono } from "@hono/zod-openapi";
import { findKey } from "./api-keys/find-key.ts";
import { apiKeyRoutes } from "./api-keys/routes.ts";
import { escrowRoutes } from "./escrow/routes.ts";
import type { AppEnv } from "./http/context.ts";
import { errorResponse } from "./http/errors.ts";
import { openCors, releaseBody, requestId, securityHeaders } from "./http/headers.ts";
import { notFound } from "./http/not-found.ts";
import { referenceRoutes } from "./http/reference.ts";
import { healthRoutes } from "./sources/health.ts";
import { paymentSourceRoutes } from "./sources/routes.ts";

const API = "/api/v1";

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
  app.route(API, apiKeyRoutes());
  app.route("/", referenceRoutes(app));

  return app;
}
