/**
 * Prepares static files. `public/`, from which wrangler serves them, gets the API reference
 * (`src/http/reference.ts`), the console, NOTICE, and the docs as Markdown with their index for
 * models (llmstxt.org). `src/packages/` gets the packages that are separate modules. Run it after an
 * install and before anything that starts the Worker.
 */
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { buildConsole, CONSOLE_HEADERS } from "../console/build.ts";
import { buildPackages } from "../tools/packages.ts";

const root = new URL("../", import.meta.url);
const renderer = new URL("node_modules/rapidoc/dist/", root);
const target = new URL("public/docs/", root);

await mkdir(fileURLToPath(target), { recursive: true });
for (const name of ["rapidoc-min.js", "rapidoc-min.js.LICENSE.txt"])
  await copyFile(new URL(name, renderer), new URL(name, target));

const navigation = "navigation.js";
await copyFile(new URL(`tools/docs/${navigation}`, root), new URL(navigation, target));

const docs = new URL("docs/", root);
for (const name of await readdir(docs))
  if (name.endsWith(".md")) await copyFile(new URL(name, docs), new URL(name, target));
await copyFile(new URL("llms.txt", docs), new URL("../llms.txt", target));
await copyFile(new URL("NOTICE", root), new URL("../NOTICE.txt", target));

await buildConsole(fileURLToPath(new URL("../", target)));
await buildPackages();

// The platform serves the files without asking the Worker, which sets such headers on everything else.
const headers = {
  "/docs/*": ["X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer"],
  "/console": CONSOLE_HEADERS,
  "/console/*": CONSOLE_HEADERS,
};
const lines = Object.entries(headers).flatMap(([path, names]) => [
  path,
  ...names.map((header) => `  ${header}`),
]);
await writeFile(new URL("../_headers", target), `${lines.join("\n")}\n`);
await writeFile(new URL("../_redirects", target), "/ /console 302\n");
