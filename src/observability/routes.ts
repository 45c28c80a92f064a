import * as z from "zod";
import { createRouter, serve } from "../http/endpoint.ts";
import { ApiError } from "../http/errors.ts";
import { answerText, described } from "../http/openapi/fields.ts";
import { collectMetrics } from "./collect-metrics.ts";
import { checkHealth, health, readyQuery } from "./health.ts";
import { OPEN_METRICS } from "./open-metrics.ts";
import { budgetQuery, providerBudget, readBudget } from "./provider-budget.ts";
import { SERVICE_EVENTS } from "./service-events.ts";

/** Seconds: the cron, which lets sources be read, runs each minute. */
const RETRY_AFTER = 60;

const COMMON = { method: "get", access: "none", scope: "public", tag: "Health" } as const;

/** What operators and their monitors look at. */
export function operationRoutes() {
  const router = createRouter();
  router.events.push(...SERVICE_EVENTS);

  serve(
    router,
    {
      ...COMMON,
      operationId: "getHealth",
      path: "/health",
      summary: "Shows whether the service, its sources and its wallets do well",
      description: "For people and dashboards. It is 200 as long as the database answers.",
      data: health,
    },
    async (c) => (await checkHealth(c.env, c.var.deadline, Date.now())).health,
  );

  serve(
    router,
    {
      ...COMMON,
      operationId: "getReadiness",
      path: "/health/ready",
      summary: "Tells whether payment sources are followed closely enough",
      description:
        "For alarms. 503 when the database fails, or when a payment source has not synced for `maxLagMs` milliseconds; the body then has the `data` of a success too.",
      query: readyQuery,
      data: health,
      errors: {
        503: "The database is unavailable, or a payment source has not synced for too long.",
      },
      beside: {
        503: {
          name: "NotReadyError",
          members: { data: described(health.optional(), "Left out when the database fails.") },
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
        retryAfter: RETRY_AFTER,
        beside: { data: found },
      });
    },
  );

  serve(
    router,
    {
      ...COMMON,
      operationId: "getLiveness",
      path: "/health/live",
      summary: "Tells that the service answers, and nothing else",
      description: "It needs neither the database nor anything else.",
      data: z.object({
        status: described(z.literal("ok"), "The service answers.", "ok"),
        version: described(
          z.string().nullable(),
          "Id of the deployed version that answers; null where none was deployed.",
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
      summary: "Shows the metrics of the service, in the text form of OpenMetrics 1.0",
      description:
        "For collectors such as Prometheus. Figures are of this moment; each is counted up to a bound, which its help text names. docs/operating.md lists them.",
      media: OPEN_METRICS,
      data: answerText("One figure a line.", "agent_payment_events_undispatched 0"),
    },
    async (c) => {
      const text = await collectMetrics(c.env, c.var.deadline, Date.now());
      return c.body(text, 200, { "content-type": `${OPEN_METRICS}; version=1.0.0; charset=utf-8` });
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
      summary: "Shows what is left of the calls to a source's chain provider, by class",
      description:
        "Sources with the same provider key share a budget. To look takes nothing of it, and asks the provider nothing.",
      query: budgetQuery,
      data: providerBudget,
      errors: {
        404: "There is no such source.",
        409: "The provider key cannot be opened: the key that it was sealed with is lost.",
      },
    },
    (c, { query }) => readBudget(c, query.sourceId),
  );

  return router;
}
