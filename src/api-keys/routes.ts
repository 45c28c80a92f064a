import { z } from "@hono/zod-openapi";
import { type Database, db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { ApiError } from "../http/errors.ts";
import { page } from "../http/parameters.ts";
import { deleteKey, updateKey } from "./change.ts";
import { createKey } from "./create.ts";
import { ENV_ADMIN_ID } from "./find-key.ts";
import { envAdminRecord, listKeys, readKeyRow, toRecord } from "./record.ts";
import {
  type ApiKeyRecord,
  apiKeyRecord,
  createBody,
  createdApiKey,
  deleteBody,
  updateBody,
} from "./schemas.ts";

const UNKNOWN = "There is no such API key.";
const UNCHANGEABLE = "It is the last active Admin key, or the one of the environment.";

/** `/api-key` of the interface, and `/api-key-status`. */
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
      data: createdApiKey,
      errors: { 422: "The Idempotency-Key was used for another request." },
    },
    (c, { body }) => createKey(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/api-key",
      access: "Admin",
      tag: "API keys",
      summary: "Lists API keys, newest first",
      query: z.object(page),
      data: z.object({ ApiKeys: z.array(apiKeyRecord) }),
    },
    async (c, { query }) => ({ ApiKeys: await listKeys(c.env, primary(c), query) }),
  );

  serve(
    router,
    {
      method: "patch",
      path: "/api-key",
      access: "Admin",
      tag: "API keys",
      summary: "Changes an API key",
      description: "What is left out is kept. A change holds everywhere within ten seconds.",
      body: updateBody,
      data: apiKeyRecord,
      errors: { 404: UNKNOWN, 409: `${UNCHANGEABLE} Or more credits are used than allowed now.` },
    },
    (c, { body }) => updateKey(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      path: "/api-key",
      access: "Admin",
      tag: "API keys",
      summary: "Revokes an API key for good and hides it",
      body: deleteBody,
      data: apiKeyRecord,
      errors: { 404: UNKNOWN, 409: UNCHANGEABLE },
    },
    (c, { body }) => deleteKey(c, body.id, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/api-key-status",
      access: "User",
      tag: "API keys",
      summary: "Shows the API key of the request, with the credits it has used",
      data: apiKeyRecord,
    },
    (c) => ownKey(c),
  );

  return router;
}

/** Credits are read from the primary, always. */
function primary(c: AppContext): Database {
  return db(c.env, undefined, { deadline: c.var.deadline });
}

async function ownKey(c: AppContext): Promise<ApiKeyRecord> {
  const { id } = c.var.caller;
  if (id === ENV_ADMIN_ID) {
    const envAdmin = envAdminRecord(c.env);
    if (envAdmin) return envAdmin;
  }
  const row = await readKeyRow(primary(c), id);
  // This isolate still remembered a key that was deleted meanwhile.
  if (!row) throw new ApiError(401, "token: the API key is unknown or revoked");
  return toRecord(row);
}
