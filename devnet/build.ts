/**
 * Builds the Worker bundle into `dist/`, prints its size and fails when that is too much; see
 * `npm run build`. What its start costs is measured by `npm run bench -- startup`.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { buildConsole, CONSOLE_GZIP_LIMIT_BYTES } from "../console/build.ts";
import { PUBLIC, requireAssets } from "./folders.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * A start costs in proportion to what is loaded. The platform takes 3 MiB on its free plan and 10 MiB
 * otherwise, fonts counted in.
 */
export const GZIP_LIMIT_BYTES = 512 * 1024;

/** Where `npm run build` puts the bundle. */
export const DIST = join(root, "dist");

export interface Bundle {
  /** The built Worker: one minified ES module. */
  path: string;
  bytes: number;
  gzipBytes: number;
}

/**
 * Bundles `src/worker.ts` with the settings of `wrangler.toml` into a folder, as a deployment does.
 *
 * @param environment - of `wrangler.toml`. Default: production.
 * @throws Error with the bundler's messages
 */
export async function buildWorker(folder = DIST, environment = ""): Promise<Bundle> {
  requireAssets();
  return bundleWorker(folder, environment);
}

/**
 * Builds as `buildWorker` does, but needs only `src/packages/` and the folder `public/`.
 *
 * @throws with the bundler's messages when the build fails
 */
export async function bundleWorker(folder: string, environment = ""): Promise<Bundle> {
  const wrangler = fileURLToPath(
    new URL("bin/wrangler.js", import.meta.resolve("wrangler/package.json")),
  );
  const args = [wrangler, "deploy", "--dry-run", `--env=${environment}`, "--outdir", folder];
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
  try {
    await promisify(execFile)(process.execPath, args, { cwd: root, env });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`the Worker does not build\n${stdout}${stderr}`);
  }
  const path = join(folder, "worker.js");
  const module = readFileSync(path);
  return { path, bytes: module.length, gzipBytes: gzipSync(module).length };
}

/** Whether a bundle may be deployed. Its size is the same on every machine, busy or not. */
export function isSmallEnough({ gzipBytes }: Bundle): boolean {
  return gzipBytes <= GZIP_LIMIT_BYTES;
}

async function build(): Promise<void> {
  const bundle = await buildWorker();
  const kib = (n: number) => `${(n / 1024).toFixed(0)} KiB`;
  const { bytes, gzipBytes } = bundle;
  console.log(
    `dist/worker.js: ${kib(bytes)}, gzip ${kib(gzipBytes)} (limit ${kib(GZIP_LIMIT_BYTES)})`,
  );
  const files = await buildConsole(PUBLIC);
  const consoleBytes = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
  console.log(`public/console: gzip ${kib(consoleBytes)} (limit ${kib(CONSOLE_GZIP_LIMIT_BYTES)})`);
  if (!isSmallEnough(bundle) || consoleBytes > CONSOLE_GZIP_LIMIT_BYTES) process.exitCode = 1;
}

if (import.meta.main)
  await build().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
