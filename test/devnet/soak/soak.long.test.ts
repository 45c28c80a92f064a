/** Everything together: see devnet/soak/run.ts. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** CI has less time. */
const MINUTES = process.env.SOAK_MINUTES ?? "5";
/** Start, minutes and rest. */
const TIMEOUT_MS = 20 * 60_000;

it(
  `${MINUTES} minutes of load and faults break no invariant`,
  async () => {
    const seed = process.env.TEST_SEED ?? "1";
    const args = ["devnet/soak/run.ts", "--minutes", MINUTES, "--seed", seed];
    const options = { cwd: root, maxBuffer: 10 * 1024 * 1024 };
    // A broken invariant ends the program with a code that is not 0, after its evidence.
    const run = promisify(execFile)(process.execPath, args, options);
    const { stdout, stderr } = await run.catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    console.log(stdout, stderr);
    expect(stdout).toContain("no invariant is broken");
  },
  TIMEOUT_MS,
);
