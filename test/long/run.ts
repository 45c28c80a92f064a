/**
 * Runs all stories of which `npm test` runs a sample: sweeps over every awaited step, and
 * properties with many inputs (test/support/effort.ts).
 *
 *     npm run test:long -- [--minutes N] [--seed S]
 *
 * The files run one after another with one seed, which is printed. When the minutes are over, the
 * running file ends, and the names of the remaining files are printed. A failure exits with 1.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { globSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeScratch } from "../support/scratch.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const VITEST = path.join(ROOT, "node_modules/vitest/vitest.mjs");
/** Files that `npm test` leaves out. They run first, so that the end of the minutes cuts none of them off. */
const LONG_ONLY = ".long.test.ts";
/** After tables of cases, the folders come whose faults cost the most. The others follow by name. */
const FIRST = ["x402", "escrow", "webhooks", "registrations", "registry"];

const { values } = parseArgs({
  options: { minutes: { type: "string" }, seed: { type: "string" } },
});
const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
const seed = Number(values.seed ?? randomInt(2 ** 31));
if (!(minutes > 0)) throw new RangeError("--minutes: must be a number above 0");
if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31)
  throw new RangeError("--seed: must be a whole number from 0 to 2147483647");
const end = Date.now() + minutes * 60_000;

/**
 * Files that only a long run has, and those that ask, themselves or through a helper beside them, how
 * thorough they should be.
 */
function longFiles(): string[] {
  const isLong = (file: string) =>
    file.endsWith(LONG_ONLY) ||
    /from "[./]*(?:support\/effort|steps)\.ts"/.test(readFileSync(path.join(ROOT, file), "utf8"));
  const place = (file: string) => {
    if (file.endsWith(LONG_ONLY)) return -2;
    if (/\bsampled\(/.test(readFileSync(path.join(ROOT, file), "utf8"))) return -1;
    const rank = FIRST.indexOf(file.split(path.sep)[1] ?? "");
    return rank < 0 ? FIRST.length : rank;
  };
  return globSync("test/**/*.test.ts", { cwd: ROOT })
    .filter(isLong)
    .sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

/** What a file came to; null when the minutes ended first. */
type Outcome = { passed: number; failed: number; errors: string[] } | null;

async function run(file: string, scratch: string): Promise<Outcome> {
  const report = path.join(scratch, "report.json");
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  if (process.env.FINISHED_FILES) reporters.push("--reporter=./test/long/finished-files.ts");
  // A separate process group, so that the runtimes that vitest starts end with it.
  const child = spawn(process.execPath, [VITEST, "run", file, ...reporters], {
    cwd: ROOT,
    env: { ...process.env, LONG_TESTS: "1", TEST_SEED: `${seed}`, TMPDIR: scratch },
    stdio: "inherit",
    detached: true,
  });
  const stop = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  let isOver = false;
  const timer = Number.isFinite(end)
    ? setTimeout(() => {
        isOver = true;
        stop();
      }, end - Date.now())
    : undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  clearTimeout(timer);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  if (isOver) return null;
  const told = readReport(report);
  // What fails outside of any test counts as one that failed.
  return code === 0 ? told : { ...told, failed: Math.max(told.failed, 1) };
}

/** What this program reads of Vitest's JSON report. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: {
    message: string;
    assertionResults: { title: string; failureMessages: string[] }[];
  }[];
}

function readReport(file: string): NonNullable<Outcome> {
  if (globSync(file).length === 0) return { passed: 0, failed: 0, errors: ["no report"] };
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  const errors = report.testResults.flatMap(({ message, assertionResults }) => [
    ...(message ? [message] : []),
    ...assertionResults.flatMap(({ title, failureMessages }) =>
      failureMessages.map((failure) => `${title}: ${failure}`),
    ),
  ]);
  return { passed: report.numPassedTests, failed: report.numFailedTests, errors };
}

const files = longFiles();
const scratch = makeScratch();
const failures: string[] = [];
let [passed, failed, reached] = [0, 0, 0];
for (const file of files) {
  if (Date.now() >= end) break;
  console.log(`\n${file}: LONG_TESTS=1 TEST_SEED=${seed}`);
  const outcome = await run(file, scratch);
  if (outcome === null) break;
  reached++;
  passed += outcome.passed;
  failed += outcome.failed;
  if (outcome.failed > 0)
    failures.push([`${file} (TEST_SEED=${seed})`, ...outcome.errors].join("\n  "));
}
const missed = files.slice(reached);
console.log(
  missed.length === 0
    ? `\nAll ${files.length} long files were run.`
    : `\n${minutes} minutes ended; not reached or not finished: ${missed.join(", ")}`,
);
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
