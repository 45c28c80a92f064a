/**
 * `npm run migrate:remote [-- --env=NAME]`: brings the databases of a deployment to the tables of this
 * checkout. It prints first where the ledger stands, so that there is a way back. Archives come first, since
 * both versions of the service read them. It can be stopped and run again: it continues where it was.
 */
import { fileURLToPath } from "node:url";
import { unstable_readConfig } from "wrangler";
import { applyMigrations, readMigrations } from "./apply-migrations.ts";
import { openWranglerDatabase, runWrangler } from "./wrangler-database.ts";

const flags = process.argv.slice(2);
const environment = flags.length > 0 ? flags : ["--env="];

runWrangler(["d1", "time-travel", "info", "DB", ...environment]);
const { d1_databases: databases }: { d1_databases: { binding: string }[] } = unstable_readConfig({
  config: fileURLToPath(new URL("../../wrangler.toml", import.meta.url)),
  env: environment.find((flag) => flag.startsWith("--env="))?.slice("--env=".length) ?? "",
}) as { d1_databases: { binding: string }[] };
const archives = databases
  .map(({ binding }) => binding)
  .filter((name) => /^ARCHIVE_\d+$/.test(name));
for (const [binding, folder] of [
  ...archives.map((name) => [name, "migrations-archive/"] as const),
  ["DB", "migrations/"],
  ["SEARCH_DB", "migrations-search/"],
] as const) {
  const database = openWranglerDatabase(binding, ["--remote", ...environment]);
  const migrations = readMigrations(new URL(`../../${folder}`, import.meta.url));
  await applyMigrations(database, migrations, (line) => console.log(`${binding}: ${line}`));
}
