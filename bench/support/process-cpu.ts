/** CPU time of workerd, read from Linux's `/proc`. */
import { readdirSync, readFileSync } from "node:fs";

/** `utime` and `stime` of `/proc/<pid>/stat` count in hundredths of a second (`USER_HZ`). */
const MS_PER_TICK = 10;

/**
 * The workerd that this process started last.
 *
 * @throws when there is none.
 */
export function workerdPid(): number {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)) ?? [])
    .filter(({ name, parent }) => name === "workerd" && parent === process.pid);
  const newest = children.sort((a, b) => b.startedAt - a.startedAt)[0];
  if (!newest) throw new Error("this process has started no workerd");
  return newest.pid;
}

/**
 * CPU time that a process, all its threads counted, has spent since it started, in milliseconds;
 * it moves in steps of ten.
 *
 * @throws when the process has ended.
 */
export function cpuMs(pid: number): number {
  const stat = readStat(pid);
  if (!stat) throw new Error(`process ${pid} has ended`);
  return stat.cpuMs;
}

interface ProcessStat {
  pid: number;
  name: string;
  parent: number;
  /** Ticks after boot. */
  startedAt: number;
  cpuMs: number;
}

/** Fields as in proc_pid_stat(5). Null when the process ended meanwhile. */
function readStat(pid: number): ProcessStat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
  // The name stands in brackets and may contain brackets and spaces itself.
  const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return {
    pid,
    name,
    parent: field(4),
    startedAt: field(22),
    cpuMs: (field(14) + field(15)) * MS_PER_TICK,
  };
}
