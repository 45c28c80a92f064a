/** Fields that a person fills in, and what is sent of them. */
import { Plus, X } from "lucide";
import { useEffect, useId } from "preact/hooks";
import { Combobox } from "./combobox.tsx";
import {
  formatAmount,
  formatUnit,
  parseMinorUnits,
  shortenId,
  toEpochMs,
  unitDetails,
} from "./format.ts";
import { Icon } from "./icon.tsx";
import { type Option, useKnownOptions } from "./known-options.ts";
import { textAt, valueAt } from "./path.ts";
import type { Field } from "./resource.ts";
import { toWords } from "./words.ts";

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
      const { name, from, initial = "", as, itemName } = field;
      if (row === null && as !== "secret") return [name, given[name] ?? initial];
      if (from === undefined || row === null) return [name, initial];
      const value = valueAt(row, from);
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
        const text = textAt(one, name);
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
  if (!isEmpty) return parseFieldValue(field, text, values);
  if (field.isEmptySent) return "";
  if (field.isRequired) throw new FieldError(field, "is required");
  if (isList && !field.isNullWhenEmpty) return field.from === undefined ? undefined : [];
  return before !== "" && field.as !== "secret" ? null : undefined;
}

/** What is wrong with what a field holds; null: nothing. */
export function findProblem(field: Field, values: FieldValues): string | null {
  try {
    readFieldValue(field, values, null);
    return null;
  } catch (error) {
    return error instanceof FieldError ? error.problem : String(error);
  }
}

