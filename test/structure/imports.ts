import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A source file, by its path below the project (`src/http/body.ts`), and the files it imports. */
export type Imports = Map<string, string[]>;

const IMPORT = /(?:\bfrom\s|\bimport\s?\(?)\s*"(\.{1,2}\/[^"]+\.tsx?)"/g;
/** Neither of types alone nor by `import()`. */
const IMPORT_AT_START = /^(?:import|export)\s(?!type\b)[^;]*?\bfrom\s"(\.{1,2}\/[^"]+\.ts)"/gm;

/** Every file below some folders of the project, with the project's files that it imports. */
export const readImports = (...folders: string[]): Imports => read(IMPORT, folders);

/** The same, with those that are loaded before it. */
export const readImportsAtStart = (...folders: string[]): Imports => read(IMPORT_AT_START, folders);

function read(pattern: RegExp, folders: readonly string[]): Imports {
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => path.join(folder, name)),
  );
  return new Map(
    files.map((file) => {
      const text = readFileSync(path.join(ROOT, file), "utf8");
      const specifiers = [...text.matchAll(pattern)].map(([, specifier = ""]) => specifier);
      return [file, specifiers.map((one) => path.join(path.dirname(file), one))];
    }),
  );
}

/** The circles of a graph: groups of nodes that reach each other (Tarjan's algorithm). */
export function circles(graph: Map<string, Iterable<string>>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): number => {
    const index = order.size;
    order.set(node, index);
    lowest.set(node, index);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!graph.has(next)) continue;
      const reached = order.has(next)
        ? stack.includes(next)
          ? (order.get(next) ?? 0)
          : Number.POSITIVE_INFINITY
        : visit(next);
      lowest.set(node, Math.min(lowest.get(node) ?? index, reached));
    }
    const low = lowest.get(node) ?? index;
    if (low === index) {
      const circle = stack.splice(stack.indexOf(node));
      if (circle.length > 1) found.push(circle);
    }
    return low;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}

/** The same imports between groups of files; a group's imports of itself are left out. */
export function between(
  imports: Imports,
  groupOf: (file: string) => string | null,
): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const group = groupOf(file);
    if (group === null) continue;
    const reached = graph.get(group) ?? new Set();
    graph.set(group, reached);
    for (const target of targets) {
      const other = groupOf(target);
      if (other !== null && other !== group) reached.add(other);
    }
  }
  return graph;
}
