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

const CARDANO_EXPLORERS = {
  Preprod: "https://preprod.cexplorer.io",
  Mainnet: "https://cexplorer.io",
};

/** By chain id of `eip155`. */
const EVM_EXPLORERS = {
  1: "https://etherscan.io",
  10: "https://optimistic.etherscan.io",
  56: "https://bscscan.com",
  137: "https://polygonscan.com",
  8453: "https://basescan.org",
  42161: "https://arbiscan.io",
  43113: "https://testnet.snowtrace.io",
  43114: "https://snowtrace.io",
  80002: "https://amoy.polygonscan.com",
  84532: "https://sepolia.basescan.org",
  11155111: "https://sepolia.etherscan.io",
};

/**
 * Where people look at transactions and addresses, for each network and EVM chain; see `ui/explorer.tsx`.
 * `EXPLORER_URL_PREPROD`, `EXPLORER_URL_MAINNET` and `EXPLORER_URL_EIP155_<chain id>` come before the defaults.
 */
export function readExplorerUrls(
  variables: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const known = [
    ...Object.entries(CARDANO_EXPLORERS),
    ...Object.entries(EVM_EXPLORERS).map(([id, url]) => [`eip155:${id}`, url] as const),
  ].map(([name, url]) => [name, `${url}/{page}/{id}`] as const);
  const urls: Record<string, string> = Object.fromEntries(known);
  for (const [variable, url] of Object.entries(variables)) {
    const [, name = "", id] = /^EXPLORER_URL_(PREPROD|MAINNET|EIP155_(\d+))$/.exec(variable) ?? [];
    if (name === "" || url === undefined) continue;
    urls[id ? `eip155:${id}` : name === "PREPROD" ? "Preprod" : "Mainnet"] = url;
  }
  return urls;
}

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
  define: { EXPLORER_URLS: JSON.stringify(readExplorerUrls(process.env)) },
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
