/**
 * `npm run migrate:remote [-- --env=NAME]`: brings both databases of a deployment to the tables of this
 * checkout. It prints first where the ledger stands, so that there is a way back.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const wrangler = fileURLToPath(
  new URL("bin/wrangler.js", import.meta.resolve("wrangler/package.json")),
);
const environment = process.argv.slice(2);

/** Runs wrangler, which may ask; ends with its code when it fails. */
function d1(...args: string[]): void {
  const command = [wrangler, "d1", ...args, ...(environment.length > 0 ? environment : ["--env="])];
  const { status, error } = spawnSync(process.execPath, command, { stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

d1("time-travel", "info", "DB");
d1("migrations", "apply", "DB", "--remote");
d1("migrations", "apply", "SEARCH_DB", "--remote");
