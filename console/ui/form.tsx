/** Fields that a person fills in, and what is sent of them. */
import { useEffect, useId } from "preact/hooks";
import { Combobox } from "./combobox.tsx";
import { parseMinorUnits, toEpochMs } from "./format.ts";
import { useKnownOptions } from "./known-options.ts";
import { textAt, valueAt } from "./path.ts";
import type { Field } from "./resource.ts";
import { toWords } from "./words.ts";

/** What stands in the fields, by their names. */
export type FieldValues = Record<string, string>;

/** What a field holds does not read as what it is. */
export class FieldError extends Error {
  readonly field: string;
  constructor({ name, label }: Field, problem: string) {
    super(`${label}: ${problem}`);
    this.field = name;
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
    fields.map(({ name, from, initial = "", as, itemName }) => {
      if (row === null && as !== "secret") return [name, given[name] ?? initial];
      if (from === undefined || row === null) return [name, initial];
      const value = valueAt(row, from);
      if (as === "json") return [name, value === undefined ? "" : JSON.stringify(value, null, 2)];
      if (Array.isArray(value))
        return [name, value.map((one) => (itemName ? textAt(one, itemName) : one)).join("\n")];
      return [name, textAt(row, from)];
    }),
  );
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
    const text = (values[field.name] ?? "").trim();
    const before = field.from === undefined ? "" : textAt(row, field.from);
    if (text === "" && field.isEmptySent) {
      setValueAtPath(body, field.name, "");
      continue;
    }
    if (text === "" && field.as !== "lines" && field.as !== "choices") {
      if (field.isRequired) throw new FieldError(field, "is required");
      if (before !== "" && field.as !== "secret") setValueAtPath(body, field.name, null);
      continue;
    }
    if (text === "" && field.from === undefined) continue;
    setValueAtPath(body, field.name, parseFieldValue(field, text, values));
  }
  return body;
}

function parseFieldValue(field: Field, text: string, values: FieldValues): unknown {
  switch (field.as) {
    case "flag":
      return text === "true";
    case "number": {
      const number = Number(text);
      if (!Number.isFinite(number)) throw new FieldError(field, "must be a number");
      return number;
    }
    case "amount": {
      const amount = parseMinorUnits(text, field.unit ?? values[field.unitFrom ?? ""] ?? "");
      if (amount === null) throw new FieldError(field, "must be an amount of this unit");
      return amount;
    }
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
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new FieldError(field, "must be JSON");
      }
    default:
      return text;
  }
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
}: {
  field: Field;
  value: string;
  /** What is wrong with it. */
  problem?: string | undefined;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const options = useKnownOptions(field.knownIds);
  const isRequired = field.isRequired === true && !field.isFilter;
  useEffect(() => {
    const [only, second] = options ?? [];
    if (isRequired && value === "" && only && !second) onChange(only.id);
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
    <div class={field.as === "flag" ? "field flag" : "field"}>
      {field.as === "choices" ? (
        <Choices field={field} value={value} onChange={onChange} />
      ) : (
        <>
          <label for={id}>{field.label}</label>
          {options ? (
            <Combobox
              options={options}
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
    case "json":
      return (
        <textarea
          {...attributes}
          rows={as === "json" ? 8 : 3}
          value={value}
          onInput={onInput}
          spellcheck={false}
        />
      );
    case "secret":
      return (
        <input {...attributes} type="password" autocomplete="off" value={value} onInput={onInput} />
      );
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
  value,
  onChange,
}: {
  field: Field;
  value: string;
  onChange: (value: string) => void;
}) {
  const selected = new Set(value.split("\n").filter(Boolean));
  const toggle = (choice: string) => {
    if (!selected.delete(choice)) selected.add(choice);
    onChange((field.choices ?? []).filter((one) => selected.has(one)).join("\n"));
  };
  return (
    <fieldset>
      <legend>{field.label}</legend>
      {field.choices?.map((choice) => (
        <label key={choice}>
          <input type="checkbox" checked={selected.has(choice)} onChange={() => toggle(choice)} />
          {toWords(choice)}
        </label>
      ))}
    </fieldset>
  );
}
