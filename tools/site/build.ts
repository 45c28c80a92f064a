/**
 * `npm run site`: builds the documentation at `/docs` from docs/ and the OpenAPI document with Astro
 * Starlight, and puts it into `public/`. Its packages are installed when they are missing or old.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PUBLIC } from "../../devnet/folders.ts";
import { writeStaticHeaders } from "../../devnet/static-headers.ts";
import { readDocument } from "../docs/document.ts";
import { readGuides } from "../docs/read-guides.ts";
import { createPages, createSidebar } from "./content.ts";
import { addSamples, omitErrorBodies, type SampledDocument } from "./samples.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const HERE = fileURLToPath(new URL(".", import.meta.url));
const OUTPUT = join(HERE, "dist");
/** Packages of which the site contains code. */
const CONTAINED = [
  "@astrojs/starlight",
  "astro",
  "astro-expressive-code",
  "pagefind",
  "starlight-openapi",
];

/** Builds the site into `public/`. */
export async function buildSite(): Promise<void> {
  await install();
  const document = (await readDocument()) as SampledDocument;
  addSamples(document);
  omitErrorBodies(document);
  writeContent(document);
  rmSync(OUTPUT, { recursive: true, force: true });
  // The packages' Node, since a machine's own may be too old for Astro.
  await run(process.execPath, [join(HERE, "node_modules/astro/bin/astro.mjs"), "build"]);
  publish();
}

async function install(): Promise<void> {
  const lock = join(HERE, "package-lock.json");
  const installed = join(HERE, "node_modules/.package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  await run("npm", ["ci", "--include=dev", "--no-audit", "--no-fund"]);
}

async function run(command: string, args: string[]): Promise<void> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ASTRO_TELEMETRY_DISABLED: "1",
    NODE_ENV: "production",
  };
  // Vitest sets these for its tests, and Vite would take them for the site's own.
  for (const name of ["BASE_URL", "DEV", "MODE", "PROD"]) delete env[name];
  try {
    await promisify(execFile)(command, args, { cwd: HERE, env, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`the site does not build\n${stdout}${stderr}`, { cause: error });
  }
}

function writeContent(document: SampledDocument): void {
  const generated = join(HERE, "generated");
  const content = join(HERE, "src/content/docs");
  for (const folder of [generated, content]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  writeFileSync(join(generated, "openapi.json"), JSON.stringify(document));
  const docs = join(ROOT, "docs");
  const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
  const index = read("docs/llms.txt");
  writeFileSync(join(generated, "sidebar.json"), JSON.stringify(createSidebar(index)));
  const sources = { index, changelog: read("CHANGELOG.md"), guides: readGuides() };
  for (const { path, text } of createPages(sources)) writeFileSync(join(content, path), text);
  for (const name of readdirSync(docs))
    if (name.endsWith(".png")) cpSync(join(docs, name), join(content, name));
}

/** Puts the site in the place of the small page, beside the guides' Markdown. */
function publish(): void {
  const docs = join(PUBLIC, "docs");
  writeStaticHeaders(policyOf(OUTPUT));
  writeFileSync(join(OUTPUT, "NOTICE.txt"), licenses());
  repairPages();
  for (const name of readdirSync(docs))
    if (!name.endsWith(".md")) rmSync(join(docs, name), { recursive: true });
  cpSync(OUTPUT, docs, { recursive: true });
  renameSync(join(docs, "index.html"), join(PUBLIC, "docs.html"));
}

/** Repairs what keeps people out: headings that skip levels or are empty, and tables that no key scrolls. */
function repairPages(): void {
  for (const page of globSync("**/*.html", { cwd: OUTPUT })) {
    const path = join(OUTPUT, page);
    const html = readFileSync(path, "utf8")
      .replace(/<h5( class="sl-openapi-examples-heading[^>]*>[\s\S]*?)<\/h5>/g, "<p$1</p>")
      .replaceAll("<th></th>", "<td></td>")
      .replaceAll("<table>", '<table tabindex="0">');
    writeFileSync(path, html);
  }
}

/** Scripts in the pages are allowed by their hashes. The search runs WebAssembly; code has inline styles. */
function policyOf(folder: string): string {
  const hashes = new Set<string>();
  for (const page of globSync("**/*.html", { cwd: folder })) {
    const html = readFileSync(join(folder, page), "utf8");
    for (const [, attributes = "", script = ""] of html.matchAll(
      /<script([^>]*)>([\s\S]*?)<\/script>/g,
    ))
      if (!/\bsrc=/.test(attributes))
        hashes.add(`'sha256-${createHash("sha256").update(script).digest("base64")}'`);
  }
  return [
    "default-src 'none'",
    `script-src 'self' 'wasm-unsafe-eval' ${[...hashes].sort().join(" ")}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function licenses(): string {
  const texts = CONTAINED.map((name) => {
    const folder = join(HERE, "node_modules", name);
    const [file] = globSync("LICEN[SC]E{,/LICENSE}", { cwd: folder }).filter((one) =>
      statSync(join(folder, one)).isFile(),
    );
    const { license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const text = file ? readFileSync(join(folder, file), "utf8") : `${author?.name ?? author}\n`;
    return `${name} (${license})\n\n${text}`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

if (import.meta.main)
  await buildSite().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
