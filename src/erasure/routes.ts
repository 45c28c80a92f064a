import { createRouter, serve } from "../http/endpoint.ts";
import { eraseKey } from "./erase-key.ts";
import { erasureBody, erasureResult } from "./schemas.ts";

/** `POST /erasure`: removes the personal data of an API key. */
export function createErasureRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "erasePersonalData",
      path: "/erasure",
      access: "Admin",
      scope: "admin",
      tag: "API keys",
      summary: "Revokes an API key and erases its personal data",
      description:
        "Erases the key's name and return addresses, the metadata of its escrows, the details of its audit entries, its webhooks, its x402 resources and its failed registrations. Ids, amounts, charges and wallets stay. A repeat erases what is left.",
      body: erasureBody,
      data: erasureResult,
      errors: {
        404: "There is no such API key.",
        409: "The key has unfinished escrows, held charges or open x402 payments. Or it is the last active Admin key, or the key of the secret ADMIN_KEY.",
      },
    },
    (c, { body }) => eraseKey(c, body.apiKeyId, Date.now()),
  );

  return router;
}
