/** What of a list is shown: its filters and its pages, which are in the URL. */
import { useEffect, useState } from "preact/hooks";
import { FieldInput } from "../form.tsx";
import type { Field } from "../resource.ts";
import { changeQuery, LIST_START_QUERY, route } from "../route.ts";

/** Filters change the URL, and the URL the list. */
export function Filters({ filters }: { filters: readonly Field[] }) {
  const { query } = route.value;
  if (filters.length === 0) return null;
  return (
    <search class="filters">
      {filters.map((field) => (
        <Filter key={field.name} field={field} value={query[field.name] ?? field.initial ?? ""} />
      ))}
    </search>
  );
}

const TYPING_DELAY_MS = 350;

function Filter({ field, value }: { field: Field; value: string }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const applyFilter = () => changeQuery({ ...LIST_START_QUERY, [field.name]: typed }, true);
    const timer = setTimeout(applyFilter, field.choices ? 0 : TYPING_DELAY_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const shown: Field = field.as === "choices" ? { ...field, as: "choice" } : field;
  return <FieldInput field={{ ...shown, isRequired: false }} value={typed} onChange={setTyped} />;
}

/** To older rows, by the last one that is shown, and back to the newest. */
export function Pager({
  older,
}: {
  /** Parameters of the page that follows; undefined: none does. */
  older: Readonly<Record<string, string>> | undefined;
}) {
  const isFirst = !route.value.query.cursorId;
  if (isFirst && older === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      {!isFirst && (
        <button type="button" onClick={() => changeQuery(LIST_START_QUERY)}>
          Newest
        </button>
      )}
      {older !== undefined && (
        <button type="button" onClick={() => changeQuery({ ...LIST_START_QUERY, ...older })}>
          Older
        </button>
      )}
    </nav>
  );
}
