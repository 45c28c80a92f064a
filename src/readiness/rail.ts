import type * as z from "zod";
import type { railCheck } from "./schemas.ts";

/** Whether something that a rail needs is there. */
export type Check = z.input<typeof railCheck>;

/** What a check finds missing; null: nothing. */
export type Missing = string | null;

/**
 * Checks as they are shown.
 *
 * @param labels - what each check is about, by its id
 * @param found - what each finds missing
 */
export function checksOf<Id extends string>(
  labels: Readonly<Record<Id, string>>,
  found: Readonly<Record<Id, Missing>>,
): Check[] {
  return (Object.keys(labels) as Id[]).map((id) => ({
    id: id as Check["id"],
    label: labels[id],
    isComplete: found[id] === null,
    detail: found[id],
  }));
}

export function isComplete(checks: readonly Check[]): boolean {
  return checks.every((check) => check.isComplete);
}

/** Of several ways to use a rail the one that lacks least, the first of equals. */
export function bestOf(candidates: readonly Check[][]): Check[] | undefined {
  const lacking = (checks: Check[]) => checks.filter((check) => !check.isComplete).length;
  return candidates.toSorted((a, b) => lacking(a) - lacking(b))[0];
}
