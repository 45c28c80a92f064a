/**
 * Builds the console into `public/`, where wrangler takes static files from. The bundler is wrangler's
 * esbuild, so no other bundler is a dependency.
 */
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

const SOURCE_FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** A first view is loaded whole, so this bounds how long it takes on a slow line. */
export const CONSOLE_GZIP_LIMIT_BYTES = 150 * 1024;

/** Everything that a browser loads, compressed as it is sent. */
export interface ConsoleSize {
  name: string;
  bytes: number;
  gzipBytes: number;
}

/**
 * The headers of the console's files, each of which is served without asking the Worker. Nothing but
 * files of this origin is loaded, and nothing but this origin is called.
 */
export const CONSOLE_HEADERS = [
  "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy: same-origin",
  "Cross-Origin-Resource-Policy: same-origin",
  "Referrer-Policy: no-referrer",
  "Strict-Transport-Security: max-age=31536000; includeSubDomains",
  "X-Content-Type-Options: nosniff",
  "X-Frame-Options: DENY",
];

/** Where people look at transactions and addresses, for each network; see `ui/explorer.tsx`. */
const EXPLORER_URLS = {
  Preprod: process.env.EXPLORER_URL_PREPROD ?? "https://preprod.cexplorer.io/{page}/{id}",
  Mainnet: process.env.EXPLORER_URL_MAINNET ?? "https://cexplorer.io/{page}/{id}",
};

/** How the console is bundled. */
export const consoleBundle: BuildOptions = {
  entryPoints: { app: join(SOURCE_FOLDER, "main.tsx"), style: join(SOURCE_FOLDER, "style.css") },
  outdir: SOURCE_FOLDER,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { EXPLORER_URLS: JSON.stringify(EXPLORER_URLS) },
  legalComments: "none",
  logLevel: "warning",
};

/**
 * Bundles the console: `console.html`, served at `/console`, and what it loads below that.
 *
 * @param folder - where static files are served from
 * @throws with esbuild's messages when it does not build
 */
export async function buildConsole(folder: string): Promise<ConsoleSize[]> {
  const target = join(folder, "console");
  await mkdir(target, { recursive: true });
  await build({ ...consoleBundle, outdir: target });
  await copyFile(join(SOURCE_FOLDER, "icon.svg"), join(target, "icon.svg"));
  await copyFile(join(SOURCE_FOLDER, "index.html"), join(folder, "console.html"));
  return measureConsole(folder);
}

/** What was built into a folder, largest first. */
export async function measureConsole(folder: string): Promise<ConsoleSize[]> {
  const names = ["console.html", "console/app.js", "console/style.css", "console/icon.svg"];
  const sizes = names.map(async (name) => {
    const content = await readFile(join(folder, name));
    return { name, bytes: content.length, gzipBytes: gzipSync(content).length };
  });
  return (await Promise.all(sizes)).sort((a, b) => b.gzipBytes - a.gzipBytes);
}
