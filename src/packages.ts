/**
 * Large packages that are rarely needed. The runtime compiles every module of the Worker at its
 * start, even a dynamic import. Therefore `npm run prepare` bundles these as separate modules
 * (`find_additional_modules` of wrangler.toml). The bundler keeps their names in this folder only.
 */

export const loadPdfLib = () => import("./packages/pdf-lib.mjs");

export const loadFontkit = () => import("./packages/fontkit.mjs");

/** Awaited by modules themselves as they begin, which must therefore be behind an `import()`. */
export const loadViem = () => import("./packages/viem.mjs");
