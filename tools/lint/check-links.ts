/**
 * `npm run lint` checks each link of the Markdown files and of docs/llms.txt. The file and the heading
 * of a link exist, and an external link is a web address.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { findBrokenLinks } from "./link-rules.ts";

const FILES = ["**/*.md", ".github/**/*.md", "docs/llms.txt"];
const NOT_OURS =
  /(^|\/)(node_modules|public|dist|generated|site\/src\/content|\.wrangler|\.local-state|\.git)$/;

const files = new Set(globSync(FILES, { exclude: (name) => NOT_OURS.test(name) }));
const targets = { exists: existsSync, read: (path: string) => readFileSync(path, "utf8") };
const broken = [...files].flatMap((file) => findBrokenLinks(file, targets.read(file), targets));
for (const { file, line, target, problem } of broken)
  console.error(`${file}:${line}: the link to "${target}": ${problem}`);
if (broken.length > 0) process.exitCode = 1;
