import { Hono } from "hono";
import type { AppContext, AppEnv } from "../context.ts";
import { ERRORS_PATH, errorsPage } from "../errors/page.ts";
import { withNames } from "../names/table.ts";
import { type Mounted, openApiDocument } from "./document.ts";

const DOCUMENT_PATH = "/api/v1/openapi.json";
/** The second is where clients of similar services look for it. */
const DOCUMENT_PATHS = [DOCUMENT_PATH, "/api-docs"] as const;

/**
 * The OpenAPI 3.1 document at `/api/v1/openapi.json` and at `/api-docs`, a page at `/docs` to browse
 * it, and one that explains the errors. Everything they load comes from this origin. The guides are
 * beside them as Markdown, with `/llms.txt` as their index for models.
 *
 * @param mounted - what the document is about
 */
export function referenceRoutes(mounted: readonly Mounted[]): Hono<AppEnv> {
  const router = new Hono<AppEnv>({ strict: false });

  // The document is the same for everyone, so an isolate assembles it once.
  let document: string | null = null;
  for (const path of DOCUMENT_PATHS)
    router.get(path, (c) => {
      document ??= withNames(JSON.stringify(openApiDocument(mounted)));
      return c.body(document, 200, { "content-type": "application/json" });
    });

  const page = (html: string) => (c: AppContext) =>
    c.html(html, 200, { "content-security-policy": PAGE_POLICY });
  router.get("/docs", page(PAGE));
  router.get(ERRORS_PATH, page(errorsPage()));
  for (const path of ["/docs/rapidoc-min.js", "/docs/:name{[a-z0-9-]+\\.md}", "/llms.txt"])
    router.get(path, (c) => {
      // Without a body, which the assets would leave unread and nobody could read afterwards.
      const { url, method, headers } = c.req.raw;
      return c.env.ASSETS.fetch(new Request(url, { method, headers }));
    });

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
