import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";

/** What the Worker cannot do without; see `src/env.ts`. */
const REQUIRED = ["API_KEY_SECRET", "SEALING_KEYS", "ADMIN_KEY"] as const;
type Secrets = Record<(typeof REQUIRED)[number], string>;

const HEAD = "# Secrets of the local service, made by npm start. Never committed.";
const DEV_VARS = fileURLToPath(new URL("../.dev.vars", import.meta.url));

/**
 * The variables in `.dev.vars`, which is written with fresh secrets when it does not exist.
 *
 * @throws when a secret is missing from the file.
 */
export function developmentSecrets(path = DEV_VARS): Secrets & Record<string, string> {
  if (!existsSync(path)) writeOnce(path, formattedSecrets(HEAD, freshSecrets()));
  const variables = parseEnv(readFileSync(path, "utf8"));
  const missing = REQUIRED.filter((name) => !variables[name]);
  if (missing.length > 0) throw new Error(`${path} does not set ${missing.join(", ")}`);
  return variables as Secrets & Record<string, string>;
}

/** New ones, each as `src/env.ts` asks for. */
export function freshSecrets(): Secrets {
  return {
    API_KEY_SECRET: randomBytes(32).toString("base64url"),
    SEALING_KEYS: `k1:${randomBytes(32).toString("base64")}`,
    ADMIN_KEY: randomBytes(24).toString("hex"),
  };
}

/** The text of a file with secrets, as `.dev.vars` and `wrangler deploy --secrets-file` are read. */
export function formattedSecrets(head: string, secrets: Secrets): string {
  const lines = Object.entries(secrets).map(([name, value]) => `${name}="${value}"\n`);
  return `${head}\n${lines.join("")}`;
}

/** Two copies may start at once: the file appears whole or not at all, and the first one stays. */
function writeOnce(path: string, content: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft);
  }
}
