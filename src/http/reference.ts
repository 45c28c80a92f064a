import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "./context.ts";
import { createRouter } from "./endpoint.ts";

const DOCUMENT_PATH = "/api/v1/openapi.json";

const OVERVIEW = `Payments and purchases of agent services, tracked on the chain.

* Bodies are JSON. Paths answer with and without a trailing slash.
* Every endpoint takes an API key in the header \`token\`, except where it says otherwise.
* The administration under \`/v1\` takes an Admin key as \`Authorization: Bearer …\`; its answers are
  \`{data, meta}\`, its errors \`{error, message, kind, meta}\`.
* Any other answer is \`{status, data}\`; an error is \`{"status":"error","error":{"message":"…"}}\`.
* Every answer carries \`x-request-id\`.
* A POST that creates takes \`Idempotency-Key\`: sent again within 24 hours it gets the first answer.`;

/**
 * The OpenAPI 3.1 document of the app at `/api/v1/openapi.json`, and a page at `/docs` to browse
 * it. Everything the page loads comes from this origin.
 *
 * @param app - the app that every feature is mounted on
 */
export function referenceRoutes(app: OpenAPIHono<AppEnv>): OpenAPIHono<AppEnv> {
  const router = createRouter();
  app.openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "apiKey",
    in: "header",
    name: "token",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An Admin API key.",
  });

  // The document is the same for everyone, so an isolate puts it together once.
  let document: string | null = null;
  router.get(DOCUMENT_PATH, (c) => {
    document ??= JSON.stringify(
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: { title: "Agent payment service", version: "1", description: OVERVIEW },
        servers: [{ url: "/" }],
      }),
    );
    return c.body(document, 200, { "content-type": "application/json" });
  });

  router.get("/docs", (c) => c.html(PAGE, 200, { "content-security-policy": PAGE_POLICY }));
  router.get("/docs/rapidoc-min.js", (c) => c.env.ASSETS.fetch(c.req.raw));

  return router;
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent payment service: API reference</title>
<script type="module" src="/docs/rapidoc-min.js"></script>
</head>
<body>
<rapi-doc spec-url="${DOCUMENT_PATH}" load-fonts="false" regular-font="sans-serif"
  mono-font="monospace" render-style="read" show-header="false" allow-server-selection="false"
  allow-spec-url-load="false" allow-spec-file-load="false" persist-auth="false">
</rapi-doc>
</body>
</html>
`;

/** The renderer sets styles on elements; scripts and requests stay on this origin. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
