import { Hono } from "hono";
import type { AppContext, AppEnv } from "./context.ts";
import { createOpenApiDocument, type MountedRouter } from "./document.ts";
import { ERRORS_PATH, renderErrorsPage } from "./errors/page.ts";
import { toWireText } from "./names/wire-names.ts";

const OPENAPI_PATH = "/api/v1/openapi.json";
/** The second is where clients of similar services look for it. */
const OPENAPI_PATHS = [OPENAPI_PATH, "/api-docs"] as const;

/**
 * The OpenAPI 3.1 document at `/api/v1/openapi.json` and at `/api-docs`, a page at `/docs` to browse
 * it, and one that explains the errors. Everything they load comes from this origin. The guides are
 * beside them as Markdown, with `/llms.txt` as their index for models.
 *
 * @param mounted - what the document is about
 */
export function createReferenceRoutes(mounted: readonly MountedRouter[]): Hono<AppEnv> {
  const router = new Hono<AppEnv>({ strict: false });

  // The document is the same for everyone, so an isolate assembles it once.
  let document: string | null = null;
  for (const path of OPENAPI_PATHS)
    router.get(path, (c) => {
      document ??= toWireText(JSON.stringify(createOpenApiDocument(mounted)));
      return c.body(document, 200, { "content-type": "application/json" });
    });

  const servePage = (html: string) => (c: AppContext) =>
    c.html(html, 200, { "content-security-policy": PAGE_SECURITY_POLICY });
  router.get("/docs", servePage(REFERENCE_PAGE));
  router.get(ERRORS_PATH, servePage(renderErrorsPage()));
  for (const path of [
    "/docs/rapidoc-min.js",
    "/docs/navigation.js",
    "/docs/:name{[a-z0-9-]+\\.md}",
    "/llms.txt",
  ])
    router.get(path, async (c) => {
      // Without a body, which the assets would leave unread and nobody could read afterwards.
      const { url, method, headers } = c.req.raw;
      const file = await c.env.ASSETS.fetch(new Request(url, { method, headers }));
      // Of a fetched answer no header can be set.
      return new Response(file.body, file);
    });

  return router;
}

const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent payment service: API reference</title>
<style>
body { margin: 0; font: 1rem/1.4 sans-serif }
h1 { position: absolute; clip-path: inset(50%); white-space: nowrap }
#finder { display: none }
rapi-doc { --blue: #005fa3; --green: #35650b; --orange: #8a4b00; --red: #b00020; --light-fg: #595959;
  --nav-get-color: #005fa3; --nav-post-color: #35650b; --nav-put-color: #8a4b00;
  --nav-delete-color: #b00020; --nav-head-color: #6b5300; --yellow: #6b5300 }
@media (max-width: 767px) {
  #finder { display: grid; gap: 0.5rem; padding: 0.75rem; background: #fff; color: #222 }
  #finder input, #finder select { width: 100%; box-sizing: border-box; font: inherit; padding: 0.5rem }
}
</style>
<script type="module" src="/docs/rapidoc-min.js"></script>
<script type="module" src="/docs/navigation.js"></script>
</head>
<body>
<header><h1>API reference</h1></header>
<nav id="finder" aria-label="Find an operation">
<label>Find an operation <input id="find" type="search" autocomplete="off"></label>
<label>Go to <select id="operations"></select></label>
</nav>
<rapi-doc spec-url="${OPENAPI_PATH}" load-fonts="false" regular-font="sans-serif"
  mono-font="monospace" render-style="focused" show-header="false" show-method-in-nav-bar="as-colored-text"
  use-path-in-nav-bar="true" primary-color="#005fa3" nav-bg-color="#ffffff" nav-text-color="#333333"
  nav-hover-bg-color="#eeeeee" nav-hover-text-color="#000000" nav-accent-color="#005fa3"
  schema-style="table" allow-server-selection="false" server-url="/" default-api-server="/"
  allow-spec-url-load="false" allow-spec-file-load="false" persist-auth="false">
</rapi-doc>
</body>
</html>
`;

/** The renderer sets styles on elements; scripts and requests stay on this origin. */
const PAGE_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
