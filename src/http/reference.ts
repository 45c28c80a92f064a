import { Hono } from "hono";
import type { AppEnv } from "./context.ts";
import { createOpenApiDocument, type MountedRouter } from "./document.ts";
import { ERRORS_PATH, renderErrorsPage } from "./errors/page.ts";
import { toWireText } from "./names/wire-names.ts";

/** The second is where clients of similar services look for the document. */
const OPENAPI_PATHS = ["/api/v1/openapi.json", "/api-docs"];

/**
 * The OpenAPI 3.1 document at `/api/v1/openapi.json` and at `/api-docs`, and a page that explains the
 * errors. `/docs` is a static page, or a site (`tools/site`). The guides are below it as Markdown, with
 * `/llms.txt` as their index for models.
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

  const errorsPage = renderErrorsPage();
  router.get(ERRORS_PATH, (c) =>
    c.html(errorsPage, 200, { "content-security-policy": PAGE_SECURITY_POLICY }),
  );
  for (const path of ["/docs", "/docs/:name{[a-z0-9-]+\\.md}", "/llms.txt"])
    router.get(path, async (c) => {
      // Without a body, which the assets would leave unread and nobody could read afterwards.
      const { url, method, headers } = c.req.raw;
      const file = await c.env.ASSETS.fetch(new Request(url, { method, headers }));
      // Of a fetched answer no header can be set.
      return new Response(file.body, file);
    });

  return router;
}

/** The style is in the page, which loads nothing. */
const PAGE_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
