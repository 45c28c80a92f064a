import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import { parseAst } from "vitest/node";

/** A node of an abstract syntax tree (ESTree), with its place in the text. */
interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  body?: SyntaxNode;
}

/** Text to insert at a place of the bundle. */
interface Insertion {
  at: number;
  text: string;
}

/**
 * Inserts a call into each function that was bundled from `src` or `durable-objects`. The call adds
 * the path of its file to the set `globalThis.executedFiles`.
 *
 * @param bundle - an ES module
 * @param map - its source map, JSON
 * @param folder - base of the map's paths
 */
export function markFunctions(bundle: string, map: string, folder: string): string {
  const fileAt = fileFinder(bundle, map, folder);
  const insertions: Insertion[] = [];
  for (const { start, body } of functionsIn(parseAst(bundle) as unknown as SyntaxNode)) {
    const file = fileAt(start);
    if (!body || !/^(src|durable-objects)\//.test(file)) continue;
    const mark = `executedFiles.add(${JSON.stringify(file)})`;
    if (body.type === "BlockStatement") insertions.push({ at: body.start + 1, text: `${mark};` });
    else insertions.push({ at: body.start, text: `(${mark},` }, { at: body.end, text: ")" });
  }
  return `globalThis.executedFiles=new Set();${inserted(bundle, insertions)}`;
}

function* functionsIn(node: SyntaxNode): Generator<SyntaxNode> {
  if (/^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(node.type)) yield node;
  for (const child of Object.values(node).flat())
    if (typeof child?.type === "string") yield* functionsIn(child);
}

/** Finds the file of the repository that a place of the bundle comes from; `""` when there is none. */
function fileFinder(bundle: string, map: string, folder: string): (offset: number) => string {
  const sourceMap = new SourceMap(JSON.parse(map));
  const lineStarts = [0, ...[...bundle.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    const line = lineStarts.findLastIndex((start) => start <= offset);
    const entry = sourceMap.findEntry(line, offset - (lineStarts[line] ?? 0));
    if (!("originalSource" in entry)) return "";
    return relative(process.cwd(), resolve(folder, entry.originalSource));
  };
}

/** At one place, what was inserted last stands last: the ends of inner functions come before outer ones. */
function inserted(text: string, insertions: readonly Insertion[]): string {
  let [result, from] = ["", 0];
  for (const { at, text: added } of insertions.toSorted((a, b) => a.at - b.at)) {
    result += text.slice(from, at) + added;
    from = at;
  }
  return result + text.slice(from);
}
