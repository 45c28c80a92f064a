import { wrapD1 } from "./d1.ts";

/** What D1 says when its database has reached its limit. */
export const FULL_ERROR = "D1_ERROR: Exceeded maximum DB size";
/** The same, when the account has reached its own, and what SQLite says of its file. */
export const FULL_ERRORS = [
  FULL_ERROR,
  "D1_ERROR: Your account has exceeded D1's maximum account storage limit",
  "D1_ERROR: database or disk is full: SQLITE_FULL",
];

/**
 * A D1 that has no room for some insertions and updates, counted from 1. Reads and deletions go on, as
 * on the platform.
 */
export function fullD1(
  inner: D1Database,
  refuses: (n: number) => boolean = () => true,
): { d1: D1Database; writes: () => number } {
  let writes = 0;
  const d1 = wrapD1(inner, async ({ sql }, run) => {
    const isWrite = sql.some((one) => /^\s*(insert|update|replace)\b/i.test(one));
    if (isWrite && refuses(++writes)) throw new Error(FULL_ERROR);
    return run();
  });
  return { d1, writes: () => writes };
}
