/** What the fields of a form hold, and what is sent of them. */
import {
  decimalsOf,
  formatAmount,
  formatUnit,
  formatUnits,
  parseUnits,
  toEpochMs,
} from "./format.ts";
import { textAt, valueAt } from "./path.ts";
import type { AmountToken, Field } from "./resource.ts";

/** What stands in the fields, by their names. */
export type FieldValues = Record<string, string>;

/** What a field holds does not read as what it is. */
export class FieldError extends Error {
  readonly field: string;
  /** What is wrong, without the field's label. */
  readonly problem: string;
  constructor({ name, label }: Field, problem: string) {
    super(`${label}: ${problem}`);
    this.field = name;
    this.problem = problem;
  }
}

/**
 * What the fields hold at first.
 *
 * @param given - what the URL has for those that a row has nothing for
 */
export function readInitialValues(
  fields: readonly Field[],
  row: unknown,
  given: Readonly<Record<string, string>> = {},
): FieldValues {
  return Object.fromEntries(
    fields.map((field) => {
      const {
        name,
        from,
        initialBy,
        initial = initialBy?.(row, given) ?? "",
        as,
        itemName,
      } = field;
      if (row === null && as !== "secret") return [name, given[name] ?? initial];
      if (from === undefined || row === null) return [name, initial];
      const value = valueAt(row, from);
      if (field.token) {
        const { decimals } = field.token({ ...given }, row);
        return [name, formatUnits(textAt(row, from), decimals)];
      }
      if (as === "rows") return [name, JSON.stringify(readRows(field, value))];
      if (Array.isArray(value))
        return [name, value.map((one) => (itemName ? textAt(one, itemName) : one)).join("\n")];
      return [name, textAt(row, from)];
    }),
  );
}

/** Each row as what its fields hold. */
function readRows({ rowFields = [] }: Field, value: unknown): FieldValues[] {
  return (Array.isArray(value) ? value : []).map((one) =>
    Object.fromEntries(
      rowFields.map(({ name, as, unitFrom = "" }) => {
        const member = valueAt(one, name);
        const text = Array.isArray(member) ? member.join("\n") : textAt(one, name);
        // A record has its secrets masked.
        if (as === "secret") return [name, ""];
        return [name, as === "amount" ? formatAmount(text, textAt(one, unitFrom)) : text];
      }),
    ),
  );
}

/** The rows that a field of them holds. */
export function parseRows(value: string): FieldValues[] {
  return value === "" ? [] : (JSON.parse(value) as FieldValues[]);
}

/**
 * The body that fields make: those that are empty are left out, or sent as null where that clears a value
 * which the row has.
 *
 * @throws FieldError
 */
export function buildBody(fields: readonly Field[], values: FieldValues, row: unknown): object {
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    if (field.isShown?.(values) === false) continue;
    const value = readFieldValue(field, values, row);
    if (value !== undefined) setValueAtPath(body, field.name, value);
  }
  return body;
}

const LIST_KINDS: ReadonlySet<string> = new Set(["lines", "choices", "rows"]);

/** Undefined: the field is left out. */
function readFieldValue(field: Field, values: FieldValues, row: unknown): unknown {
  const text = (values[field.name] ?? "").trim();
  const before = field.from === undefined ? "" : textAt(row, field.from);
  const isList = LIST_KINDS.has(field.as ?? "text");
  const isEmpty = text === "" || (field.as === "rows" && text === "[]");
  if (!isEmpty) return parseFieldValue(field, text, values, row);
  if (field.isEmptySent) return "";
  if (field.isRequired) throw new FieldError(field, "is required");
  if (isList && !field.isNullWhenEmpty) return field.from === undefined ? undefined : [];
  return before !== "" && field.as !== "secret" ? null : undefined;
}

/** What is wrong with what a field holds; null: nothing. */
export function findProblem(field: Field, values: FieldValues, row: unknown): string | null {
  try {
    readFieldValue(field, values, row);
    return null;
  } catch (error) {
    return error instanceof FieldError ? error.problem : String(error);
  }
}

function parseFieldValue(field: Field, text: string, values: FieldValues, row: unknown): unknown {
  const problem = field.check?.(text) ?? null;
  if (problem !== null) throw new FieldError(field, problem);
  switch (field.as) {
    case "flag":
      return text === "true";
    case "number": {
      const number = Number(text);
      if (!Number.isFinite(number)) throw new FieldError(field, "must be a number");
      return number;
    }
    case "amount":
      return parseAmount(field, text, tokenOf(field, values, row));
    case "time": {
      const time = toEpochMs(text);
      if (time === null) throw new FieldError(field, "must be a time");
      return new Date(time).toISOString();
    }
    case "lines":
    case "choices": {
      const items = text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
      return field.itemName ? items.map((item) => ({ [field.itemName ?? ""]: item })) : items;
    }
    case "rows":
      return parseRows(text).map((one) => buildRow(field, one));
    default:
      return text;
  }
}

/** @throws FieldError of the whole field, which names the row's own */
function buildRow(field: Field, row: FieldValues): object {
  try {
    return buildBody(field.rowFields ?? [], row, null);
  } catch (error) {
    throw error instanceof FieldError ? new FieldError(field, error.message) : error;
  }
}

/** What an amount is of. */
export function tokenOf(
  { token, unit, unitFrom }: Field,
  values: FieldValues,
  row: unknown,
): AmountToken {
  if (token) return token(values, row);
  const id = unit ?? values[unitFrom ?? ""] ?? "";
  return { name: formatUnit(id), decimals: decimalsOf(id) ?? 0 };
}

function parseAmount(field: Field, text: string, { name, decimals }: AmountToken): string {
  const amount = parseUnits(text, decimals ?? 0);
  if (amount !== null) return amount;
  throw new FieldError(field, `must be an amount of ${name} ${describeDecimals(decimals)}`);
}

function describeDecimals(decimals: number | null): string {
  if (decimals === null) return "in minor units";
  return decimals === 0 ? "without decimals" : `with at most ${decimals} decimals`;
}

/** What people are told of an amount before they type it in: its token, and how it is written. */
export function describeToken({ name, decimals }: AmountToken): string {
  return decimals === null
    ? `In minor units: the decimals of ${name} are not known.`
    : `In ${name}, ${describeDecimals(decimals)}.`;
}

/** Sets a member by its path. */
export function setValueAtPath(
  target: Record<string, unknown>,
  path: string,
  value: unknown,
): void {
  const names = path.split(".");
  const last = names.pop() ?? "";
  let inner = target;
  for (const name of names) {
    inner[name] ??= {};
    inner = inner[name] as Record<string, unknown>;
  }
  inner[last] = value;
}
