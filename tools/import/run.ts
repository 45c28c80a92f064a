/** `npm run import -- --postgres=URL`: moves the data of another payment service into this one. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, parseEnv } from "node:util";
import type { ServiceSecrets } from "./import-context.ts";
import { readPeerDatabase } from "./peer-database.ts";
import { createPeerSecrets } from "./peer-secrets.ts";
import { planImport } from "./plan-import.ts";
import { printReport } from "./print-report.ts";
import { openTargetDatabase } from "./target-database.ts";

const USAGE = `ENCRYPTION_KEY=… npm run import -- --postgres=URL [options]

Prints what it would import, and what it leaves out and why. ENCRYPTION_KEY is that of the other service.

  --postgres=URL    database of the other service, which is stopped
  --write           imports; without it nothing is written
  --env=NAME        into this environment of wrangler.toml; default: production
  --local           into the database of wrangler on this machine
  --persist-to=DIR  folder of that database
  --secrets=FILE    secrets of this service; default: .secrets/NAME.env
  --invoices=DIR    writes the PDFs of the other service's invoices there
`;

const root = fileURLToPath(new URL("../..", import.meta.url));

function readSecrets(path: string): ServiceSecrets {
  const { SEALING_KEYS, API_KEY_SECRET } = parseEnv(readFileSync(path, "utf8"));
  if (!SEALING_KEYS || !API_KEY_SECRET)
    throw new Error(`${path} lacks SEALING_KEYS or API_KEY_SECRET`);
  return { SEALING_KEYS, API_KEY_SECRET };
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      postgres: { type: "string" },
      write: { type: "boolean", default: false },
      env: { type: "string", default: "" },
      local: { type: "boolean", default: false },
      "persist-to": { type: "string" },
      secrets: { type: "string" },
      invoices: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const { postgres: url, write: writes, env, invoices } = values;
  const encryptionKey = process.env.ENCRYPTION_KEY;
  if (values.help || !url || !encryptionKey) {
    console.log(USAGE);
    if (!values.help) process.exitCode = 1;
    return;
  }
  const secrets = resolve(values.secrets ?? join(root, `.secrets/${env || "production"}.env`));
  const service = readSecrets(secrets);
  const target = openTargetDatabase([
    values.local ? "--local" : "--remote",
    `--env=${env}`,
    ...(values["persist-to"] ? ["--persist-to", values["persist-to"]] : []),
  ]);
  if (invoices) mkdirSync(invoices, { recursive: true, mode: 0o700 });
  const data = await readPeerDatabase(
    url,
    invoices ? ({ name, pdf }) => writeFileSync(join(invoices, name), pdf) : undefined,
  );
  const peer = createPeerSecrets(encryptionKey);
  const plan = await planImport(target, data, { service, peer }, Date.now());
  console.log(printReport(plan.report, { writes }).join("\n"));
  if (!writes) return;
  if (plan.statements.length > 0) await target.write(plan.statements);
  console.log(plan.statements.length > 0 ? "\nImported." : "\nThere is nothing new.");
}

try {
  await run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
