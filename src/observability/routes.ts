import * as z from "zod";
import { createRouter, serve } from "../http/endpoint.ts";
import { ApiError } from "../http/errors.ts";
import { described, nullableTextField, textField } from "../http/openapi/fields.ts";
import { collectMetrics } from "./collect-metrics.ts";
import { checkHealth, health, readyQuery } from "./health.ts";
import { OPEN_METRICS_CONTENT_TYPE } from "./open-metrics.ts";
import { budgetQuery, providerBudget, readBudget } from "./provider-budget.ts";
import { SERVICE_EVENTS } from "./service-events.ts";

/** Seconds: the cron, which lets sources be read, runs each minute. */
const RETRY_AFTER_S = 60;

const HEALTH_ENDPOINT = { method: "get", access: "none", scope: "public", tag: "Health" } as const;

/** What operators and their monitors look at. */
export function createObservabilityRoutes() {
  const router = createRouter();
  router.events.push(...SERVICE_EVENTS);

  serve(
    router,
    {
      ...HEALTH_ENDPOINT,
      operationId: "getHealth",
      path: "/health",
      summary: "Shows the health of the service, its sources and its wallets",
      description: "For people and dashboards. Returns 200 as long as the database answers.",
      data: health,
    },
    async (c) => (await checkHealth(c.env, c.var.deadline, Date.now())).health,
  );

  serve(
    router,
    {
      ...HEALTH_ENDPOINT,
      operationId: "getReadiness",
      path: "/health/ready",
      summary: "Shows whether all payment sources are in sync",
      description:
        "For alarms. Returns 503 if the database fails, or if a payment source has not synced for `maxLagMs` milliseconds. The 503 for a source also has `data`.",
      query: readyQuery,
      data: health,
      errors: {
        503: "The database is unavailable, or a payment source has not synced for too long.",
      },
      beside: {
        503: {
          name: "NotReadyError",
          members: {
            data: described(
              health.optional(),
              "The payment sources. Omitted: the database failed.",
            ),
          },
        },
      },
    },
    async (c, { query }) => {
      const { health: found, lags } = await checkHealth(c.env, c.var.deadline, Date.now());
      const late = lags.filter(
        ({ network, lag }) =>
          lag >= query.maxLagMs && (query.network === undefined || network === query.network),
      );
      if (late.length === 0) return found;
      const which =
        late.length === 1 ? "A payment source has" : `${late.length} payment sources have`;
      throw new ApiError("not_ready", `${which} not synced for ${query.maxLagMs} ms`, {
        retryAfter: RETRY_AFTER_S,
        beside: { data: found },
      });
    },
  );

  serve(
    router,
    {
      ...HEALTH_ENDPOINT,
      operationId: "getLiveness",
      path: "/health/live",
      summary: "Shows that the service answers",
      description: "Needs no dependency, not even the database.",
      data: z.object({
        status: described(z.literal("ok"), "The service answers.", "ok"),
        version: nullableTextField(
          "Id of the deployed version. Null: not deployed.",
          "8f3c9f6e-3f0a-4c0e-9a3c-5a7f0d5f2b1e",
        ),
      }),
    },
    async (c) => ({ status: "ok" as const, version: c.env.CF_VERSION_METADATA?.id ?? null }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "getMetrics",
      path: "/metrics",
      access: "Admin",
      scope: "admin",
      tag: "Metrics",
      summary: "Shows the metrics of the service, as OpenMetrics 1.0 text",
      description:
        "For collectors such as Prometheus. Figures are current, and stop at the bound in their help text. docs/monitoring.md lists the metrics.",
      media: OPEN_METRICS_CONTENT_TYPE,
      data: textField("One figure a line.", "agent_payment_events_undispatched 0"),
    },
    async (c) => {
      const text = await collectMetrics(c.env, c.var.deadline, Date.now());
      return c.body(text, 200, {
        "content-type": `${OPEN_METRICS_CONTENT_TYPE}; version=1.0.0; charset=utf-8`,
      });
    },
  );

  serve(
    router,
    {
      method: "get",
      operationId: "getProviderBudget",
      path: "/provider-budget",
      access: "Admin",
      scope: "admin",
      tag: "Metrics",
      summary: "Shows the remaining calls to a source's chain provider, by class",
      description:
        "Sources with the same provider key share a budget. This request does not call the provider.",
      query: budgetQuery,
      data: providerBudget,
      errors: {
        404: "There is no such source.",
        409: "The provider key is unreadable: the key that encrypted it is lost.",
      },
    },
    (c, { query }) => readBudget(c, query.sourceId),
  );

  return router;
}
