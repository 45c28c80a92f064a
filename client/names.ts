import { FIELDS, VALUE_FIELDS, VALUES } from "./generated/wire.ts";

/** A body without any of these words has no name in the other spelling. */
const OTHER = /cardano|lovelace|SLACK/i;

const fields = new Map<string, string>(Object.entries(FIELDS));
const values = new Map<string, string>(Object.entries(VALUES));
const valueFields: ReadonlySet<string> = new Set(VALUE_FIELDS);

/**
 * Reads the JSON of an answer or an event in either of the two spellings (`Web3ChainV1` or
 * `Web3CardanoV1`, …). The result has the names of the types. Free text stays as it is.
 *
 * @throws SyntaxError when it is no JSON
 */
export function parseWire(text: string): unknown {
  return JSON.parse(text, OTHER.test(text) ? inOwnNames : undefined);
}

/** Renames the fields of an object; its parts have their names already. */
function inOwnNames(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [fields.get(name) ?? name, ownValue(name, part)]),
  );
}

function ownValue(field: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => ownValue(field, one));
  if (typeof value !== "string") return value;
  if (field === "unit") return value.toLowerCase() === "lovelace" ? "" : value;
  return valueFields.has(field) ? (values.get(value) ?? value) : value;
}
