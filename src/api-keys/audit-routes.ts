import * as z from "zod";
import { openArchives } from "../archive/open-archives.ts";
import { overlapsIds, readSnapshotPage } from "../archive/read-snapshot.ts";
import { openDb, statement } from "../db/client.ts";
import { Conditions } from "../db/conditions.ts";
import { firstIdAt } from "../db/id.ts";
import type { audit } from "../db/tables.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { toIsoTime } from "../http/envelope.ts";
import { described, idField, named, textField, timestampField } from "../http/openapi/fields.ts";
import {
  optionalTextParameter,
  pageParameters,
  timeParameter,
} from "../http/openapi/parameters.ts";

const auditEntry = named(
  "AuditEntry",
  "A change made through the API.",
  z.object({
    id: idField("the entry", "01m80ye05yr73fdqbztm8ma6fs"),
    at: timestampField("Time of creation."),
    apiKeyId: idField("the API key that made the change", "env-admin"),
    requestId: textField(
      "`x-request-id` of the response, also in the logs.",
      "01m80ye05tw8d5k11en0zccppg",
    ),
    action: textField("The action, as `feature.verb`.", "agent.deregister"),
    target: textField("Id of the changed record.", "01m80ydzjz46b1xn813egtkkv2"),
    detail: described(
      z.record(z.string(), z.unknown()).nullable(),
      "Details of the change. Never contains a secret.",
      { network: "Preprod" },
    ),
  }),
);

const auditQuery = z.object({
  ...pageParameters,
  apiKeyId: optionalTextParameter("Only changes by this API key.", "env-admin"),
  action: optionalTextParameter("Only this action.", "agent.deregister"),
  after: described(timeParameter().optional(), "Entries at or after this time."),
  before: described(timeParameter().optional(), "Entries before this time."),
});

/** `GET /audit`: who changed what, newest first. */
export function createAuditRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "listAuditEntries",
      isConditional: true,
      path: "/audit",
      access: "Admin",
      scope: "admin",
      tag: "API keys",
      summary: "Lists changes made through the API, newest first",
      query: auditQuery,
      data: z.object({ AuditEntries: described(z.array(auditEntry), "The entries.") }),
    },
    async (c, { query }) => ({
      AuditEntries: await listAuditEntries(c.env, query, c.var.deadline),
    }),
  );

  return router;
}

async function listAuditEntries(
  env: Parameters<typeof openArchives>[0] & { DB: D1Database },
  { limit, cursorId, apiKeyId, action, after, before }: z.output<typeof auditQuery>,
  deadline: number,
): Promise<z.infer<typeof auditEntry>[]> {
  const core = openDb(env, undefined, { deadline });
  const rows = await readSnapshotPage<typeof audit.$inferSelect>(core, openArchives(env), {
    kind: "audit",
    overlap: overlapsIds({ before: cursorId, from: after }),
    limit,
    select: (condition) => {
      const where = new Conditions();
      where.add(condition);
      // Ids begin with their time, so a time span is a range of the primary key.
      where.add("id < ?", cursorId);
      where.add("id >= ?", after === undefined ? undefined : firstIdAt(after));
      where.add("id < ?", before === undefined ? undefined : firstIdAt(before));
      where.add("api_key_id = ?", apiKeyId);
      where.add("action = ?", action);
      return statement(
        `SELECT id, at, api_key_id AS apiKeyId, request_id AS requestId, action, target, detail
         FROM audit WHERE ${where.toSql()} ORDER BY id DESC LIMIT ${limit}`,
        ...where.params,
      );
    },
  });
  return rows.map((row) => ({
    ...row,
    at: toIsoTime(row.at),
    detail: row.detail === null ? null : JSON.parse(row.detail),
  }));
}
