import type { ImportReport } from "./plan-import.ts";

/** Ids that a line names. */
const MAX_NAMED_IDS = 5;

/** The report of an import, as lines for people. Only an import that `writes` gives new secrets out. */
export function printReport(
  { tallies, omitted, notes, newSecrets }: ImportReport,
  { writes }: { writes: boolean },
): string[] {
  const toLine = (name: string, ...counts: (string | number)[]) =>
    name.padEnd(32) + counts.map((one) => String(one).padStart(10)).join("");
  const lines = [toLine("", "found", "to import", "present", "left out")];
  for (const { kind, found, added, present, leftOut } of tallies) {
    const left = [...leftOut.values()].flat().length;
    lines.push(toLine(kind, found, added, present, left));
    for (const [reason, ids] of leftOut) {
      const rest = ids.length > MAX_NAMED_IDS ? ", …" : "";
      lines.push(`  ${ids.length} × ${reason}: ${ids.slice(0, MAX_NAMED_IDS).join(", ")}${rest}`);
    }
  }
  if (omitted.length > 0) lines.push("", "Never imported:");
  for (const { name, count, reason } of omitted) lines.push(`  ${count} × ${name}: ${reason}`);
  if (notes.length > 0) lines.push("", "To do:", ...notes.map((note) => `  ${note}`));
  if (writes && newSecrets.length > 0)
    lines.push("", "New secrets, shown only now:", ...newSecrets.map((line) => `  ${line}`));
  if (!writes) lines.push("", "Dry run: nothing was written. Add --write to import.");
  return lines;
}
