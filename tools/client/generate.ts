/**
 * `npm run generate:client`: writes what of `client/` follows from the OpenAPI document. The generator
 * of the types needs another TypeScript than this project, so it is installed in `tools/openapi`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readDocument } from "../docs/document.ts";
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
