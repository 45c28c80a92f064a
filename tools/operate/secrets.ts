/**
 * `npm run secrets`: makes the secrets of a deployment and keeps them in a file, since Cloudflare never
 * shows one again.
 *
 *     npm run secrets [-- --env=NAME | --file=PATH]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { formattedSecrets, freshSecrets } from "../../devnet/secrets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const USAGE = `npm run secrets -- [options]   makes the secrets of a deployment, in a file of its own

  --env=NAME    of this environment of wrangler.toml: .secrets/NAME.env; default: production
  --file=PATH   another file
`;

/** Only its owner may read it. @throws when there is such a file already */
function writeSecrets(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const head = "# Secrets of a deployment, made by npm run secrets. Never committed.";
  try {
    writeFileSync(path, formattedSecrets(head, freshSecrets()), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Error(
      `${path} exists and is left as it is: what is stored may be sealed with its SEALING_KEYS`,
    );
  }
}

function run(): void {
  const { values } = parseArgs({
    options: { env: { type: "string" }, file: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const name = values.env || "production";
  if (!/^[\w-]+$/.test(name)) throw new Error(`--env: ${name} is no name of an environment`);
  const path = resolve(values.file ?? `${root}/.secrets/${name}.env`);
  writeSecrets(path);
  const shown = relative(process.cwd(), path);
  const environment = name === "production" ? "" : name;
  console.log(`wrote ${shown}, which only you can read

Store a copy now, in another place than backups of the database: Cloudflare never shows a secret again, and
without SEALING_KEYS nobody can open the wallets, provider keys and webhook secrets that it seals.

next: npx wrangler deploy --env=${environment} --secrets-file ${shown}`);
}

try {
  run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
