/** Both spellings of the wire: a deployment answers in either, the console knows one. */
import { FIELDS, VALUES } from "../../src/http/names/spellings.ts";

const OWN_FIELDS = inverse(FIELDS);
const OWN_VALUES = inverse(VALUES);

/** Fields whose values are one of a list. Any other may be a stranger's text, which stays as it is. */
const CHOICES = new Set(["paymentType", "paymentSourceType", "type", "format", "rail", "id"]);

/** An answer of the API in the interface's own names. */
export function inOwnNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOwnNames);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      OWN_FIELDS.get(name) ?? name,
      typeof member === "string" && CHOICES.has(name)
        ? (OWN_VALUES.get(member) ?? member)
        : inOwnNames(member),
    ]),
  );
}

function inverse(names: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(names).map(([own, other]) => [other, own]));
}
