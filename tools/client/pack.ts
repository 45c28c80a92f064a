/**
 * `npm run pack:client [-- FOLDER]`: builds the client, packs it as npm would publish it, and prints the
 * path of the file. The folder is `dist` unless another one is given.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const CLIENT = fileURLToPath(new URL("../../client", import.meta.url));

const folder = path.resolve(process.argv[2] ?? path.join(CLIENT, "../dist"));
mkdirSync(folder, { recursive: true });
const args = ["pack", "--json", "--foreground-scripts=false", "--pack-destination", folder];
const [{ filename }] = JSON.parse(
  execFileSync("npm", args, {
    cwd: CLIENT,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  }),
);
console.log(path.join(folder, filename));
