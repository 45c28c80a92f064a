/**
 * `npm run generate -- --name what_changed`: writes the migration that brings the database from the
 * last one to the tables in `src/`. drizzle has no word for WITHOUT ROWID, so it is added here.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const migrations = new URL("migrations/", root);

/**
 * Small rows found by their key alone: without a rowid a row is written once, not twice. A table
 * whose rows hold a document is better off with one.
 */
const WITHOUT_ROWID = [
  "audit",
  "chain_tip",
  "checkpoint",
  "clock",
  "escrow_action",
  "hot_wallet",
  "idempotency",
  "incident",
  "invoice_rate",
  "invoice_series",
  "invoiced_payment",
  "job",
  "registry_health",
  "registry_step",
  "webhook_delivery",
  "worker_bot",
  "worker_bot_lock",
  "worker_bot_migration",
  "worker_bot_move",
  "worker_bot_version",
];

const before = new Set(sqlFiles());
execFileSync(
  process.execPath,
  [
    fileURLToPath(new URL("node_modules/drizzle-kit/bin.cjs", root)),
    "generate",
    ...process.argv.slice(2),
  ],
  { cwd: fileURLToPath(root), stdio: "inherit" },
);
for (const name of sqlFiles().filter((file) => !before.has(file))) {
  const file = new URL(name, migrations);
  let sql = readFileSync(file, "utf8");
  for (const table of WITHOUT_ROWID)
    sql = sql.replace(
      new RegExp(`(CREATE TABLE \`${table}\` \\([\\s\\S]*?\\n\\));`),
      "$1 WITHOUT ROWID;",
    );
  writeFileSync(file, sql);
}

function sqlFiles(): string[] {
  return readdirSync(migrations).filter((file) => file.endsWith(".sql"));
}
