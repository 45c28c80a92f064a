/** The built Worker with a module around it. */
import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { buildSync } from "esbuild";

const CONFIGURATION = new URL("../wrangler.toml", import.meta.url);

const MODULES = [".js", ".mjs", ".ttf"];

/**
 * Wraps a bundle in a module that imports it as `./service.mjs`.
 *
 * @param copy - the new folder
 * @param objectOf - the export of a class, by name
 * @returns path of the wrapped Worker
 */
export function wrappedBundle(
  bundle: string,
  copy: string,
  wrapper: string,
  objectOf: (name: string) => string,
): string {
  const from = dirname(bundle);
  const modules = readdirSync(from, { recursive: true, encoding: "utf8" }).filter(
    // Not those of other copies.
    (name) => MODULES.includes(extname(name)) && !name.includes("metered-"),
  );
  for (const name of modules) cpSync(join(from, name), join(copy, name));
  renameSync(join(copy, "worker.js"), join(copy, "service.mjs"));
  const path = join(copy, "worker.js");
  writeFileSync(path, `${wrapper}\n${objectNames().map(objectOf).join("\n")}`);
  return path;
}

/** Bundles a module for the Worker's runtime, beside a wrapped Worker. */
export function bundleBeside(path: string, entry: string, name: string): void {
  buildSync({
    entryPoints: [entry],
    outfile: join(dirname(path), name),
    bundle: true,
    format: "esm",
    external: ["cloudflare:workers", "node:async_hooks"],
  });
}

/** Names of the classes of objects in the configuration. */
export function objectNames(): string[] {
  const found = readFileSync(CONFIGURATION, "utf8").matchAll(/^class_name = "(\w+)"$/gm);
  // Each is there once for every environment.
  return [...new Set([...found].map(([, name = ""]) => name))];
}
