import { z } from "@hono/zod-openapi";
import { page, text } from "../http/parameters.ts";

const STATUSES = ["Active", "Archived"] as const;
const OUTCOMES = ["Moved", "Failed"] as const;

/** So many failures are listed; `failed` counts all. */
export const MAX_FAILURES = 100;

const versionId = z
  .string()
  .min(2)
  .max(41)
  .regex(/^[a-z0-9][a-z0-9-]*$/, "must be lower-case letters, digits and hyphens");

const timestamps = { createdAt: z.iso.datetime(), updatedAt: z.iso.datetime() };

export const migrateBody = z.strictObject({
  toVersionId: versionId,
  reason: z.string().trim().min(1).max(2000).openapi({ description: "Kept with each move." }),
  fromVersionId: versionId
    .optional()
    .openapi({ description: "Only bots on this version; without it, all of them." }),
});
export type MigrateBody = z.output<typeof migrateBody>;

export const migrateResult = z.object({
  total: z.int().openapi({
    description: "Bots that match: `moved + alreadyOnVersion + failed + remaining`.",
  }),
  moved: z.int(),
  alreadyOnVersion: z.int(),
  failed: z.int(),
  failures: z
    .array(z.object({ workerBotId: z.string(), message: z.string() }))
    .max(MAX_FAILURES)
    .openapi({ description: "The first failures; `GET …/moves?outcome=Failed` lists all." }),
  remaining: z.int().openapi({
    description: "Bots beyond the 10,000 of one call, which were not touched: run it again.",
  }),
});
export type MigrateResult = z.infer<typeof migrateResult>;

export const botRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    versionId: z.string(),
    status: z.enum(STATUSES),
    ...timestamps,
  })
  .openapi("WorkerBot");
export type BotRecord = z.infer<typeof botRecord>;

export const botBody = z.strictObject({ name: text(), versionId });

export const versionRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    summary: z.string().nullable(),
    status: z.enum(STATUSES),
    ...timestamps,
  })
  .openapi("WorkerBotVersion");
export type VersionRecord = z.infer<typeof versionRecord>;

export const versionBody = z.strictObject({
  id: versionId,
  name: text(),
  summary: text(2000).nullable().default(null),
});

export const moveRecord = z
  .object({
    id: z.string(),
    workerBotId: z.string(),
    fromVersionId: z.string(),
    toVersionId: z.string(),
    reason: z.string(),
    outcome: z.enum(OUTCOMES),
    message: z.string().nullable().openapi({ description: "Why it failed." }),
    requestedById: z.string().openapi({ description: "The API key that asked for it." }),
    requestId: z.string(),
    createdAt: z.iso.datetime(),
  })
  .openapi("WorkerBotMove");
export type MoveRecord = z.infer<typeof moveRecord>;

/** Names a bot or a version. */
export const archiveBody = z.strictObject({ id: text() });

export const botQuery = z.strictObject({
  ...page,
  versionId: versionId.optional(),
  status: z.enum(STATUSES).optional(),
});
export const versionQuery = z.strictObject({ ...page, status: z.enum(STATUSES).optional() });
export const moveQuery = z.strictObject({
  ...page,
  workerBotId: text().optional(),
  outcome: z.enum(OUTCOMES).optional(),
});
