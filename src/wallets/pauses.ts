/** How features wait before a wallet tries a task again. */

/** After this many failed tries a task is given up. */
export const MAX_TRIES = 5;
/** How long a task waits for what is not its own fault, milliseconds. */
export const WAIT_MS = 30_000;

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** Milliseconds to wait after so many failed tries; at least one. */
export function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
}
