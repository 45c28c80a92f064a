/** NOTICE: the licenses of the packages and fonts that the service and the client contain. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { consoleBundle } from "../../console/build.ts";
import { packageBundles } from "../packages.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MODULES = "node_modules/";

const COPYRIGHT = /^\W*Copyright (?:\(c\)|©|\d{4}).*$/gim;
const MIT_TEXT = /Permission is hereby granted, free of charge, to any person\s+obtaining a copy/;
const RULE = "-".repeat(80);
const HEAD = `The agent payment service is under the MIT license: see LICENSE. Its Worker, its static files and its
client contain the packages and fonts below, each with its license and the holders of its copyright.
The text of the MIT license is in LICENSE, and the texts of the other licenses follow the list.
The text of the Zlib license is at https://spdx.org/licenses/Zlib.html.

The command npm run document writes this file.`;

/** The Worker, as wrangler bundles it, with the fonts of the invoices. */
const workerBundle: BuildOptions = {
  entryPoints: [join(ROOT, "src/worker.ts")],
  outdir: ROOT,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  external: ["node:*", "cloudflare:*", "*.mjs"],
  loader: { ".ttf": "file" },
};

const clientBundle: BuildOptions = {
  entryPoints: [join(ROOT, "client/index.ts")],
  outdir: ROOT,
  bundle: true,
  minify: true,
  format: "esm",
};

/** A package of which the service or the client contains code or fonts. */
export interface BundledPackage {
  name: string;
  /** SPDX expression. */
  license: string;
  /** Copyright lines, or the author where the package has none. */
  holders: string[];
  /** The license files, but for those of the MIT license, whose text is always the same. */
  texts: string[];
}

/** Reads the packages from what the bundler puts into its outputs, in alphabetical order. */
export async function findBundledPackages(): Promise<BundledPackage[]> {
  const folders = new Set<string>();
  for (const options of [workerBundle, clientBundle, packageBundles, consoleBundle]) {
    const { metafile } = await build({
      ...options,
      absWorkingDir: ROOT,
      metafile: true,
      write: false,
    });
    for (const { inputs } of Object.values(metafile?.outputs ?? {}))
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const folder = folderOf(path);
        if (folder !== null && bytesInOutput > 0) folders.add(folder);
      }
  }
  const packages = [...folders].map(readPackage);
  const unique = new Map(packages.map((one) => [`${one.name} ${one.holders.join()}`, one]));
  return [...unique.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folder of the package that a file belongs to; null for a file outside of packages. */
function folderOf(path: string): string | null {
  const start = path.lastIndexOf(MODULES);
  if (start < 0) return null;
  const [scope = "", name = ""] = path.slice(start + MODULES.length).split("/");
  const packageName = scope.startsWith("@") ? `${scope}/${name}` : scope;
  return `${path.slice(0, start)}${MODULES}${packageName}`;
}

function readPackage(folder: string): BundledPackage {
  const path = join(ROOT, folder);
  const { name, license, author } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const files = globSync("{LICEN[SC]E,licen[sc]e,License}*", { cwd: path }).sort();
  const texts = files.map((file) =>
    readFileSync(join(path, file), "utf8").replaceAll("\r\n", "\n"),
  );
  const found = texts.flatMap((text) => text.match(COPYRIGHT) ?? []).map((line) => line.trim());
  const holders = found.length > 0 ? found : [String(author?.name ?? author)];
  return { name, license, holders, texts: texts.filter((text) => !MIT_TEXT.test(text)) };
}

/** The text of NOTICE. */
export function noticeOf(packages: readonly BundledPackage[]): string {
  const entries = packages.map(({ name, license, holders }) =>
    [`${name} (${license})`, ...holders.map((holder) => `  ${holder}`)].join("\n"),
  );
  const texts = new Set(packages.flatMap((one) => one.texts.map((text) => text.trim())));
  return `${[HEAD, ...entries, ...[...texts].map((text) => `${RULE}\n\n${text}`)].join("\n\n")}\n`;
}
