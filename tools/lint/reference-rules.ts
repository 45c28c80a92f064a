/** A name or path that a comment has and the repository does not. */
export interface MissingReference {
  line: number;
  name: string;
}

/** What comments may refer to. */
export interface Repository {
  /** Words of its programs, outside comments. */
  words: ReadonlySet<string>;
  /** Names of its classes. */
  classes: ReadonlySet<string>;
  /** Paths. */
  files: readonly string[];
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

/** The classes that a program declares. */
export function listClasses(code: string): string[] {
  return [...code.replace(COMMENT, "").matchAll(/\bclass (\w+)/g)].map(([, name = ""]) => name);
}

/** Finds names in backticks that no code has, paths that no file has, and errors that are no class. */
export function findMissingReferences(text: string, repository: Repository): MissingReference[] {
  return [...text.matchAll(COMMENT)].flatMap(({ 0: comment, index: start }) => {
    const missingIn = (pattern: RegExp, find: (part: string) => string[]) =>
      [...comment.matchAll(pattern)].flatMap(({ 1: part = "", index }) => {
        const line = text.slice(0, start + index).split("\n").length;
        return find(part).map((name) => ({ line, name }));
      });
    return [
      ...missingIn(/`([^`]+)`/g, (code) => findMissingNames(code, repository)),
      ...missingIn(/@throws ([^@]*)/g, (clause) => findMissingErrors(clause, repository)),
    ];
  });
}

function findMissingNames(code: string, { words, files }: Repository): string[] {
  const isPath = (path: string) =>
    files.some((it) => `/${it}`.endsWith(`/${path.replace(/^[./]+/, "")}`));
  const paths = code.match(PATH) ?? [];
  const names = code.replace(PATH, "").match(IDENTIFIER) ?? [];
  return [
    ...paths.filter((it) => !isPath(it)),
    ...names.filter((it) => !words.has(it) && !EXTERNAL_NAMES.has(it)),
  ];
}

/** Of `A, B when …; C`: the first word of each part, if it is a name. */
function findMissingErrors(clause: string, { classes }: Repository): string[] {
  return clause
    .split(/[,;]/)
    .flatMap((part) => /^[\s*]*([A-Z][a-z]+[A-Z]\w+)\b/.exec(part)?.[1] ?? [])
    .filter((name) => !classes.has(name) && !(name in globalThis));
}
