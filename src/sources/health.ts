import { z } from "zod";
import { NETWORKS, type Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described, named, recordId } from "../http/openapi/fields.ts";
import { network } from "../http/openapi/ledger.ts";
import { syncStatus } from "./cursor.ts";

const sourceHealth = named(
  "SourceHealth",
  "How well a payment source is followed.",
  z.object({
    id: recordId("the payment source", "01m80ydym8b5krj5k5mrnn0w9r"),
    network,
    lastSyncAgeMs: described(
      z.number().nullable(),
      "Milliseconds since the chain was last read for it; null before the first sync.",
      2155,
    ),
    error: described(
      z.string().nullable(),
      "Why the last sync did not complete; null when it did.",
      "The chain provider failed",
    ),
  }),
);

/** `GET /health`, for monitors: open to everyone, so it contains no key and no address. */
export function healthRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "getHealth",
      path: "/health",
      access: "none",
      tag: "Health",
      summary: "Shows whether the service and its payment sources are healthy",
      data: z.object({
        status: described(z.literal("ok"), "The service and its database answer.", "ok"),
        sources: described(z.array(sourceHealth), "The payment sources."),
      }),
    },
    async (c) => {
      const { deadline } = c.var;
      const rows = await db(c.env, undefined, { deadline }).all<{ id: string; network: Network }>(
        "SELECT id, network FROM payment_source WHERE deleted_at IS NULL ORDER BY id",
      );
      const now = Date.now();
      const byNetwork = await Promise.all(
        NETWORKS.map(async (network) => {
          const ids = rows.filter((row) => row.network === network).map(({ id }) => id);
          return ids.length ? syncStatus(db(c.env, network, { deadline }), ids, now) : new Map();
        }),
      );
      const status = new Map(byNetwork.flatMap((part) => [...part]));
      const sources = rows.map(({ id, network }) => {
        const { lastCheckedAt = null, error = null } = status.get(id) ?? {};
        return {
          id,
          network,
          lastSyncAgeMs: lastCheckedAt === null ? null : Math.max(0, now - lastCheckedAt),
          error: error?.replace(/\b(addr|stake)(_test)?1[0-9a-z]+/g, "<address>") ?? null,
        };
      });
      return { status: "ok" as const, sources };
    },
  );

  return router;
}
