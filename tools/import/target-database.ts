/** The database of this service, which an import writes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Statement } from "../../src/db/client.ts";
import type { MigratedDatabase } from "../operate/apply-migrations.ts";
import { executeFile, openWranglerDatabase } from "../operate/wrangler-database.ts";

export interface TargetDatabase extends MigratedDatabase {
  /** Runs statements in one transaction, however many. */
  write(statements: readonly string[]): Promise<void>;
}

/** The database `DB` of `wrangler.toml`. @param flags - say which: `--remote` or `--local`, and the environment */
export function openTargetDatabase(flags: readonly string[]): TargetDatabase {
  return {
    ...openWranglerDatabase("DB", flags),
    async write(statements) {
      const folder = mkdtempSync(join(tmpdir(), "import-"));
      try {
        const path = join(folder, "import.sql");
        writeFileSync(path, statements.map((one) => `${one};\n`).join(""), { mode: 0o600 });
        executeFile("DB", flags, path);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Quoted parts of SQL, which have no parameters, or a parameter. */
const TOKEN_PATTERN = /'(?:[^']|'')*'|"[^"]*"|`[^`]*`|--[^\n]*|\?(\d*)/g;

/** The text of a statement with its parameters in place. */
export function toSqlText({ sql, params }: Statement): string {
  let next = 0;
  return sql.replace(TOKEN_PATTERN, (token, number: string | undefined) => {
    if (number === undefined) return token;
    const index = number === "" ? next++ : Number(number) - 1;
    if (index >= params.length) throw new Error(`A statement lacks its parameter ${index + 1}`);
    return toLiteral(params[index]);
  });
}

function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "boolean") return value ? "1" : "0";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return `'${String(value).replaceAll("'", "''")}'`;
}
