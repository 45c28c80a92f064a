/**
 * Prepares static files. `public/`, from which wrangler serves them, gets the console and NOTICE. It gets the
 * docs as Markdown, their index for models (llmstxt.org), and a page that lists them. A site of
 * `npm run site` goes. `src/packages/` gets the packages that are separate modules. Run it after an
 * install and before anything that starts the Worker.
 */
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { buildConsole } from "../console/build.ts";
import { readGuides } from "../tools/docs/read-guides.ts";
import { renderSmallPage, SMALL_PAGE_POLICY } from "../tools/docs/small-page.ts";
import { buildPackages } from "../tools/packages.ts";
import { writeStaticHeaders } from "./static-headers.ts";

const root = new URL("../", import.meta.url);
const target = new URL("public/docs/", root);

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
for (const [name, text] of Object.entries(readGuides()))
  await writeFile(new URL(name, target), text);
const index = await readFile(new URL("docs/llms.txt", root), "utf8");
await writeFile(new URL("../llms.txt", target), index);
await writeFile(new URL("../docs.html", target), renderSmallPage(index));
await copyFile(new URL("NOTICE", root), new URL("../NOTICE.txt", target));

await buildConsole(fileURLToPath(new URL("../", target)));
await buildPackages();

writeStaticHeaders(SMALL_PAGE_POLICY);
await writeFile(new URL("../_redirects", target), "/ /console 302\n");
