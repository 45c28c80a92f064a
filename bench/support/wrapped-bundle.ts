/** The built Worker with a module around it. */
import { cpSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { objectNames } from "./floor.ts";

const MODULES = [".js", ".mjs", ".ttf"];

/**
 * Wraps a bundle in a module that imports it as `./service.mjs`.
 *
 * @param copy - the new folder
 * @param objectOf - the export of an object's class, by its name
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
