import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONSOLE_HEADERS } from "../console/build.ts";
import { PUBLIC } from "./folders.ts";

/**
 * Writes the headers of static files. The platform serves these files itself. The Worker sets such
 * headers on everything else.
 *
 * @param docsPolicy - the content security policy of `/docs` and the pages below it
 */
export function writeStaticHeaders(docsPolicy: string): void {
  const docs = [
    `Content-Security-Policy: ${docsPolicy}`,
    "Referrer-Policy: no-referrer",
    "Strict-Transport-Security: max-age=31536000; includeSubDomains",
    "X-Content-Type-Options: nosniff",
    "X-Frame-Options: DENY",
  ];
  const headers = {
    "/docs": docs,
    "/docs/*": docs,
    // The name of such a file changes with its content.
    "/docs/assets/*": ["Cache-Control: public, max-age=31536000, immutable"],
    "/console": CONSOLE_HEADERS,
    "/console/*": CONSOLE_HEADERS,
  };
  const lines = Object.entries(headers).flatMap(([path, names]) => [
    path,
    ...names.map((header) => `  ${header}`),
  ]);
  writeFileSync(join(PUBLIC, "_headers"), `${lines.join("\n")}\n`);
}
