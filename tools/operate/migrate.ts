/**
 * `npm run migrate:remote [-- --env=NAME]`: brings both databases of a deployment to the tables of this
 * checkout. It prints first where the ledger stands, so that there is a way back. It can be stopped and run
 * again: it continues where it was.
 */
import { applyMigrations, readMigrations } from "./apply-migrations.ts";
import { openWranglerDatabase, runWrangler } from "./wrangler-database.ts";

const flags = process.argv.slice(2);
const environment = flags.length > 0 ? flags : ["--env="];

runWrangler(["d1", "time-travel", "info", "DB", ...environment]);
for (const [binding, folder] of [
  ["DB", "migrations/"],
  ["SEARCH_DB", "migrations-search/"],
] as const) {
  const database = openWranglerDatabase(binding, ["--remote", ...environment]);
  const migrations = readMigrations(new URL(`../../${folder}`, import.meta.url));
  await applyMigrations(database, migrations, (line) => console.log(`${binding}: ${line}`));
}
