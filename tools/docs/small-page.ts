import { readGuideGroups } from "./guides.ts";

/** The style is in the page, which loads nothing. */
export const SMALL_PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The page at `/docs` where the site of `tools/site` is not built. It links what there is.
 *
 * @param index - docs/llms.txt, whose texts have no characters of HTML
 */
export function renderSmallPage(index: string): string {
  const groups = readGuideGroups(index).map(({ title, guides }) => {
    const items = guides.map(
      (guide) =>
        `<li><a href="/docs/${guide.name}.md">${guide.title}</a>: ${guide.description}</li>`,
    );
    return `<h2>${title}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent payment service: documentation</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem }
</style>
</head>
<body>
<main>
<h1>Documentation</h1>
<p>The API is described by an <a href="/api/v1/openapi.json">OpenAPI document</a>. Each
<a href="/docs/errors">error code</a> is explained. The guides below are Markdown, and models find them in
<a href="/llms.txt">llms.txt</a>.</p>
${groups.join("\n")}
</main>
</body>
</html>
`;
}
