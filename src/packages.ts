/**
 * Packages that are large and rarely needed. A module of the Worker is compiled when it starts even if it
 * is imported later, so these are modules of their own beside it (`find_additional_modules` of
 * wrangler.toml), bundled by `npm run prepare`. They are named here, since the bundler leaves their
 * names as they stand, which is right in this folder only.
 */

export const loadPdfLib = () => import("./packages/pdf-lib.mjs");

export const loadFontkit = () => import("./packages/fontkit.mjs");

/** Awaited by modules themselves as they begin, which must therefore be behind an `import()`. */
export const loadViem = () => import("./packages/viem.mjs");
