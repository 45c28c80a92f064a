/** `npm run lint` checks that names and paths in backticks, and errors of `@throws`, exist outside comments. */
import { globSync, readFileSync } from "node:fs";
import { findMissingReferences, listClasses, listWords } from "./reference-rules.ts";

/** Without tests: a name that only tests have explains nothing. */
const DIRECTORIES = "{bench,client,console,devnet,durable-objects,examples,src,tools}";
const FILES = [`${DIRECTORIES}/**/*.{cjs,css,html,js,json,mjs,py,sh,sol,sql,ts,tsx}`, "*.toml"];
const NOT_OURS = /(^|\/)(node_modules|dist|\.astro)$/;
const IS_CHECKED = /^(?!.*\/generated\/).*\.tsx?$/;

const files = globSync(FILES, { exclude: (name) => NOT_OURS.test(name) });
const texts = files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
const words = new Set(texts.flatMap(({ text }) => listWords(text)));
const classes = new Set(texts.flatMap(({ text }) => listClasses(text)));
for (const { file, text } of texts.filter(({ file }) => IS_CHECKED.test(file)))
  for (const { line, name } of findMissingReferences(text, { words, classes, files })) {
    console.error(`${file}:${line}: a comment names ${name}, which does not exist`);
    process.exitCode = 1;
  }
