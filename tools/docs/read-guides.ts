import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { withFiles } from "./with-files.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");

/** The guides of docs/ as they are served, by file name. */
export function readGuides(): Record<string, string> {
  const paths = globSync("docs/*.md", { cwd: fileURLToPath(ROOT) });
  return Object.fromEntries(paths.map((path) => [basename(path), withFiles(read(path), read)]));
}
