/** A list of the API as a table: live, filtered by the URL, and with what can be done with its rows. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLive } from "../api/live.ts";
import { type Call, call, urlOf } from "../api/request.ts";
import { may } from "../api/session.ts";
import { ActionDialog, Problem } from "./action-dialog.tsx";
import { FieldInput, put } from "./form.tsx";
import { short } from "./format.ts";
import { at, textAt } from "./path.ts";
import type { Action, Column, Field, Related, Resource } from "./resource.ts";
import { changeQuery, network, route } from "./route.ts";
import { PageLink, Value } from "./value.tsx";
import { Whole } from "./whole.tsx";

const PAGE_ROWS = 25;

/** What a list asks the API for, by the parameters of the URL. */
export function listCall(resource: Resource, query: Readonly<Record<string, string>>): Call {
  const { method = "GET", path, hasNetwork, isWhole, fixed = {}, filters = [] } = resource;
  const { pageRows = PAGE_ROWS } = resource;
  const asked: Record<string, string> = { ...fixed };
  if (hasNetwork) asked.network = network.value;
  if (!isWhole) asked.limit = String(pageRows);
  if (query.cursorId) asked.cursorId = query.cursorId;
  for (const { name, initial = "" } of filters) {
    const value = query[name] ?? initial;
    if (value !== "") asked[name] = value;
  }
  if (method === "GET") return { method, path, query: asked };
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(asked)) {
    const isList = filters.some((one) => one.name === name && one.as === "choices");
    put(body, name, name === "limit" ? Number(value) : isList ? [value] : value);
  }
  return { method, path, body };
}

export function ResourceList({ resource }: { resource: Resource }) {
  const { query } = route.value;
  const { key = "id", columns, filters = [], creates = [], related = [] } = resource;
  const missing = filters.find(
    ({ name, isRequired, unlessGiven = name, initial }) =>
      isRequired && !(query[name] ?? initial) && !query[unlessGiven],
  );
  const asked = listCall(resource, query);
  const name = missing ? "" : `${urlOf(asked)} ${JSON.stringify(asked.body ?? "")}`;
  const live = useLive(name, async (signal) =>
    missing ? [] : ((await call<Record<string, unknown[]>>(asked, signal))[resource.rows] ?? []),
  );
  const rows = live.data ?? [];
  const chosen = rows.find((row) => textAt(row, key) === query.on) ?? null;
  const actions = [
    ...(resource.actions ?? []),
    ...(chosen === null ? [] : (resource.actionsOf?.(chosen) ?? [])),
  ];
  const offered = [...creates, ...(chosen === null ? [] : actions)].filter(isOffered(chosen));
  const action = offered.find((one) => one.name === query.do);
  const last = rows.at(-1);

  return (
    <>
      <p class="about">{resource.about}</p>
      <div class="tools">
        {creates.filter(isOffered(null)).map((one) => (
          <ActionButton key={one.name} action={one} on={undefined} />
        ))}
      </div>
      <Filters filters={filters} />
      {live.error && <Problem problem={live.error} />}
      {live.data === null && live.error === null && <Reading />}
      {missing && <p class="empty">Choose: {missing.label}.</p>}
      {chosen !== null && (
        <Whole title={textAt(chosen, columns[0]?.at ?? key) || textAt(chosen, key)} row={chosen}>
          {actions.filter(isOffered(chosen)).map((one) => (
            <ActionButton key={one.name} action={one} on={textAt(chosen, key)} />
          ))}
          {related.map((one) => (
            <RelatedLink key={one.label} related={one} row={chosen} />
          ))}
        </Whole>
      )}
      {live.data && rows.length === 0 && !missing && <p class="empty">{resource.empty}</p>}
      {rows.length > 0 && (
        <Table
          title={resource.title}
          columns={columns}
          rows={rows}
          keyOf={(row) => textAt(row, key)}
          open={(row, text) => (
            <OpenLink id={textAt(row, key)} isOpen={row === chosen}>
              {text}
            </OpenLink>
          )}
        />
      )}
      {!resource.isWhole && (
        <Pager
          last={
            last && rows.length >= (resource.pageRows ?? PAGE_ROWS) ? textAt(last, key) : undefined
          }
        />
      )}
      {action && (
        <ActionDialog
          key={`${action.name} ${query.on ?? ""}`}
          action={action}
          row={chosen}
          onClose={() => changeQuery({ do: undefined })}
          onDone={live.refresh}
        />
      )}
    </>
  );
}

