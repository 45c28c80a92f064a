/**
 * `npm run lint` counts the places that break the rules of language in CONTRIBUTING.md. It fails
 * when a rule has more places than `ALLOWED`.
 *
 *     node tools/lint/check-language.ts             counts all places.
 *     node tools/lint/check-language.ts src/http    lists the places in files whose path begins so.
 */
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { type Fault, findFaults, type Rule } from "./language-rules.ts";

/** Places that each rule still has. These numbers may only go down: lower them with each repair. */
const ALLOWED: Record<Rule, number> = {
  "long sentence": 0,
  "long cell": 0,
  "retired name": 68,
  bound: 0,
  "outside document": 0,
  "test title": 0,
};

/** The places of a rule with more of them are listed on request only. */
const MAX_LISTED = 20;

const FILES = [
  "{bench,client,console,devnet,durable-objects,examples,src,test,tools}/**/*.{ts,tsx}",
  "{CODE_OF_CONDUCT,CONTRIBUTING,README,SECURITY}.md",
  "docs/*.md",
  "{console/DESIGN,devnet/README,test/clients/README,tools/operate/MIGRATIONS}.md",
];
const files = globSync(FILES, {
  exclude: (name) => /(^|\/)(node_modules|generated|dist)$/.test(name),
});
const documents = new Set(
  globSync(["*.md", "{client,console,devnet,docs,test/clients,tools/operate}/*.md"]).map((it) =>
    basename(it),
  ),
);

const faults = files.flatMap((file) => findFaults(file, readFileSync(file, "utf8"), documents));
const list = (some: readonly Fault[]) => {
  for (const { file, line, rule, advice } of some)
    console.error(`${file}:${line}: ${rule}: ${advice}`);
};

const paths = process.argv.slice(2);
if (paths.length > 0)
  list(faults.filter(({ file }) => paths.some((path) => file.startsWith(path))));
else
  for (const [rule, allowed] of Object.entries(ALLOWED)) {
    const places = faults.filter((fault) => fault.rule === rule);
    const count = `${rule}: ${places.length} places, ${allowed} allowed`;
    if (places.length < allowed)
      console.log(`${count}; lower the number in tools/lint/check-language.ts`);
    if (places.length <= allowed) continue;
    process.exitCode = 1;
    console.error(`${count}. List yours with: node tools/lint/check-language.ts FILE`);
    if (places.length <= MAX_LISTED) list(places);
  }
