/**
 * `npm run mutants`: changes the code in one place at a time, and runs the tests that must notice it.
 * It lists the mutants that survive, and fails when more than one does. With `-- src/x402`, the
 * program tries only the mutants of files whose paths begin so.
 *
 * The mutants are tried in a copy of the checkout. First run the tests of the file's folder. For what
 * survives them, all test files run that import the file, until a test fails.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { MUTANTS, type Mutant } from "./mutants.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MAX_SURVIVORS = 1;
/** What `npm run prepare` and `npm run build` make, which git does not list. */
const BUILT = ["dist", "public", "src/packages", "client/generated"];

const paths = process.argv.slice(2);
const mutants = MUTANTS.filter(
  ({ file }) => paths.length === 0 || paths.some((start) => file.startsWith(start)),
);
if (mutants.length === 0)
  throw new Error(`no mutant is in a file that begins with ${paths.join(", ")}`);
const mutated = mutants.map((mutant) => ({ mutant, text: mutate(mutant) }));

const copy = mkdtempSync(path.join(tmpdir(), "mutants-"));
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
copyCheckout();

const suspects = mutated.filter((one) => !isKilled(one, ({ file }) => ["run", findTests(file)]));
const survivors = suspects.filter(
  (one) => !isKilled(one, ({ file }) => ["related", file, "--run"]),
);
for (const { mutant } of survivors) console.log(`SURVIVED ${mutant.fault} (${mutant.file})`);
console.log(`${mutants.length - survivors.length} of ${mutants.length} mutants killed`);
process.exitCode = survivors.length > MAX_SURVIVORS ? 1 : 0;

/** @returns the file's text with the fault */
function mutate({ fault, file, from, to }: Mutant): string {
  const parts = readFileSync(path.join(ROOT, file), "utf8").split(from);
  if (parts.length !== 2)
    throw new Error(`${file} has the text of "${fault}" ${parts.length - 1} times: write it anew`);
  return parts.join(to);
}

function copyCheckout(): void {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const tracked = execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\0");
  const files = [...tracked.filter((file) => file !== ""), ...BUILT];
  for (const file of files.filter((file) => existsSync(path.join(ROOT, file))))
    cpSync(path.join(ROOT, file), path.join(copy, file), { recursive: true });
  // Not the folder itself: the copy has its cache there.
  const packages = path.join(ROOT, "node_modules");
  mkdirSync(path.join(copy, "node_modules"));
  for (const name of readdirSync(packages).filter((name) => name !== ".vite"))
    symlinkSync(path.join(packages, name), path.join(copy, "node_modules", name));
}

/** Whether a test fails that vitest runs with these arguments while the mutant is in the copy. */
function isKilled(
  { mutant, text }: (typeof mutated)[number],
  argumentsFor: (mutant: Mutant) => string[],
): boolean {
  const place = path.join(copy, mutant.file);
  const original = readFileSync(place);
  writeFileSync(place, text);
  const killer = findFailure(argumentsFor(mutant));
  writeFileSync(place, original);
  if (killer !== null) console.log(`killed ${mutant.fault} (${mutant.file})\n  by "${killer}"`);
  return killer !== null;
}

/** The folder of the tests of a file, or the closest one above it. */
function findTests(file: string): string {
  let folder = path.dirname(file).replace(/^src/, "test");
  while (!existsSync(path.join(copy, folder))) folder = path.dirname(folder);
  return folder;
}

/** The title of the first test that fails; null: none does. */
function findFailure(args: readonly string[]): string | null {
  const report = path.join(copy, "report.json");
  rmSync(report, { force: true });
  const vitest = path.join(ROOT, "node_modules/vitest/vitest.mjs");
  const options = ["--bail=1", "--reporter=json", `--outputFile=${report}`, "--passWithNoTests"];
  spawnSync(process.execPath, [vitest, ...args, ...options], { cwd: copy });
  if (!existsSync(report)) throw new Error(`vitest ${args.join(" ")} made no report`);
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  for (const { name, status, assertionResults } of testResults) {
    const failed = assertionResults.find((test) => test.status === "failed");
    if (failed) return failed.fullName;
    if (status === "failed") return path.relative(copy, name);
  }
  return null;
}

interface Report {
  testResults: {
    name: string;
    status: string;
    assertionResults: { status: string; fullName: string }[];
  }[];
}
