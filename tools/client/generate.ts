/**
 * `npm run generate:client`: writes `client/generated`, the part of the client that follows from the
 * OpenAPI document of the running Worker. An install runs it before it builds the console, which
 * contains the client. The generator of the types needs TypeScript 5, so this folder is a workspace
 * with separate packages.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import openapiTypescript, { astToString } from "openapi-typescript";
import { PUBLIC } from "../../devnet/folders.ts";
import { readDocument } from "../docs/document.ts";
import { buildPackages } from "../packages.ts";
import { typedDocument } from "./typed-document.ts";
import { wireModule, wireValues } from "./wire.ts";

const GENERATED = new URL("../../client/generated/", import.meta.url);

mkdirSync(PUBLIC, { recursive: true });
await buildPackages();
const document = await readDocument();
// A field with a default may be left out of a request.
const types = await openapiTypescript(typedDocument(document), { defaultNonNullable: false });
mkdirSync(GENERATED, { recursive: true });
writeFileSync(
  new URL("schema.ts", GENERATED),
  `/** \`npm run generate:client\` writes this file. */\n\n${astToString(types)}`,
);
writeFileSync(new URL("wire.ts", GENERATED), wireModule(wireValues(document)));
