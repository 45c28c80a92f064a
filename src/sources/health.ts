import { z } from "@hono/zod-openapi";
import { NETWORKS, type Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { syncStatus } from "./cursor.ts";

const sourceHealth = z
  .object({
    id: z.string(),
    network: z.enum(NETWORKS),
    lastSyncAgeMs: z.number().nullable().openapi({ description: "Null before the first sync." }),
    error: z.string().nullable(),
  })
  .openapi("SourceHealth");

/** `GET /health`, for monitors: open to everyone, so no key and no address is in it. */
export function healthRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/health",
      access: "none",
      tag: "Health",
      summary: "Tells whether the service and its payment sources are well",
      data: z.object({ status: z.literal("ok"), sources: z.array(sourceHealth) }),
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
