/** A list of the API as a table: live, filtered by the URL, and with what can be done with its rows. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useLiveData } from "../../api/live.ts";
import { type ApiRequest, callApi, urlOf } from "../../api/request.ts";
import { hasAccess } from "../../api/session.ts";
import { ActionDialog } from "../action-dialog.tsx";
import { setValueAtPath } from "../form-values.ts";
import { lowerFirst } from "../format.ts";
import { useKnownOptions } from "../known-options.ts";
import { useOpenedAction } from "../opened-action.ts";
import { pickTexts, textAt } from "../path.ts";
import { Problem } from "../problem.tsx";
import type { Action, KnownIds, RelatedList, Resource } from "../resource.ts";
import { changeQuery, network, pageHref, route } from "../route.ts";
import { LoadingIndicator } from "../status.tsx";
import { PageLink } from "../value.tsx";
import { toWords } from "../words.ts";
import { Filters, Pager, pickSharedFilters } from "./filters.tsx";
import { RowDetails } from "./row-details.tsx";
import { secondOf, Table } from "./table.tsx";

const PAGE_SIZE = 25;

/** What a list asks the API for, by the parameters of the URL. */
export function createListRequest(
  resource: Resource,
  query: Readonly<Record<string, string>>,
): ApiRequest {
  const { method = "GET", path, hasNetwork, isWhole, fixed = {}, filters = [] } = resource;
  const { pageRows = PAGE_SIZE } = resource;
  const asked: Record<string, string> = { ...fixed };
  if (hasNetwork) asked.network = network.value;
  if (!isWhole) asked.limit = String(pageRows);
  for (const name of Object.keys(cursorPathsOf(resource)))
    if (query[name]) asked[name] = query[name];
  for (const { name, initial = "" } of filters) {
    const value = query[name] ?? initial;
    if (value !== "") asked[name] = value;
  }
  if (method === "GET") return { method, path, query: asked };
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(asked)) {
    const isList = filters.some((one) => one.name === name && one.as === "choices");
    setValueAtPath(body, name, name === "limit" ? Number(value) : isList ? [value] : value);
  }
  return { method, path, body };
}

/** Parameters of the next page, and where the last row has them. */
const cursorPathsOf = ({ key = "id", cursor = {} }: Resource) => ({
  cursorId: [key].flat()[0] ?? "",
  ...cursor,
});

/** What identifies a row, in the URL too, which has no empty values: the native coin's unit is one. */
function rowKeyOf({ key = "id" }: Resource, row: unknown): string {
  const parts = [key].flat().map((path) => textAt(row, path));
  return parts.join(" ") || "native";
}

