/** Which of a list's choices are selected, also those that are scrolled out of sight. */
import type { Option } from "./resource.ts";

/** `2 of 40: Purchase: error, Payment: error`. Empty: none is selected. */
export function summarizeChoices(options: readonly Option[], selected: readonly string[]): string {
  const names = options.filter(({ id }) => selected.includes(id)).map(({ label }) => label);
  if (names.length === 0) return "";
  if (names.length === options.length) return `All ${options.length} are selected.`;
  return `${names.length} of ${options.length}: ${names.join(", ")}`;
}
