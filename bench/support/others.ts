/** How much else runs on the machine while the bench does. */
import { readdirSync, readFileSync } from "node:fs";

const SAMPLED_EVERY_MS = 1_000;

export interface Others {
  /** Threads of other processes that ran or waited for a core, on average since it was last asked. */
  load(): number;
  stop(): void;
}

/** Watches the threads of all processes but this one and those that it started. */
export function watchOthers(): Others {
  let samples: number[] = [];
  const sample = () =>
    samples.push(Math.max(runningThreads() - runningThreadsOf(ownProcesses()), 0));
  const timer = setInterval(sample, SAMPLED_EVERY_MS);
  timer.unref();
  return {
    load() {
      if (samples.length === 0) sample();
      const mean = samples.reduce((sum, one) => sum + one, 0) / samples.length;
      samples = [];
      return mean;
    },
    stop: () => clearInterval(timer),
  };
}

/** Of the whole machine: the fourth field of proc_loadavg(5). */
function runningThreads(): number {
  const [, , , running = "0"] = readFileSync("/proc/loadavg", "utf8").split(" ");
  return Number.parseInt(running, 10);
}

/** This process, and those that it or they started. */
function ownProcesses(): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const fields = /^\d+$/.test(name) ? statFields(`/proc/${name}/stat`) : null;
    if (fields) parents.set(Number(name), Number(fields[1]));
  }
  const isOwn = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOwn(parents.get(pid)));
  return [...parents.keys()].filter(isOwn);
}

function runningThreadsOf(pids: readonly number[]): number {
  let running = 0;
  for (const pid of pids)
    for (const thread of threadsOf(pid))
      if (statFields(`/proc/${pid}/task/${thread}/stat`)?.[0] === "R") running++;
  return running;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch (error) {
    return unlessGone(error) ?? [];
  }
}

/** Fields as in proc_pid_stat(5), from the state on; null when the process ended meanwhile. */
function statFields(path: string): string[] | null {
  try {
    const text = readFileSync(path, "utf8");
    // The name before stands in brackets and may contain brackets and spaces itself.
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch (error) {
    return unlessGone(error);
  }
}

function unlessGone(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ESRCH") return null;
  throw error;
}
