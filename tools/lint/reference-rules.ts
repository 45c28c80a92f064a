/** A name or path in backticks in a comment that the repository does not have. */
export interface MissingReference {
  line: number;
  name: string;
}

/** Names of the ledger, of RFC 8410, of a node and of other services, which no code here has. */
const EXTERNAL_NAMES = new Set(
  `evm_setAutomine hashScriptIntegrity maxValSize sellerCity SubjectPublicKeyInfo tierRefScriptFee
  utxoCostPerByte utxoEntrySizeWithoutVal`.split(/\s+/),
);
const COMMENT = /\/\*\*?\s[\s\S]*?\*\/|(?<=^|\s)\/\/\s.*$/gm;
const PATH = /[\w./-]+\.tsx?\b/g;
/** Camel case and Pascal case, of at least two humps. */
const IDENTIFIER = /\b[A-Za-z]\w*?[a-z0-9][A-Z]\w+\b|\b[a-z][A-Z]\w+\b/g;

/** The words of a program outside its comments. */
export function listWords(code: string): string[] {
  return code.replace(COMMENT, "").match(/\w+/g) ?? [];
}

/** Finds the names in backticks that no code has, and the paths that no file has. */
export function findMissingReferences(
  text: string,
  words: ReadonlySet<string>,
  files: readonly string[],
): MissingReference[] {
  const isPath = (path: string) =>
    files.some((it) => `/${it}`.endsWith(`/${path.replace(/^[./]+/, "")}`));
  return [...text.matchAll(COMMENT)].flatMap((comment) =>
    [...comment[0].matchAll(/`([^`]+)`/g)].flatMap(({ 1: code = "", index }) => {
      const line = text.slice(0, comment.index + index).split("\n").length;
      const paths = code.match(PATH) ?? [];
      const names = code.replace(PATH, "").match(IDENTIFIER) ?? [];
      return [
        ...paths.filter((it) => !isPath(it)),
        ...names.filter((it) => !words.has(it) && !EXTERNAL_NAMES.has(it)),
      ].map((name) => ({ line, name }));
    }),
  );
}
