/**
 * Bundles each package of `src/packages.ts` into one module, which a deployment uploads beside the
 * Worker's. The bundler is wrangler's esbuild, with the conditions that wrangler sets.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";

const TARGET = fileURLToPath(new URL("../src/packages", import.meta.url));

/** What fontkit reads WOFF2 files with: 480 KB that are not needed for fonts in TrueType, as ours are. */
const withoutBrotli: Plugin = {
  name: "without-brotli",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^brotli\/decompress\.js$/ }, ({ path }) => ({
      path,
      namespace: "without",
    }));
    onLoad({ filter: /.*/, namespace: "without" }, () => ({
      contents: 'export default () => { throw new Error("WOFF2 is not read"); };',
    }));
  },
};

/** How the modules are bundled. */
export const packageBundles: BuildOptions = {
  entryPoints: { "pdf-lib": "pdf-lib", fontkit: "fontkit", viem: join(TARGET, "viem.mts") },
  outdir: TARGET,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  mainFields: ["browser", "module", "main"],
  plugins: [withoutBrotli],
  legalComments: "none",
  logLevel: "warning",
};

/** @throws with esbuild's messages when one does not build */
export async function buildPackages(): Promise<void> {
  await build(packageBundles);
}
