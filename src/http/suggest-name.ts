import type * as z from "zod";
import { definitionOf } from "./names/translate.ts";

/** A longer name is compared with none, so that its comparison stays cheap. */
const MAX_COMPARED_LENGTH = 60;
/** A name that contains another of so many characters is near to it, as `walletType` to `type`. */
const MIN_CONTAINED_LENGTH = 4;

/** The known name that a misspelled one is nearest to; null when none is near. */
export function suggestName(sent: string, known: Iterable<string>): string | null {
  if (sent.length > MAX_COMPARED_LENGTH) return null;
  let nearest: { name: string; distance: number } | null = null;
  for (const name of known) {
    const distance = measureDistance(sent.toLowerCase(), name.toLowerCase());
    if (!isNear(sent, name, distance)) continue;
    if (nearest === null || distance < nearest.distance) nearest = { name, distance };
  }
  return nearest?.name ?? null;
}

function isNear(sent: string, name: string, distance: number): boolean {
  const [short = "", long = ""] = [sent.toLowerCase(), name.toLowerCase()].sort(
    (a, b) => a.length - b.length,
  );
  if (distance <= Math.floor(long.length / 3)) return true;
  return short.length >= MIN_CONTAINED_LENGTH && long.includes(short);
}

/** How many characters are inserted, deleted, replaced or swapped (optimal string alignment). */
function measureDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    for (let column = 1; column <= b.length; column++) {
      const at = (cells: number[], index: number) => cells[index] ?? Number.POSITIVE_INFINITY;
      const isSame = a[row - 1] === b[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(next, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      );
      if (a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      next.push(cost);
    }
    [beforeLast, last] = [last, next];
  }
  return last[b.length] ?? 0;
}

/** Names of the fields that a schema knows in the object at a path, in all forms that it may have. */
export function findKnownNames(schema: z.ZodType, path: readonly PropertyKey[]): Set<string> {
  const { innerType, left, right, shape, element, valueType, options, ...pipe } =
    definitionOf(schema);
  const [step, ...rest] = path;
  if (shape) {
    if (step === undefined) return new Set(Object.keys(shape));
    const field = shape[String(step)];
    return field ? findKnownNames(field, rest) : new Set();
  }
  const item = element ?? valueType;
  if (item) return step === undefined ? new Set() : findKnownNames(item, rest);
  const parts = [innerType, left, right, pipe.in, pipe.out, ...(options ?? [])];
  return new Set(parts.flatMap((part) => (part ? [...findKnownNames(part, path)] : [])));
}
