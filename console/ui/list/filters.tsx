/** What of a list is shown: its search, its filters and its pages, which are in the URL. */
import { Search, X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FieldInput } from "../form.tsx";
import { Icon } from "../icon.tsx";
import type { Field, Resource } from "../resource.ts";
import { changeQuery, LIST_START_QUERY, route } from "../route.ts";

const SEARCH_NAME = "searchQuery";

/** Filters of a list that other tabs of its page have too, and their values. */
export function pickSharedFilters(
  { filters = [] }: Pick<Resource, "filters">,
  values: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const shared = filters.filter(({ isShared }) => isShared);
  return Object.fromEntries(shared.map(({ name }) => [name, values[name]]));
}

/**
 * The search box, the filters in use, and a menu of the others. Filters change the URL, and the URL the list.
 *
 * @param children - what stands at the end of the line
 */
export function Filters({
  filters,
  children,
}: {
  filters: readonly Field[];
  children?: ComponentChildren;
}) {
  const { query } = route.value;
  const [added, setAdded] = useState<readonly string[]>([]);
  const line = useRef<HTMLDivElement>(null);
  const search = filters.find(({ name }) => name === SEARCH_NAME);
  const others = filters.filter((one) => one !== search);
  const isShown = ({ name, isRequired, initial }: Field) =>
    isRequired || initial !== undefined || Boolean(query[name]) || added.includes(name);
  const shown = others.filter(isShown);
  const offered = others.filter((one) => !isShown(one));
  const apply = (name: string, value: string | undefined, isReplaced: boolean) =>
    changeQuery({ ...LIST_START_QUERY, [name]: value }, isReplaced);
  const add = (name: string) => {
    const field = others.find((one) => one.name === name);
    if (!field) return;
    const [only, second] = field.choices ?? [];
    if (only !== undefined && second === undefined) return apply(name, only, true);
    setAdded([...added, name]);
    setTimeout(() => line.current?.querySelector<HTMLElement>(`[name="${name}"]`)?.focus());
  };
  const remove = (name: string) => {
    setAdded(added.filter((one) => one !== name));
    apply(name, undefined, true);
  };
  return (
    <div class="toolbar" ref={line}>
      {search && (
        <div class="search">
          <Icon node={Search} />
          <Filter field={search} value={query[SEARCH_NAME] ?? ""} />
        </div>
      )}
      {shown.map((field) => (
        <div class="filter" key={field.name}>
          <Filter field={field} value={query[field.name] ?? field.initial ?? ""} />
          {!field.isRequired && field.initial === undefined && (
            <button
              type="button"
              class="close"
              aria-label={`Remove the filter ${field.label}`}
              onClick={() => remove(field.name)}
            >
              <Icon node={X} size={14} />
            </button>
          )}
        </div>
      ))}
      {offered.length > 0 && (
        <select
          class="add-filter"
          aria-label="Add filter"
          value=""
          onChange={(event) => {
            add(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="">Add filter</option>
          {offered.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      )}
      <div class="tools">{children}</div>
    </div>
  );
}

const TYPING_DELAY_MS = 350;

function Filter({ field, value }: { field: Field; value: string }) {
  /** What the URL has not got yet; null: nothing. */
  const [typed, setTyped] = useState<string | null>(null);
  const apply = (text: string) => changeQuery({ ...LIST_START_QUERY, [field.name]: text }, true);
  useEffect(() => {
    if (typed === null) return;
    const timer = setTimeout(() => {
      apply(typed);
      setTyped(null);
    }, TYPING_DELAY_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const { unlessGiven = "", isRequired = false, as = "text" } = field;
  const shown: Field = {
    ...field,
    as: as === "choices" ? "choice" : as,
    isFilter: true,
    isRequired: isRequired && !route.value.query[unlessGiven],
  };
  const onChange = field.choices ? apply : setTyped;
  return <FieldInput field={shown} value={typed ?? value} onChange={onChange} onDefault={apply} />;
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
