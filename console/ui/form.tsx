/** Fields that a person fills in. */
import { ArrowUp, Plus, X } from "lucide";
import { useEffect, useId, useState } from "preact/hooks";
import { summarizeChoices } from "./choice-summary.ts";
import { Combobox } from "./combobox.tsx";
import { type FieldValues, parseRows, readInitialValues } from "./form-values.ts";
import { capitalize, shortenId, toEpochMs } from "./format.ts";
import { Icon } from "./icon.tsx";
import { useKnownOptions } from "./known-options.ts";
import type { Field, Option } from "./resource.ts";
import { network } from "./route.ts";
import { toWords } from "./words.ts";

export function FieldInput({
  field,
  value,
  problem,
  onChange,
  onDefault = onChange,
  onLeave,
}: {
  field: Field;
  value: string;
  /** What is wrong with it. */
  problem?: string | undefined;
  onChange: (value: string) => void;
  /** Called with the only option of a required field, which nobody has to type. */
  onDefault?: (value: string) => void;
  /** Called when the focus leaves it. */
  onLeave?: () => void;
}) {
  const id = useId();
  const [listed] = useState(field.listOptions);
  const known = useKnownOptions(field.knownIds);
  const options = listed ?? known;
  const isRequired = field.isRequired === true && !field.isFilter;
  useEffect(() => {
    const [only, second] = options ?? [];
    if (field.isRequired && value === "" && only && !second) onDefault(only.id);
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
          {field.knownIds || listed ? (
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
  field: {
    as = "text",
    choices = [],
    noChoice = "Choose",
    nameChoice = toWords,
    isRequired,
    isFilter,
  },
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
            <option value="">{isFilter ? "Any" : noChoice}</option>
          )}
          {choices.map((choice) => (
            <option key={choice} value={choice} selected={choice === value}>
              {nameChoice(choice)}
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
  const summaryId = useId();
  const summary = summarizeChoices(all, selected);
  return (
    <>
      <fieldset class="choices" aria-describedby={summary ? summaryId : undefined}>
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
      {summary && <small id={summaryId}>{summary}</small>}
    </>
  );
}

/** A row of more fields stands in several lines. */
const MAX_FIELDS_IN_LINE = 3;

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
  const { rowFields = [], rowName = "row", isOrdered = false } = field;
  const rows = parseRows(value);
  const change = (next: readonly FieldValues[]) => onChange(JSON.stringify(next));
  const add = () =>
    change([...rows, readInitialValues(rowFields, null, { network: network.value })]);
  const raise = (i: number) =>
    change([...rows.slice(0, i - 1), ...rows.slice(i - 1, i + 1).reverse(), ...rows.slice(i + 1)]);
  const isTall = rowFields.length > MAX_FIELDS_IN_LINE;
  return (
    <fieldset class="rows">
      <legend>{field.label}</legend>
      {rows.map((row, i) => (
        // biome-ignore lint/a11y/useSemanticElements: a separate fieldset would have a second border.
        <div
          class={isTall ? "row tall" : "row"}
          key={i}
          role="group"
          aria-label={`${capitalize(rowName)} ${i + 1}`}
        >
          {isTall && (
            <h3>
              {capitalize(rowName)} {i + 1}
            </h3>
          )}
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
          {isOrdered && i > 0 && (
            <button
              type="button"
              class="close"
              aria-label={`Move ${rowName} ${i + 1} up`}
              onClick={() => raise(i)}
            >
              <Icon node={ArrowUp} size={14} />
            </button>
          )}
        </div>
      ))}
      <button type="button" onClick={add}>
        <Icon node={Plus} size={14} />
        Add {rowName}
      </button>
    </fieldset>
  );
}
