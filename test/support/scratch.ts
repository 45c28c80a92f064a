import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const IN_MEMORY = "/dev/shm";
/** A whole run holds about a tenth of it at once. */
const ENOUGH_BYTES = 2 * 1024 ** 3;

/**
 * A folder for what a run of the tests writes, removed when this process exits. It lies in memory
 * where there is enough of it: databases sync each of their writes, which disks take their time for.
 */
export function makeScratch(): string {
  const folder = mkdtempSync(path.join(hasMemory() ? IN_MEMORY : tmpdir(), "tests-"));
  // A server that runs as another user reaches its own folder here.
  chmodSync(folder, 0o711);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasMemory(): boolean {
  if (!existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize >= ENOUGH_BYTES;
}