function parseFieldValue(field: Field, text: string, values: FieldValues): unknown {
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
      return parseAmount(field, text, values);
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

function parseAmount(field: Field, text: string, values: FieldValues): string {
  const unit = field.unit ?? values[field.unitFrom ?? ""] ?? "";
  const amount = parseMinorUnits(text, unit);
  if (amount !== null) return amount;
  const decimals = unitDetails.value.get(unit)?.decimals ?? 0;
  const places = decimals === 0 ? "without decimals" : `with at most ${decimals} decimals`;
  throw new FieldError(field, `must be an amount of ${formatUnit(unit)} ${places}`);
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

export function FieldInput({
  field,
  value,
  problem,
  onChange,
  onLeave,
}: {
  field: Field;
  value: string;
  /** What is wrong with it. */
  problem?: string | undefined;
  onChange: (value: string) => void;
  /** Called when the focus leaves it. */
  onLeave?: () => void;
}) {
  const id = useId();
  const options = useKnownOptions(field.knownIds);
  const isRequired = field.isRequired === true && !field.isFilter;
  useEffect(() => {
    const [only, second] = options ?? [];
    if (field.isRequired && value === "" && only && !second) onChange(only.id);
  }, [options]);
  const about = field.hint || problem ? `${id}-about` : undefined;
  const attributes = {
    id,
    name: field.name,
    required: isRequired,
    "aria-invalid": problem !== undefined,
    ...(about && { "aria-describedby": about }),
    ...(field.isFilter && field.hint && { placeholder: field.hint }),
  };
  return (
    <div class={field.as === "flag" ? "field flag" : "field"} onFocusOut={onLeave}>
      {field.as === "choices" && (
        <Choices field={field} options={options} value={value} onChange={onChange} />
      )}
      {field.as === "rows" && <RowsInput field={field} value={value} onChange={onChange} />}
      {field.as !== "choices" && field.as !== "rows" && (
        <>
          <label for={id}>{field.label}</label>
          {!isRequired && !field.isFilter && field.as !== "flag" && field.as !== "choice" && (
            <span class="optional">optional</span>
          )}
          {field.knownIds ? (
            <Combobox
              options={options ?? []}
              value={value}
              onChange={onChange}
              label={field.label}
              attributes={attributes}
            />
          ) : (
            <SimpleInput field={field} value={value} attributes={attributes} onChange={onChange} />
          )}
        </>
      )}
      {about && (
        <small id={about} class={problem ? "problem" : ""}>
          {problem ?? field.hint}
        </small>
      )}
    </div>
  );
}

/** A time of the URL or the API as a browser's own field has it, in the reader's zone. */
function toLocalTime(text: string): string {
  const time = toEpochMs(text);
  if (time === null) return text;
  const zone = new Date(time).getTimezoneOffset() * 60_000;
  return new Date(time - zone).toISOString().slice(0, 16);
}

function SimpleInput({
  field: { as = "text", choices = [], isRequired, isFilter },
  value,
  attributes,
  onChange,
}: {
  field: Field;
  value: string;
  attributes: object;
  onChange: (value: string) => void;
}) {
  const onInput = (event: Event) => onChange((event.target as HTMLInputElement).value);
  switch (as) {
    case "choice":
      return (
        <select {...attributes} onChange={onInput} value={value}>
          {(!isRequired || isFilter || value === "") && (
            <option value="">{isFilter ? "Any" : "Choose"}</option>
          )}
          {choices.map((choice) => (
            <option key={choice} value={choice} selected={choice === value}>
              {toWords(choice)}
            </option>
          ))}
        </select>
      );
    case "flag":
      return (
        <input
          {...attributes}
          type="checkbox"
          required={false}
          checked={value === "true"}
          onChange={(event) => onChange(String(event.currentTarget.checked))}
        />
      );
    case "long":
    case "lines":
      return (
        <textarea {...attributes} rows={3} value={value} onInput={onInput} spellcheck={false} />
      );
    case "secret":
      return (
        <input {...attributes} type="password" autocomplete="off" value={value} onInput={onInput} />
      );
    case "month":
      return <input {...attributes} type="month" value={value} onInput={onInput} />;
    case "time":
      return (
        <input
          {...attributes}
          type="datetime-local"
          value={toLocalTime(value)}
          onInput={(event) => {
            const time = toEpochMs(event.currentTarget.value);
            onChange(time === null ? "" : new Date(time).toISOString());
          }}
        />
      );
    default:
      return (
        <input
          {...attributes}
          type="text"
          inputMode={as === "number" || as === "amount" ? "decimal" : "text"}
          autocomplete="off"
          spellcheck={false}
          value={value}
          onInput={onInput}
        />
      );
  }
}

function Choices({
  field,
  options,
  value,
  onChange,
}: {
  field: Field;
  /** What is offered beside the choices of the field; null: it is not known yet. */
  options: readonly Option[] | null;
  value: string;
  onChange: (value: string) => void;
}) {
  const selected = value.split("\n").filter(Boolean);
  const known: Option[] = [
    ...(field.choices ?? []).map((id) => ({ id, label: toWords(id), detail: "" })),
    ...(options ?? []),
  ];
  const unknown = selected.filter((id) => !known.some((one) => one.id === id));
  const all = [...known, ...unknown.map((id) => ({ id, label: shortenId(id), detail: "" }))];
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onChange(
      all
        .map((one) => one.id)
        .filter((one) => next.has(one))
        .join("\n"),
    );
  };
  return (
    <fieldset class="choices">
      <legend>{field.label}</legend>
      {field.knownIds && options === null && <span class="none">Reading…</span>}
      {all.map(({ id, label, detail }) => (
        <label key={id}>
          <input type="checkbox" checked={selected.includes(id)} onChange={() => toggle(id)} />
          <span>
            {label}
            {detail && <small> {detail}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Rows that are added one by one, each with the same fields. */
function RowsInput({
  field,
  value,
  onChange,
}: {
  field: Field;
  value: string;
  onChange: (value: string) => void;
}) {
  const { rowFields = [], rowName = "row" } = field;
  const rows = parseRows(value);
  const change = (next: readonly FieldValues[]) => onChange(JSON.stringify(next));
  const add = () => change([...rows, readInitialValues(rowFields, null)]);
  return (
    <fieldset class="rows">
      <legend>{field.label}</legend>
      {rows.map((row, i) => (
        <div class="row" key={i}>
          {rowFields.map((one) => (
            <FieldInput
              key={one.name}
              field={one}
              value={row[one.name] ?? ""}
              onChange={(text) =>
                change(rows.map((old, j) => (i === j ? { ...old, [one.name]: text } : old)))
              }
            />
          ))}
          <button
            type="button"
            class="close"
            aria-label={`Remove ${rowName} ${i + 1}`}
            onClick={() => change(rows.filter((_, j) => i !== j))}
          >
            <Icon node={X} size={14} />
          </button>
        </div>
      ))}
      <button type="button" onClick={add}>
        <Icon node={Plus} size={14} />
        Add {rowName}
      </button>
    </fieldset>
  );
}
