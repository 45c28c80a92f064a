import { z } from "@hono/zod-openapi";
import { NETWORKS } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitAudited } from "../http/audit.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { idempotently } from "../http/idempotency.ts";
import { apiKey } from "./tables.ts";
import { hashToken, maskToken, newToken } from "./token.ts";

const MAX_CREDITS = 1_000_000;

const NETWORK_OR_CAIP2 = /^(Preprod|Mainnet|[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})$/;

const networkId = z
  .string()
  .regex(NETWORK_OR_CAIP2, "must be Preprod, Mainnet or a CAIP-2 id")
  .openapi({ description: "Preprod, Mainnet or a CAIP-2 id such as `eip155:8453`." });

const createBody = z.object({
  permission: z.enum(["Admin", "User"]).default("User"),
  usageLimited: z.boolean().default(false),
  maxUsageCredits: z.int().min(0).max(MAX_CREDITS).default(0),
  canPay: z.boolean().optional().openapi({ description: "+PAY access; an Admin always has it." }),
  networkLimit: z
    .array(networkId)
    .max(50)
    .optional()
    .openapi({ description: "Default: both networks. An Admin is not limited." }),
});

const apiKeyRecord = z
  .object({
    id: z.string(),
    status: z.enum(["Active", "Revoked"]),
    token: z.string().openapi({ description: "Shown here and never again." }),
    permission: z.enum(["Admin", "User"]),
    usageLimited: z.boolean(),
    maxUsageCredits: z.number(),
    accumulatedUsageCredits: z.number(),
    canPay: z.boolean(),
    networkLimit: z.array(z.string()),
  })
  .openapi("ApiKey");

type ApiKeyRecord = z.infer<typeof apiKeyRecord>;

/** `/api-key` of the interface. */
export function apiKeyRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      path: "/api-key",
      access: "Admin",
      tag: "API keys",
      summary: "Creates a new API key",
      body: createBody,
      idempotent: true,
      data: apiKeyRecord,
      errors: { 422: "The Idempotency-Key was used for another request." },
    },
    async (c, { body }) => {
      const now = Date.now();
      const isAdmin = body.permission === "Admin";
      const database = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
      return idempotently(c, database, now, async (remember) => {
        const record: ApiKeyRecord = {
          id: newId(now),
          status: "Active",
          token: newToken(body.permission),
          permission: body.permission,
          usageLimited: body.usageLimited,
          maxUsageCredits: body.maxUsageCredits,
          accumulatedUsageCredits: 0,
          canPay: isAdmin || (body.canPay ?? false),
          networkLimit: isAdmin ? [...NETWORKS] : (body.networkLimit ?? [...NETWORKS]),
        };
        const { token, ...stored } = record;
        const row: typeof apiKey.$inferInsert = {
          ...stored,
          networkLimit: JSON.stringify(stored.networkLimit),
          tokenHash: await hashToken(c.env, token),
          maskedToken: maskToken(token),
          createdById: c.var.caller.id,
          createdAt: now,
          updatedAt: now,
        };
        await commitAudited(
          c,
          database,
          { action: "api-key.create", target: record.id, detail: stored, now },
          [...(await remember(record)), database.orm.insert(apiKey).values(row).toSQL()],
        );
        return record;
      });
    },
  );

  return router;
}
