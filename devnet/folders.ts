/** Whether the folders that `npm start` needs are as it needs them; what is not is told in a sentence. */
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));
/** Where wrangler takes static files from. */
export const PUBLIC = fileURLToPath(new URL("../public", import.meta.url));
const ASSETS = [
  join(PUBLIC, "docs.html"),
  join(PUBLIC, "console.html"),
  join(CHECKOUT, "src/packages/pdf-lib.mjs"),
  join(CHECKOUT, "src/packages/viem.mjs"),
  join(CHECKOUT, "client/generated/wire.ts"),
];

/** @throws when nothing can be written to the checkout, where secrets are kept and the build works */
export function requireWritableCheckout(): void {
  if (!isWritable(CHECKOUT))
    throw new Error(`${CHECKOUT} cannot be written to, and npm start keeps .dev.vars in it`);
}

/** @throws when the files of the documentation or of the console are missing, which `npm ci` puts there */
export function requireAssets(): void {
  if (!ASSETS.every((path) => existsSync(path)))
    throw new Error(
      "public/, src/packages/ or client/generated/ has not been made: run `npm run prepare`, which npm ci leaves out with --ignore-scripts",
    );
}

/**
 * Makes the folder of `--keep` when it is missing.
 *
 * @throws when it is a file, lies below one, or cannot be written to
 */
export function requireFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOTDIR")
      throw new Error(`--keep needs a folder, and ${path} is a file or lies below one`);
    throw new Error(`--keep: the folder ${path} cannot be made (${code})`);
  }
  if (!isWritable(path)) throw new Error(`--keep: the folder ${path} cannot be written to`);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
