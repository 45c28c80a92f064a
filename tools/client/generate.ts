/**
 * `npm run generate:client`: writes what of `client/` follows from the OpenAPI document. The generator
 * of the types needs another TypeScript than this project, so it is installed in `tools/openapi`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildWorker } from "../../devnet/build.ts";
import { startHost } from "../../devnet/host.ts";
import { typedDocument } from "./typed-document.ts";
import { wireModule, wireValues } from "./wire.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const TOOLS = join(root, "tools/openapi");
const GENERATED = join(root, "client/generated");

const document = await readDocument();
mkdirSync(join(TOOLS, "generated"), { recursive: true });
const input = join(TOOLS, "generated/client.json");
writeFileSync(input, JSON.stringify(typedDocument(document)));
if (!existsSync(join(TOOLS, "node_modules")))
  execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: TOOLS, stdio: "inherit" });
const generator = join(TOOLS, "node_modules/openapi-typescript/bin/cli.js");
const types = join(GENERATED, "schema.ts");
// A field with a default may be left out of a request.
const args = [generator, input, "--default-non-nullable=false", "--output", types];
// Not in the folder of the tools, whose linter it would take over.
execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
const wire = join(GENERATED, "wire.ts");
writeFileSync(wire, wireModule(wireValues(document)));
execFileSync("npx", ["biome", "format", "--write", wire], { cwd: root });

/** The document of a service that runs the code as it is now. */
async function readDocument() {
  const folder = mkdtempSync(join(tmpdir(), "client-"));
  const { path } = await buildWorker(folder);
  const host = await startHost({ bindings: {}, bundle: path });
  try {
    return await (await fetch(`${host.url}/api/v1/openapi.json`)).json();
  } finally {
    await host.close();
    rmSync(folder, { recursive: true });
  }
}
