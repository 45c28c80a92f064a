/**
 * Puts the static files of the API reference (`src/http/openapi/reference.ts`) into `public/`, where
 * wrangler takes them from. Run after an install and before anything that starts the Worker.
 */
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const renderer = new URL("node_modules/rapidoc/dist/", root);
const target = new URL("public/docs/", root);

await mkdir(fileURLToPath(target), { recursive: true });
for (const name of ["rapidoc-min.js", "rapidoc-min.js.LICENSE.txt"])
  await copyFile(new URL(name, renderer), new URL(name, target));

// The platform serves the files without asking the Worker, which sets such headers on everything else.
const headers = ["X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer"];
await writeFile(
  new URL("../_headers", target),
  ["/docs/*", ...headers.map((header) => `  ${header}`), ""].join("\n"),
);
