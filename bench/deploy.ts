/** What a deployment of each environment uploads, as wrangler's dry run makes it, and what a browser loads. */
import { join } from "node:path";
import { CONSOLE_GZIP_LIMIT_BYTES, measureConsole } from "../console/build.ts";
import { buildWorker, GZIP_LIMIT_BYTES, isSmallEnough } from "../devnet/build.ts";
import { PUBLIC } from "../devnet/folders.ts";
import type { BenchContext } from "./support/service.ts";
import type { Row } from "./support/table.ts";

/** Of `wrangler.toml`; production has no name there. */
const ENVIRONMENTS = ["", "staging"];

/**
 * Runs `wrangler deploy --dry-run` for every environment, which checks its configuration as well.
 *
 * @throws with wrangler's messages when one cannot be deployed
 */
export async function benchDeployments({ folder, limits }: BenchContext): Promise<Row[]> {
  const kib = (bytes: number) => Math.round(bytes / 1024);
  const rows: Row[] = [];
  for (const environment of ENVIRONMENTS) {
    const name = environment || "production";
    const bundle = await buildWorker(join(folder, `deploy-${name}`), environment);
    limits.counted(isSmallEnough(bundle) ? null : `the bundle of ${name} is too large`);
    const { bytes, gzipBytes } = bundle;
    rows.push({
      environment: name,
      "bundle KiB": kib(bytes),
      "gzip KiB": kib(gzipBytes),
      "limit KiB": kib(GZIP_LIMIT_BYTES),
    });
  }
  const files = await measureConsole(PUBLIC);
  const gzipBytes = files.reduce((sum, file) => sum + file.gzipBytes, 0);
  limits.counted(gzipBytes > CONSOLE_GZIP_LIMIT_BYTES ? "the console is too large" : null);
  rows.push({
    environment: "console",
    "bundle KiB": kib(files.reduce((sum, file) => sum + file.bytes, 0)),
    "gzip KiB": kib(gzipBytes),
    "limit KiB": kib(CONSOLE_GZIP_LIMIT_BYTES),
  });
  return rows;
}
