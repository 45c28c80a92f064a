import { ERROR_CODES } from "./codes.ts";

/** Where the codes are explained; `error.docs` is this path with the code as its fragment. */
export const ERRORS_PATH = "/docs/errors";

/** The page at `ERRORS_PATH`. Its texts are this code's own, so nothing is escaped but backquotes. */
export function renderErrorsPage(): string {
  const sections = Object.entries(ERROR_CODES).map(
    ([code, { status, meaning, remedy }]) =>
      `<h2 id="${code}">${code}</h2>\n<p><b>${status}</b> ${renderInlineCode(meaning)}</p>\n<p>${renderInlineCode(remedy)}</p>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent payment service: errors</title>
<style>body { font: 1rem/1.5 sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
:target { background: #ffd }</style>
</head>
<body>
<h1>Errors</h1>
<p>What <code>error.code</code> of an answer means, and what to do. See the
<a href="/docs">documentation</a>.</p>
${sections.join("\n")}
</body>
</html>
`;
}

/** Text with its backquoted words as code. */
function renderInlineCode(text: string): string {
  return text.replace(/`([^`]+)`/g, "<code>$1</code>");
}
