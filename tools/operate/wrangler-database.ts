import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { MigratedDatabase, Row } from "./apply-migrations.ts";

const wrangler = fileURLToPath(
  new URL("bin/wrangler.js", import.meta.resolve("wrangler/package.json")),
);
/** Of an answer. */
const MAX_BUFFER_BYTES = 64 * 1024 * 1024;

/** Runs wrangler, which may ask. Ends with its code when it fails. */
export function runWrangler(args: readonly string[]): void {
  const { status, error } = spawnSync(process.execPath, [wrangler, ...args], { stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/**
 * A database of `wrangler.toml`, through `wrangler d1 execute`, which sends its statements as one batch.
 *
 * @param flags - say which: `--remote` or `--local`, and the environment
 */
export function openWranglerDatabase(binding: string, flags: readonly string[]): MigratedDatabase {
  return {
    async run(statements) {
      const command = ["--command", statements.join(";\n")];
      const results = JSON.parse(execute(binding, flags, command)) as { results: Row[] }[];
      return results.map((result) => result.results);
    },
  };
}

/** Runs the statements of a file in one transaction. @param flags - as those of `openWranglerDatabase` */
export function executeFile(binding: string, flags: readonly string[], path: string): void {
  execute(binding, flags, ["--file", path]);
}

/** What wrangler answers, as JSON. */
function execute(binding: string, flags: readonly string[], source: readonly string[]): string {
  const { status, stdout, error } = spawnSync(
    process.execPath,
    [wrangler, "d1", "execute", binding, ...flags, "--json", "--yes", ...source],
    { stdio: ["inherit", "pipe", "inherit"], encoding: "utf8", maxBuffer: MAX_BUFFER_BYTES },
  );
  if (error) throw error;
  if (status !== 0) throw new Error(`wrangler d1 execute ${binding}: ${stdout}`);
  return stdout;
}
