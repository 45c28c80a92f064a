/**
 * What the bundle costs before it does anything: CPU time of workerd until it has started and
 * answered one request, next to that of a Worker that does nothing. `npm run bench -- startup` prints
 * it and fails above the limit.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHost } from "../devnet/host.ts";
import { emptyModule } from "./support/floor.ts";
import { cpuMs, workerdPid } from "./support/process-cpu.ts";
import { median } from "./support/statistics.ts";

/** CPU milliseconds that the bundle may cost more than an empty Worker. */
export const STARTUP_LIMIT_MS = 400;

const ROUNDS = 3;

/** CPU milliseconds, each the median of all rounds. */
export interface StartupCpu {
  bundle: number;
  empty: number;
  /** How much more the bundle took than the empty Worker in the same round. */
  difference: number;
}

/**
 * Starts an empty Worker and the bundle in turns. A busy machine then slows both.
 *
 * @param bundle - path of the built ES module
 * @throws Error when a Worker does not start or answer
 */
export async function measureStartup(bundle: string): Promise<StartupCpu> {
  const folder = mkdtempSync(join(tmpdir(), "startup-"));
  try {
    const emptyWorker = join(folder, "worker.js");
    writeFileSync(emptyWorker, emptyModule());
    const rounds: StartupCpu[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const empty = await startAndAnswer(emptyWorker);
      const ours = await startAndAnswer(bundle);
      rounds.push({ empty, bundle: ours, difference: ours - empty });
    }
    const medianOf = (name: keyof StartupCpu) => median(rounds.map((round) => round[name]));
    return {
      bundle: medianOf("bundle"),
      empty: medianOf("empty"),
      difference: medianOf("difference"),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startAndAnswer(bundle: string): Promise<number> {
  const host = await startHost({ bindings: { ADMIN_KEY: "a key for the bench" }, bundle });
  try {
    const response = await fetch(`${host.url}/api/v1/health`);
    const text = await response.text();
    if (!response.ok) throw new Error(`GET /api/v1/health: ${response.status} ${text}`);
    return cpuMs(workerdPid());
  } finally {
    await host.close();
  }
}
