/** A place in the repository that breaks a rule of CONTRIBUTING.md, and what to do about it. */
export interface Fault {
  rule: Rule;
  file: string;
  line: number;
  advice: string;
}

export type Rule =
  | "long sentence"
  | "long cell"
  | "retired name"
  | "bound"
  | "outside document"
  | "test title";

/** Words in a sentence, and in a cell of a table. */
const MAX_WORDS = 25;

/** Names that say nothing of what they stand for: participles without a noun, and vague words. */
const RETIRED_NAMES = new Set(
  `asked chosen elsewhere given handed happen hasTold held kept made meant moved notBuilt passOver
  prepared remembered setAside spare stands taken telling tells told trouble underWay want wanted
  works written`.split(/\s+/),
);

/** Metaphors: no identifier has one as a word. */
const METAPHORS = new Set("bid buried deal desk door drawer market purse purser shaky".split(" "));

const BOUND = /\b(MOST|LONGEST|GREATEST|LARGEST|HIGHEST|LEAST|SMALLEST|SHORTEST|LOWEST)_\w+/g;
const DECLARATION = /\b(?:function|const|let|class|interface|type|enum)\s+([A-Za-z_$][\w$]*)/g;
/** The first argument of `it("…")`, or of what `it.each(…)` returns. */
const TITLE = /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(["'`])((?:\\.|(?!\1)[^\n])*)\1/g;
/** An id such as A4 or C12, unless it is the name of a product (D1). */
const PRIVATE_ID = /(?:^|[\s(,])(?!D1\b)[A-F]\d{1,2}(?=[\s:,)]|$)/;
/** Standards whose sections a comment may name. */
const STANDARD = /\b(RFC|CIP|EIP|ERC|EN|UStG|specification)\b/;

/** Finds what a program can find. `documents` are the names of the .md files that we have. */
export function findFaults(file: string, text: string, documents: ReadonlySet<string>): Fault[] {
  const isTest = file.startsWith("test/");
  const passages = file.endsWith(".md") ? paragraphsOf(text) : commentsOf(text);
  return [
    ...passages.flatMap((passage) => proseFaults(file, passage, documents)),
    ...(file.endsWith(".md") ? cellFaults(file, text) : nameFaults(file, text, isTest)),
    ...(isTest ? titleFaults(file, text) : []),
  ];
}

interface Passage {
  line: number;
  text: string;
}

const lineAt = (text: string, index: number) => text.slice(0, index).split("\n").length;

/** Comments that begin a line, as plain text; lines of `//` that follow each other are one. */
function commentsOf(text: string): Passage[] {
  const comments = text.matchAll(/^[ \t]*(?:\/\*\*?([\s\S]*?)\*\/|((?:[ \t]*\/\/.*\n)+))/gm);
  return [...comments].map(({ index, 1: block, 2: lines }) => ({
    line: lineAt(text, index),
    text: (block ?? lines ?? "")
      .replace(/@example[\s\S]*/, "")
      .replace(/^[ \t]*(?:\*|\/\/)[ \t]?/gm, "")
      .replace(/^\s*[-*] |@(?:param|returns|throws)\b/gm, "\n\n"),
  }));
}

/** Paragraphs and list items of Markdown, without code and tables. */
function paragraphsOf(text: string): Passage[] {
  const prose = text.replace(/^ *```[\s\S]*?^ *```|^ *\|.*$/gm, (code) =>
    code.replace(/[^\n]/g, ""),
  );
  return [...prose.matchAll(/\S[\s\S]*?(?=\n\s*\n|\n\s*(?:[-*]|\d+\.) |$(?![\s\S]))/g)].map(
    (paragraph) => ({ line: lineAt(prose, paragraph.index), text: paragraph[0] }),
  );
}

const countWords = (text: string) =>
  text.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;

/** Cells of Markdown tables. A `|` in code is escaped there too. */
function cellFaults(file: string, text: string): Fault[] {
  const prose = text.replace(/^ *```[\s\S]*?^ *```/gm, (code) => code.replace(/[^\n]/g, ""));
  return prose.split("\n").flatMap((row, index) =>
    !/^ *\|/.test(row)
      ? []
      : row.split(/(?<!\\)\|/).flatMap((cell) => {
          const words = countWords(cell);
          if (words <= MAX_WORDS) return [];
          const advice = `shorten ${words} words: ${cell.trim().slice(0, 60)}…`;
          return [{ rule: "long cell" as const, file, line: index + 1, advice }];
        }),
  );
}

function proseFaults(file: string, { line, text }: Passage, documents: ReadonlySet<string>) {
  const faults: Fault[] = [];
  for (const sentence of text.split(/(?<=[.!?:][*_)"'`]{0,3})\s+(?=[^a-z\s])|\n\s*\n/)) {
    const words = countWords(sentence);
    const start = sentence.trim().replace(/\s+/g, " ").slice(0, 60);
    if (words > MAX_WORDS)
      faults.push({ rule: "long sentence", file, line, advice: `split ${words} words: ${start}…` });
    const names = [...sentence.matchAll(/[\w./-]*?([\w-]+\.md)\b/g)].map(([, name = ""]) => name);
    const isOutside = names.some((name) => !documents.has(name));
    if (isOutside || (/§/.test(sentence) && !STANDARD.test(text)))
      faults.push({ rule: "outside document", file, line, advice: `state the reason: ${start}…` });
  }
  return faults;
}

function nameFaults(file: string, text: string, isTest: boolean): Fault[] {
  const at = (rule: Rule, index: number, advice: string): Fault => ({
    ...{ rule, file, line: lineAt(text, index), advice },
  });
  const bounds = [...text.matchAll(BOUND)].map(({ 0: name, index }) =>
    at("bound", index, `begin ${name} with MAX_ or MIN_`),
  );
  if (isTest) return bounds;
  const base = file.replace(/^.*\/|\.\w+$/g, "");
  const files = isRetired(base) ? [at("retired name", 0, `name the file for its main export`)] : [];
  const names = [...text.matchAll(DECLARATION)].flatMap(({ 1: name = "", index }) =>
    isRetired(name) ? [at("retired name", index, `rename ${name} with a term of the field`)] : [],
  );
  return [...bounds, ...files, ...names];
}

function isRetired(name: string): boolean {
  const words = name.split(/(?=[A-Z][a-z])|[_-]/).map((word) => word.toLowerCase());
  return RETIRED_NAMES.has(name) || words.some((word) => METAPHORS.has(word));
}

function titleFaults(file: string, text: string): Fault[] {
  return [...text.matchAll(TITLE)].flatMap(({ index, 2: title = "" }) =>
    PRIVATE_ID.test(title) || (/§/.test(title) && !STANDARD.test(title))
      ? [{ rule: "test title", file, line: lineAt(text, index), advice: `state it: ${title}` }]
      : [],
  );
}
