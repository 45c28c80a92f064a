import * as z from "zod";
import { maskToken } from "../api-keys/token.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { described, named, textField, timestampField } from "../http/openapi/fields.ts";
import { cursorParameter, limitParameter } from "../http/openapi/parameters.ts";
import { readSyncProgress } from "../observability/monitored-sources.ts";
import { listSources } from "../payment-sources/list-sources.ts";
import { paymentSourceRecord } from "../payment-sources/response-schemas.ts";
import { rpcProvider } from "../payment-sources/schemas.ts";

const ADMIN_RULES = { access: "Admin", scope: "admin" } as const;

const { id, network, createdAt, updatedAt } = paymentSourceRecord.shape;
const providerKey = named(
  "RpcProviderKey",
  "The key of a payment source's chain provider.",
  z.object({
    ...{ id, network, createdAt, updatedAt },
    rpcProviderApiKey: textField("The key, masked but for its last four characters.", "*****E6uA"),
    rpcProvider,
  }),
);

const cursor = z.object({
  timestamp: timestampField("Time of the oldest last sync among the sources."),
  lastId: described(z.null(), "Always null: a sync reads all records.", null),
});
const memory = textField("Always `unknown`: the platform does not say.", "unknown");
const monitoringStatus = z.object({
  isMonitoring: described(z.boolean(), "Whether the cron syncs all sources.", true),
  Stats: described(
    z
      .object({
        trackedEntities: described(z.int(), "Number of payment and registry sources.", 2),
        PurchaseCursor: described(cursor, "How far purchases are synced."),
        PaymentCursor: described(cursor, "How far payments are synced."),
        MemoryUsage: described(
          z.object({ heapUsed: memory, heapTotal: memory, external: memory }),
          "Memory of the service.",
        ),
      })
      .nullable(),
    "What the cron syncs. Null: a source was never synced, or there is none.",
  ),
});

const NO_SWAPS = "This service does not swap tokens. Use an exchange with your own wallet.";
const ALWAYS_MONITORS = "The service always monitors the chain: its cron runs each minute.";
const NO_SIGNATURES =
  "This service signs no text for a caller. Sign with the wallet's own keys outside of the service.";

/** What the payment service offers and this service does not. */
const MISSING_OPERATIONS = [
  ["post", "/swap", NO_SWAPS],
  ["get", "/swap/confirm", NO_SWAPS],
  ["get", "/swap/transactions", NO_SWAPS],
  ["get", "/swap/estimate", NO_SWAPS],
  ["post", "/swap/cancel", NO_SWAPS],
  ["post", "/swap/acknowledge-timeout", NO_SWAPS],
  ["post", "/monitoring/trigger-cycle", ALWAYS_MONITORS],
  ["post", "/monitoring/start", ALWAYS_MONITORS],
  ["post", "/monitoring/stop", ALWAYS_MONITORS],
  ["post", "/signature/sign/create-invoice/monthly", NO_SIGNATURES],
  ["post", "/signature/sign/verifyAndPublishAgent", NO_SIGNATURES],
] as const;

/** Operations about the service itself, and those that it does not offer. */
export function registerServiceRoutes(router: Router): void {
  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "get",
      operationId: "listRpcApiKeys",
      isConditional: true,
      path: "/rpc-api-keys",
      tag: "Payment sources",
      summary: "Lists the keys of chain providers, masked, oldest payment source first",
      query: z.object({ limit: limitParameter(100, 100), cursorId: cursorParameter() }),
      data: z.object({ RpcProviderKeys: described(z.array(providerKey), "The keys.") }),
    },
    async (c, { query }) => {
      const sources = await listSources(c.env, { ...query, order: "oldest" }, c.var.deadline);
      return {
        RpcProviderKeys: sources.map(
          ({ id, network, createdAt, updatedAt, PaymentSourceConfig: config }) => ({
            ...{ id, network, createdAt, updatedAt, rpcProvider: config.rpcProvider },
            rpcProviderApiKey: maskToken(config.rpcProviderApiKey),
          }),
        ),
      };
    },
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "get",
      operationId: "getMonitoringStatus",
      path: "/monitoring",
      tag: "Metrics",
      summary: "Shows whether the cron syncs the chain",
      data: z.object({ MonitoringStatus: described(monitoringStatus, "What the cron does.") }),
    },
    async (c) => {
      const progress = await readSyncProgress(c.env, c.var.deadline, Date.now());
      const { isSyncing: isMonitoring, sourceCount, oldestSyncAt } = progress;
      if (oldestSyncAt === null) return { MonitoringStatus: { isMonitoring, Stats: null } };
      const position = { timestamp: toIsoTime(oldestSyncAt), lastId: null };
      const Stats = {
        trackedEntities: sourceCount,
        PurchaseCursor: position,
        PaymentCursor: position,
        MemoryUsage: { heapUsed: "unknown", heapTotal: "unknown", external: "unknown" },
      };
      return { MonitoringStatus: { isMonitoring, Stats } };
    },
  );

  for (const [method, path, reason] of MISSING_OPERATIONS)
    serve(
      router,
      {
        ...ADMIN_RULES,
        method,
        operationId: `refuse${path.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
        path,
        tag: "Health",
        summary: "Is not offered",
        description: reason,
        data: z.object({}),
        errors: { 501: reason },
      },
      () => Promise.reject(new ApiError("not_implemented", reason)),
    );
}
