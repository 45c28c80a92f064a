/**
 * `npx node tools/structure/figures.ts` prints how large the service is, and which files could be fewer.
 * With `--files`, the program also lists the small files that one file imports.
 */
import { readFileSync } from "node:fs";
import { readImports } from "../../test/structure/imports.ts";

/** Every `.ts` file of them counts, declarations of packages as well. */
const FOLDERS = ["src", "durable-objects"];
/** Lines from which on a file is not small. */
const SMALL_LINES = 60;

const imports = readImports(...FOLDERS);
const importers = Map.groupBy(
  [...imports].flatMap(([file, targets]) =>
    [...new Set(targets)].map((target) => ({ file, target })),
  ),
  ({ target }) => target,
);
const files = [...imports.keys()].map((path) => {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const [importer, ...others] = importers.get(path) ?? [];
  const onlyImporter = others.length === 0 ? importer?.file : undefined;
  return { path, lines: lines.length, code: countCode(lines), onlyImporter };
});

const sum = (name: "lines" | "code") => files.reduce((total, file) => total + file[name], 0);
const [longest] = files.toSorted((a, b) => b.lines - a.lines);
const withOne = files.filter(({ onlyImporter }) => onlyImporter !== undefined);
const small = withOne.filter(({ lines }) => lines < SMALL_LINES);

console.log(`files: ${files.length}`);
console.log(`lines: ${sum("lines")}, without comments and blanks: ${sum("code")}`);
console.log(`longest file: ${longest?.path} with ${longest?.lines} lines`);
console.log(
  `files with one importer: ${withOne.length}, below ${SMALL_LINES} lines: ${small.length}`,
);
if (process.argv.includes("--files"))
  for (const { path, lines, onlyImporter } of small)
    console.log(`  ${path} (${lines}), imported by ${onlyImporter}`);

/** Lines that are neither blank nor comment. A comment that follows code counts as code. */
function countCode(lines: readonly string[]): number {
  let isInComment = false;
  return lines.filter((line) => {
    const text = line.trim();
    const isComment = isInComment || text.startsWith("/*");
    isInComment = isComment && !text.includes("*/");
    return text !== "" && !isComment && !text.startsWith("//");
  }).length;
}
