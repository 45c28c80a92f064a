/**
 * Builds the Worker bundle into `dist/`, prints its size and what its start costs, and fails when
 * that is too much; see `npm run build`.
 */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Where `npm run build` puts the bundle. */
export const DIST = join(root, "dist");

export interface Bundle {
  /** The built Worker: one minified ES module. */
  path: string;
  bytes: number;
  gzipBytes: number;
}

/**
 * Bundles `src/worker.ts` with the settings of `wrangler.toml` into a folder. Nothing is deployed
 * and no network is needed.
 *
 * @throws with the bundler's messages when the build fails.
 */
export async function buildWorker(folder = DIST): Promise<Bundle> {
  const wrangler = fileURLToPath(
    new URL("bin/wrangler.js", import.meta.resolve("wrangler/package.json")),
  );
  const args = [wrangler, "deploy", "--dry-run", "--minify", "--outdir", folder];
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

if (import.meta.main) {
  const { bytes, gzipBytes } = await buildWorker();
  const kib = (n: number) => `${(n / 1024).toFixed(0)} KiB`;
  console.log(`dist/worker.js: ${kib(bytes)}, gzip ${kib(gzipBytes)}`);
  const startup = join(root, "bench/startup.ts");
  process.exitCode = spawnSync(process.execPath, [startup], { stdio: "inherit" }).status ?? 1;
}
