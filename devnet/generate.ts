/**
 * `npm run generate` writes `migrations/` and `migrations-archive/` from the tables in `src/`. It adds what
 * drizzle has no word for: WITHOUT ROWID and triggers. A later change of a trigger needs a migration by hand.
 *
 * Before 1.0.0 is released no database has to be kept, and the one migration is written anew. The same
 * tables give the same files. From then on `npm run generate -- --name what_changed` adds a migration.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SUBSCRIPTION_TRIGGERS } from "../src/webhooks/model/subscription-triggers.ts";

const root = new URL("../", import.meta.url);

/**
 * Small rows found by their key alone: without a rowid a row is written once, not twice. A table
 * whose rows hold a document is better off with one.
 */
const WITHOUT_ROWID = [
  "archive_range",
  "archived_escrow_count",
  "audit",
  "chain_tip",
  "checkpoint",
  "clock",
  "escrow_action",
  "escrow_identity",
  "escrow_transaction",
  "escrow_undo",
  "hot_wallet",
  "idempotency",
  "incident",
  "invoice_rate",
  "invoice_series",
  "invoiced_payment",
  "job",
  "registry_health",
  "registry_step",
  "wallet_task",
  "wallet_transaction_content",
  "webhook_delivery",
  "webhook_subscription",
  "worker_bot",
  "worker_bot_lock",
  "worker_bot_migration",
  "worker_bot_move",
  "worker_bot_version",
  "x402_payment_attempt",
  "x402_settlement",
];

/** Of the tables of an archive. */
const WITHOUT_ROWID_IN_ARCHIVES = [
  "archive_operation",
  "audit",
  "escrow_action",
  "escrow_transaction",
  "x402_payment_attempt",
  "x402_settlement",
];

/** Drizzle takes a random one. */
const INITIAL_SNAPSHOT_ID = "00000000-0000-4000-8000-000000000000";

/** Migrations of a kind of database. */
interface MigrationFolder {
  /** Of the repository, like `config`. */
  path: string;
  config: string;
  withoutRowid: readonly string[];
  triggers: readonly string[];
}

const { version } = readJson("package.json");
const isReleased = !/^(0\.|1\.0\.0-)/.test(version);
generate({
  path: "migrations/",
  config: "drizzle.config.ts",
  withoutRowid: WITHOUT_ROWID,
  triggers: SUBSCRIPTION_TRIGGERS,
});
generate({
  path: "migrations-archive/",
  config: "drizzle-archive.config.ts",
  withoutRowid: WITHOUT_ROWID_IN_ARCHIVES,
  triggers: [],
});

function generate({ path, config, withoutRowid, triggers }: MigrationFolder): void {
  const folder = new URL(path, root);
  if (!isReleased) rmSync(folder, { recursive: true, force: true });
  const before = new Set(isReleased ? sqlFiles(folder) : []);
  execFileSync(
    process.execPath,
    [
      fileURLToPath(new URL("node_modules/drizzle-kit/bin.cjs", root)),
      ...["generate", "--config", config],
      ...(isReleased ? process.argv.slice(2) : ["--name", "initial"]),
    ],
    { cwd: fileURLToPath(root), stdio: "inherit" },
  );
  for (const name of sqlFiles(folder).filter((file) => !before.has(file))) {
    const file = new URL(name, folder);
    let sql = readFileSync(file, "utf8");
    for (const table of withoutRowid) {
      const created = new RegExp(`(CREATE TABLE \`${table}\` \\([\\s\\S]*?\\n\\));`);
      if (!isReleased && !created.test(sql)) throw new Error(`WITHOUT_ROWID: there is no ${table}`);
      sql = sql.replace(created, "$1 WITHOUT ROWID;");
    }
    if (!isReleased) sql += triggers.map((one) => `--> statement-breakpoint\n${one};`).join("\n");
    writeFileSync(file, sql);
  }
  if (!isReleased) makeReproducible(path);
}

/** Drizzle writes the time and a random id into the files beside the migration. */
function makeReproducible(path: string): void {
  const journal = readJson(`${path}meta/_journal.json`);
  for (const entry of journal.entries) entry.when = 0;
  writeJson(`${path}meta/_journal.json`, journal);
  const snapshot = `${path}meta/0000_snapshot.json`;
  writeJson(snapshot, { ...readJson(snapshot), id: INITIAL_SNAPSHOT_ID });
}

function readJson(path: string) {
  return JSON.parse(readFileSync(new URL(path, root), "utf8"));
}

function writeJson(path: string, content: object): void {
  writeFileSync(new URL(path, root), `${JSON.stringify(content, null, 2)}\n`);
}

function sqlFiles(folder: URL): string[] {
  return readdirSync(folder).filter((file) => file.endsWith(".sql"));
}
