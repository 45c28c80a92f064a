import { z } from "@hono/zod-openapi";
import { db } from "../db/client.ts";
import { firstIdAt } from "../db/id.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { isoTime } from "../http/envelope.ts";
import { page, text, time } from "../http/parameters.ts";

const auditEntry = z
  .object({
    id: z.string(),
    at: z.string().openapi({ format: "date-time" }),
    apiKeyId: z.string(),
    requestId: z
      .string()
      .openapi({ description: "`x-request-id` of the answer, also in the logs." }),
    action: z.string().openapi({ description: "What was done, as `feature.verb`." }),
    target: z.string().openapi({ description: "The id it was done to." }),
    detail: z.record(z.string(), z.unknown()).nullable(),
  })
  .openapi("AuditEntry");

const query = z.object({
  ...page,
  apiKeyId: text().optional(),
  action: text().optional(),
  after: time().optional().openapi({ description: "Entries at or after this time." }),
  before: time().optional().openapi({ description: "Entries before this time." }),
});

/** `GET /audit`: who changed what, newest first. */
export function auditRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/audit",
      access: "Admin",
      tag: "API keys",
      summary: "Lists what was changed through the API, newest first",
      query,
      data: z.object({ AuditEntries: z.array(auditEntry) }),
    },
    async (c, { query }) => ({ AuditEntries: await listEntries(c.env, query, c.var.deadline) }),
  );

  return router;
}

async function listEntries(
  env: { DB: D1Database },
  { limit, cursorId, apiKeyId, action, after, before }: z.output<typeof query>,
  deadline: number,
): Promise<z.infer<typeof auditEntry>[]> {
  // Ids begin with their time, so a span of time is a span of the primary key.
  const conditions = [
    { sql: "id < ?", value: cursorId },
    { sql: "id >= ?", value: after === undefined ? undefined : firstIdAt(after) },
    { sql: "id < ?", value: before === undefined ? undefined : firstIdAt(before) },
    { sql: "api_key_id = ?", value: apiKeyId },
    { sql: "action = ?", value: action },
  ].filter(({ value }) => value !== undefined);
  const rows = await db(env, undefined, { deadline }).all<{
    id: string;
    at: number;
    apiKeyId: string;
    requestId: string;
    action: string;
    target: string;
    detail: string | null;
  }>(
    `SELECT id, at, api_key_id AS apiKeyId, request_id AS requestId, action, target, detail
     FROM audit WHERE ${["TRUE", ...conditions.map(({ sql }) => sql)].join(" AND ")}
     ORDER BY id DESC LIMIT ?`,
    ...conditions.map(({ value }) => value),
    limit,
  );
  return rows.map((row) => ({
    ...row,
    at: isoTime(row.at),
    detail: row.detail === null ? null : JSON.parse(row.detail),
  }));
}
