/** Names of the API that people do not read: what a page shows has words in their place. */

/** A name of several words that are written as one, such as `payByTime` or `QUEUE_DEAD`. */
const COMPOUND = /[a-z\d][A-Z]|_/;

/** Paths, members and constants of an OpenAPI document. */
export function collectApiNames(document: { paths: object }): ReadonlySet<string> {
  const names = new Set(Object.keys(document.paths));
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "properties") for (const name of Object.keys(inner as object)) names.add(name);
      if (key === "enum") for (const name of inner as unknown[]) names.add(String(name));
      if (key === "const") names.add(String(inner));
      visit(inner);
    }
  };
  visit(document);
  return new Set([...names].filter((name) => COMPOUND.test(name) || name.startsWith("/")));
}

/** The names that a text contains, each once. */
export function findApiNames(text: string, names: ReadonlySet<string>): string[] {
  const words = text.split(/[^\w/.-]+/).map((word) => word.replace(/[.]$/, ""));
  return [...new Set(words)].filter((word) => names.has(word));
}