export function ResourceList({ resource }: { resource: Resource }) {
  const { page, query } = route.value;
  const { columns, filters = [], creates = [], related = [], elsewhere = [] } = resource;
  const missing = filters.find(
    ({ name, isRequired, unlessGiven = name, initial }) =>
      isRequired && !(query[name] ?? initial) && !query[unlessGiven],
  );
  const isAboutToBeChosen = useIsOnlyOption(missing?.knownIds);
  const asked = createListRequest(resource, query);
  const name = missing ? "" : `${urlOf(asked)} ${JSON.stringify(asked.body ?? "")}`;
  const live = useLiveData(name, async (signal) => {
    if (missing) return [];
    const answer = await callApi<Record<string, unknown[]>>(asked, signal);
    const { rowsMember, ownRowsMember = rowsMember } = resource;
    return answer[ownRowsMember] ?? answer[rowsMember] ?? [];
  });
  const all = live.data ?? [];
  const rows = resource.selectRows?.(all) ?? all;
  const selected = useSelectedRow(resource, all, query.on);
  const actions = [
    ...(resource.actions ?? []),
    ...(selected === null ? [] : (resource.listRowActions?.(selected) ?? [])),
  ];
  const offered = [...creates, ...(selected === null ? [] : actions)].filter(
    isActionOffered(selected),
  );
  const found = offered.find((one) => one.name === query.do);
  const opened = useOpenedAction(`${query.do} ${query.on ?? ""}`, found, selected);
  const last = all.at(-1);
  const shared = pickSharedFilters(resource, query);
  const buttons = [
    ...creates
      .filter(isActionOffered(null))
      .map((one, i) => (
        <ActionButton key={one.name} action={one} on={undefined} isMain={i === 0} />
      )),
    ...elsewhere
      .filter(({ needs }) => hasAccess(needs))
      .map(({ label, tab, action }) => (
        <a key={label} class="button" href={pageHref(page, "", { ...shared, tab, do: action })}>
          {label}
        </a>
      )),
  ];

  return (
    <>
      <div class="lead">
        <p class="about">{resource.description}</p>
        {filters.length === 0 && <div class="tools">{buttons}</div>}
      </div>
      {filters.length > 0 && <Filters filters={filters}>{buttons}</Filters>}
      {live.error && <Problem problem={live.error} />}
      {(isAboutToBeChosen || (live.data === null && live.error === null)) && <LoadingIndicator />}
      {missing && !isAboutToBeChosen && (
        <p class="empty">Choose the {lowerFirst(missing.label)} above.</p>
      )}
      {live.data && rows.length === 0 && !missing && <p class="empty">{resource.emptyText}</p>}
      {rows.length > 0 && (
        <Table
          title={resource.title}
          columns={columns}
          rows={rows}
          keyOf={(row) => rowKeyOf(resource, row)}
          renderRowLink={(row, text) => (
            <ToggleRowButton id={rowKeyOf(resource, row)} isOpen={row === selected}>
              {text}
            </ToggleRowButton>
          )}
        />
      )}
      {!resource.isWhole && (
        <Pager
          older={
            last !== undefined && all.length >= (resource.pageRows ?? PAGE_SIZE)
              ? pickTexts(last, cursorPathsOf(resource))
              : undefined
          }
        />
      )}
      {selected !== null && (
        <RowDetails
          key={rowKeyOf(resource, selected)}
          title={describeRow(resource, selected)}
          known={columns[0]?.knownIds}
          columns={[...columns.slice(1), ...(resource.details ?? [])]}
          section={resource.section}
          row={selected}
        >
          <div class="tools">
            {actions
              .filter(isActionOffered(selected))
              .sort(byFinality)
              .map((one) => (
                <ActionButton key={one.name} action={one} on={rowKeyOf(resource, selected)} />
              ))}
          </div>
          {related.length > 0 && (
            <nav class="links" aria-label="Related lists">
              {related.map((one) => (
                <RelatedLink key={one.label} related={one} row={selected} />
              ))}
            </nav>
          )}
        </RowDetails>
      )}
      {opened && (
        <ActionDialog
          key={opened.name}
          action={opened.action}
          row={opened.row}
          onClose={() => changeQuery({ do: undefined })}
          onDone={(values) => {
            changeQuery(pickSharedFilters(resource, { ...query, ...values }), true);
            live.refresh();
          }}
        />
      )}
    </>
  );
}

/** The opened row. One of a log, which nobody deletes, stays open when newer rows take its place. */
function useSelectedRow(resource: Resource, rows: readonly unknown[], key: string | undefined) {
  const last = useRef<unknown>(null);
  const isSelected = (row: unknown) => row !== null && rowKeyOf(resource, row) === key;
  const isLog = resource.actions === undefined && resource.listRowActions === undefined;
  const found = rows.find(isSelected) ?? (isLog && isSelected(last.current) ? last.current : null);
  last.current = found;
  return found;
}

/** Whether a filter without a value takes its only option, which may still be on its way. */
function useIsOnlyOption(known: KnownIds | undefined): boolean {
  const options = useKnownOptions(known);
  if (known === undefined || !hasAccess(known.access)) return false;
  return options === null || options.length === 1;
}

/** What a row is called, as its first column says it. */
function describeRow(resource: Resource, row: unknown): string {
  const [first] = resource.columns;
  const text = first?.describe?.(row) || textAt(row, first?.path ?? "");
  const name = first?.as === "word" ? toWords(text) : text;
  return name || (first && secondOf(first, row)) || rowKeyOf(resource, row);
}

function RelatedLink({ related, row }: { related: RelatedList; row: unknown }) {
  const { label, page, pageWhen, tab, id, query } = related;
  const to = pageWhen && textAt(row, pageWhen.at) === pageWhen.is ? pageWhen.page : page;
  return (
    <PageLink
      to={to}
      id={id === undefined ? "" : textAt(row, id)}
      query={{ tab, ...pickTexts(row, query) }}
    >
      {label}
    </PageLink>
  );
}

const isActionOffered =
  (row: unknown) =>
  ({ needs = "Admin", isApplicable: when }: Action): boolean =>
    hasAccess(needs) && (when === undefined || when(row));

/** What removes something stands last. */
const byFinality = (one: Action, other: Action) =>
  Number(one.isFinal === true) - Number(other.isFinal === true);

function ActionButton({
  action,
  on,
  isMain = false,
}: {
  action: Action;
  on: string | undefined;
  isMain?: boolean;
}) {
  return (
    <button
      type="button"
      class={action.isFinal ? "final" : isMain ? "main" : ""}
      onClick={() => changeQuery({ do: action.name, on })}
    >
      {action.label}
    </button>
  );
}

function ToggleRowButton({
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
