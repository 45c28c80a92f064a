/**
 * Lets tests import single modules of the copies as they are. Paths that a repository's own settings
 * map are mapped. An inert stand-in takes the place of what a module imports and the test does not run:
 * databases, providers, and packages that are not installed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const { PEER_CLIENTS } = process.env;
const INERT = "\0inert:";
const OWN = fileURLToPath(import.meta.url);

const MARKET_STAND_INS = fileURLToPath(new URL("market-stand-ins.ts", import.meta.url));

/** Packages that are the same here. */
const SHARED = /^(node:|zod$|openapi-fetch$|vitest$|vite\/|crypto$|lz-string$)/;

/** What the marketplace's clients import, and a module of this folder stands in for. */
const OF_THE_MARKET = /^neverthrow$|^@scure\/base$|^@sokosumi\/net$|\/openapi\/generated\//;

/** Modules of the copies that a test never runs. */
const NEVER_RUN =
  /payment-core\/(auth|db|config|logger)$|@\/utils\/(blockfrost|generator\/|shared\/wallet-scope)|@prisma|generated\/prisma|zod-openapi$|payment-core\/zod$/;

const ALIASES: readonly [repository: string, pattern: RegExp, path: string][] = [
  ["masumi-payment-service", /^@masumi\/payment-core\/(.*)$/, "packages/payment-core/src/$1"],
  ["masumi-payment-service", /^@e2e\/(.*)$/, "tests/e2e/$1"],
  ["masumi-payment-service", /^@\/(.*)$/, "src/$1"],
  ["masumi-registry-service", /^@\/(.*)$/, "src/$1"],
  ["masumi-saas", /^@\/(.*)$/, "apps/web/src/$1"],
  ["sokosumi", /^@\/(.*)$/, "apps/core/src/$1"],
  // Of the package, only the patterns are needed.
  ["sokosumi", /^@sokosumi\/masumi$/, "packages/masumi/src/utils/caip19"],
];

/** A plugin for the tests of this folder; it leaves all other modules alone. */
export function peerModules(): Plugin {
  return {
    name: "peer-modules",
    enforce: "pre",
    async resolveId(source, importer = "") {
      if (!PEER_CLIENTS || !importer.startsWith(PEER_CLIENTS)) return null;
      const isMarket = importer.startsWith(join(PEER_CLIENTS, "sokosumi/"));
      if (isMarket && OF_THE_MARKET.test(source)) return MARKET_STAND_INS;
      if (NEVER_RUN.test(source)) return `${INERT}${source}?${importer}`;
      for (const [repository, pattern, path] of ALIASES) {
        const root = join(PEER_CLIENTS, repository);
        if (!importer.startsWith(root) || !pattern.test(source)) continue;
        const found = findModule(join(root, source.replace(pattern, path)));
        if (found) return found;
      }
      if (SHARED.test(source)) return this.resolve(source, OWN, { skipSelf: true });
      const resolved = await this.resolve(source, importer, { skipSelf: true });
      return resolved ?? `${INERT}${source}?${importer}`;
    },
    load(id) {
      if (!id.startsWith(INERT)) return null;
      const [source = "", importer = ""] = id.slice(INERT.length).split("?");
      return inertModule(source, importer);
    },
  };
}

function findModule(path: string): string | undefined {
  return [`${path}.ts`, join(path, "index.ts"), path].find(
    (one) => existsSync(one) && !one.endsWith("/") && /\.\w+$/.test(one),
  );
}

/** A module that exports what its importer names. Enumerations come from the repository's schema. */
function inertModule(source: string, importer: string): string {
  const escaped = source.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const named = new RegExp(
    `(?:import|export)\\s+(?:type\\s+)?\\{([^}]*)\\}\\s+from\\s+['"]${escaped}['"]`,
    "g",
  );
  const names = new Set(
    [...readFileSync(importer, "utf8").matchAll(named)].flatMap(([, list = ""]) =>
      list
        .split(",")
        .map(
          (one) =>
            one
              .trim()
              .replace(/^type\s+/, "")
              .split(/\s+as\s+/)[0] ?? "",
        )
        .filter(Boolean),
    ),
  );
  names.delete("default");
  const isZod = /zod/.test(source);
  const enums = JSON.stringify(readEnumerations(importer));
  const toValue = (name: string) => {
    if (isZod && name === "z") return "z";
    return `enums[${JSON.stringify(name)}] ?? inert`;
  };
  return [
    ...(isZod
      ? [
          'import { z } from "zod";',
          "z.ZodType.prototype.openapi ??= function () { return this; };",
        ]
      : []),
    `const enums = ${enums};`,
    "enums.$Enums = enums;",
    // A function that can be called, made and asked for anything.
    "const inert = new Proxy(function () {}, {",
    '  get: (_, name) => (typeof name === "symbol" || name === "then" ? undefined : inert),',
    "  apply: () => inert,",
    "  construct: () => inert,",
    "});",
    ...[...names].map((name) =>
      `export const ${name} = ${toValue(name)};`.replace("export const z = z;", "export { z };"),
    ),
    "export default inert;",
  ].join("\n");
}

/** The enumerations of a repository's Prisma schema. */
function readEnumerations(importer: string): Record<string, Record<string, string>> {
  const [repository = ""] = importer.slice((PEER_CLIENTS ?? "").length + 1).split("/");
  const path = join(PEER_CLIENTS ?? "", repository, "prisma/schema.prisma");
  if (!existsSync(path)) return {};
  const found = readFileSync(path, "utf8").matchAll(/^enum (\w+) \{([^}]*)\}/gm);
  return Object.fromEntries(
    [...found].map(([, name = "", body = ""]) => [
      name,
      Object.fromEntries(
        body
          .split("\n")
          .map(
            (line) =>
              line
                .replace(/\/\/.*/, "")
                .trim()
                .split(/\s/)[0] ?? "",
          )
          .filter((value) => /^\w+$/.test(value))
          .map((value) => [value, value]),
      ),
    ]),
  );
}
