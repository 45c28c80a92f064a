import * as z from "zod";
import { type Database, db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { page } from "../http/parameters.ts";
import { deleteKey, updateKey } from "./change.ts";
import { createKey } from "./create.ts";
import { listKeys } from "./record.ts";
import {
  apiKeyRecord,
  apiKeyStatus,
  createBody,
  createdApiKey,
  deleteBody,
  updateBody,
} from "./schemas.ts";
import { ownStatus } from "./status.ts";

const UNKNOWN = "There is no such API key.";
const UNCHANGEABLE = "It is the last active Admin key, or the one of the environment.";

/** `/api-key` of the interface, and `/api-key-status`. */
export function apiKeyRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "createApiKey",
      path: "/api-key",
      access: "Admin",
      scope: "admin",
      tag: "API keys",
      summary: "Creates a new API key",
      body: createBody,
      idempotent: true,
      data: createdApiKey,
      errors: { 404: "`walletLimit` names a wallet that there is not." },
    },
    (c, { body }) => createKey(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "listApiKeys",
      isConditional: true,
      path: "/api-key",
      access: "Admin",
      scope: "admin",
      tag: "API keys",
      summary: "Lists API keys, newest first",
      query: z.object(page),
      data: z.object({ ApiKeys: described(z.array(apiKeyRecord), "The API keys.") }),
    },
    async (c, { query }) => ({ ApiKeys: await listKeys(c.env, primary(c), query) }),
  );

  serve(
    router,
    {
      method: "patch",
      operationId: "updateApiKey",
      path: "/api-key",
      access: "Admin",
      scope: "admin",
      tag: "API keys",
      summary: "Changes an API key",
      description: "Omitted fields are kept. A change takes effect everywhere within ten seconds.",
      body: updateBody,
      data: apiKeyRecord,
      errors: {
        404: `${UNKNOWN} Or \`walletLimit\` names a wallet that there is not.`,
        409: `${UNCHANGEABLE} Or more credits are used than allowed now.`,
      },
    },
    (c, { body }) => updateKey(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      operationId: "deleteApiKey",
      path: "/api-key",
      access: "Admin",
      scope: "admin",
      tag: "API keys",
      summary: "Revokes an API key permanently and hides it",
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
      operationId: "getApiKeyStatus",
      path: "/api-key-status",
      access: "User",
      scope: "owner",
      tag: "API keys",
      summary: "Shows the API key of the request, with the credits it has used",
      data: apiKeyStatus,
    },
    (c) => ownStatus(c),
  );

  return router;
}

/** Credits are always read from the primary. */
function primary(c: AppContext): Database {
  return db(c.env, undefined, { deadline: c.var.deadline });
}