function RelatedLink({ related, row }: { related: Related; row: unknown }) {
  const { label, page, pageWhen, tab, id, query } = related;
  const to = pageWhen && textAt(row, pageWhen.at) === pageWhen.is ? pageWhen.page : page;
  return (
    <PageLink
      to={to}
      id={id === undefined ? "" : textAt(row, id)}
      query={{ tab, ...picked(row, query) }}
    >
      {label}
    </PageLink>
  );
}

/** Values of a row under other names. */
function picked(row: unknown, from: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(from).map(([name, path]) => [name, textAt(row, path)]));
}

const isOffered =
  (row: unknown) =>
  ({ needs = "Admin", when }: Action): boolean =>
    may(needs) && (when === undefined || when(row));

function ActionButton({ action, on }: { action: Action; on: string | undefined }) {
  return (
    <button
      type="button"
      class={action.isFinal ? "final" : ""}
      onClick={() => changeQuery({ do: action.name, on })}
    >
      {action.label}
    </button>
  );
}

function OpenLink({
  id,
  isOpen,
  children,
}: {
  id: string;
  isOpen: boolean;
  children: ComponentChildren;
}) {
  return (
    <button
      type="button"
      class="open"
      aria-expanded={isOpen}
      onClick={() => changeQuery({ on: isOpen ? undefined : id, do: undefined })}
    >
      {children}
    </button>
  );
}

/** What stands where an answer is still to come. */
export function Reading() {
  return <p class="reading none">Reading…</p>;
}

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

const TYPING_MS = 350;

function Filter({ field, value }: { field: Field; value: string }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const apply = () =>
      changeQuery({ [field.name]: typed, cursorId: undefined, on: undefined }, true);
    const timer = setTimeout(apply, field.choices ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const shown: Field = field.as === "choices" ? { ...field, as: "choice" } : field;
  return <FieldInput field={{ ...shown, isRequired: false }} value={typed} onChange={setTyped} />;
}

/** To older rows, by the last one that is shown, and back to the newest. */
export function Pager({ last }: { last: string | undefined }) {
  const { cursorId } = route.value.query;
  if (!cursorId && last === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      {cursorId && (
        <button type="button" onClick={() => changeQuery({ cursorId: undefined, on: undefined })}>
          Newest
        </button>
      )}
      {last !== undefined && (
        <button type="button" onClick={() => changeQuery({ cursorId: last, on: undefined })}>
          Older
        </button>
      )}
    </nav>
  );
}

interface TableProps<Row> {
  title: string;
  columns: readonly Column[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Makes the first cell something that opens the row. */
  open: (row: Row, text: ComponentChildren) => ComponentChildren;
  /** Rows that changed lately. */
  isFresh?: (row: Row) => boolean;
}

/** On a narrow screen each row is a card, whose cells are labelled by `data-label`. */
export function Table<Row>({ title, columns, rows, keyOf, open, isFresh }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: those without a mouse scroll a wide table by it.
    <section class="scroll" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head }) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={isFresh?.(row) ? "fresh" : ""}>
              {columns.map((column, i) => (
                <td
                  key={column.head}
                  data-label={column.head}
                  class={isEmpty(at(row, column.at)) ? "bare" : ""}
                >
                  {i === 0 ? (
                    open(row, <Name value={at(row, column.at)} fallback={keyOf(row)} />)
                  ) : (
                    <Cell column={column} row={row} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What a row is called; an identifier, which has no blanks, is shortened. */
function Name({ value, fallback }: { value: unknown; fallback: string }) {
  const name = value === null || value === undefined || value === "" ? fallback : String(value);
  return <>{name.includes(" ") || name.includes("/") ? name : short(name)}</>;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === "" || String(value) === "";
}

function Cell({ column, row }: { column: Column; row: unknown }) {
  const value = at(row, column.at);
  const shown = <Value kind={column.as} value={value} />;
  if (column.leadsTo === undefined || !value) return shown;
  return (
    <PageLink to={column.leadsTo} id={String(value)}>
      {shown}
    </PageLink>
  );
}
