import { z } from "@hono/zod-openapi";
import { text } from "../http/parameters.ts";

const MAX_CREDITS = 1_000_000;

const NETWORK_OR_CAIP2 = /^(Preprod|Mainnet|[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})$/;

const networkId = z
  .string()
  .regex(NETWORK_OR_CAIP2, "must be Preprod, Mainnet or a CAIP-2 id")
  .openapi({ description: "Preprod, Mainnet or a CAIP-2 id such as `eip155:8453`." });

const permission = z.enum(["Admin", "User"]);
const maxUsageCredits = z.int().min(0).max(MAX_CREDITS);
const canPay = z
  .boolean()
  .optional()
  .openapi({ description: "+PAY access; an Admin always has it." });
const networkLimit = z
  .array(networkId)
  .max(50)
  .optional()
  .openapi({ description: "Default: both networks. An Admin is not limited." });

export const createBody = z.object({
  permission: permission.default("User"),
  usageLimited: z.boolean().default(false),
  maxUsageCredits: maxUsageCredits.default(0),
  canPay,
  networkLimit,
});

export type CreateBody = z.output<typeof createBody>;

export const updateBody = z.object({
  id: text(),
  status: z.enum(["Active", "Revoked"]).optional(),
  permission: permission.optional().openapi({
    description:
      "Who stops being an Admin keeps +PAY access and networks only as far as asked for.",
  }),
  usageLimited: z.boolean().optional(),
  maxUsageCredits: maxUsageCredits
    .optional()
    .openapi({ description: "At least `accumulatedUsageCredits`." }),
  canPay,
  networkLimit,
});

export type UpdateBody = z.output<typeof updateBody>;

export const deleteBody = z.object({ id: text() });

const MASKED = "`*****` and the last four characters.";

/** A key as every endpoint but its creation shows it. */
export const apiKeyRecord = z
  .object({
    id: z.string(),
    status: z.enum(["Active", "Revoked"]),
    token: z.string().openapi({ description: MASKED }),
    permission,
    usageLimited: z.boolean(),
    maxUsageCredits: z.number(),
    accumulatedUsageCredits: z.number(),
    canPay: z.boolean(),
    networkLimit: z.array(z.string()),
  })
  .openapi("ApiKey");

export const createdApiKey = apiKeyRecord
  .extend({ token: z.string().openapi({ description: "Shown here and never again." }) })
  .openapi("CreatedApiKey");

export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;
