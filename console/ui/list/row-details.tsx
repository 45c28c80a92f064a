/** An opened row in a drawer: what people look for, then what else the API tells of it, and as it was sent. */
import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { shortenId } from "../format.ts";
import { Icon } from "../icon.tsx";
import { KnownNames } from "../known-name.tsx";
import { textAt, valueAt } from "../path.ts";
import { ReferenceName } from "../reference-name.tsx";
import type { Column, KnownIds, Resource } from "../resource.ts";
import { changeQuery } from "../route.ts";
import { Facts, Tag, Value } from "../value.tsx";
import { listMembers, type Member, valueKindOf } from "./members.ts";
import { RowCount } from "./row-count.tsx";

export function RowDetails({
  title,
  known,
  columns,
  section,
  row,
  children,
}: {
  title: string;
  /** The list that has a name for the title. */
  known?: KnownIds | undefined;
  /** What people look for. */
  columns: readonly Column[];
  /** An object of the row whose members people look for too. */
  section: Resource["section"];
  row: unknown;
  /** What can be done with it, and what belongs to it. */
  children: ComponentChildren;
}) {
  const shown = new Set(columns.map(({ path }) => path));
  const { title: heading = "", path: at = "" } = section ?? {};
  const members = listMembers(row as object).filter(
    ({ path }) => !shown.has(path) && !(section && path.startsWith(`${at}.`)),
  );
  const inner = section ? listMembers((valueAt(row, at) ?? {}) as object) : [];
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  return (
    <section
      class="opened"
      aria-label={title}
      ref={panel}
      tabIndex={-1}
      onKeyDown={(event) => {
        // Dialogs are outside of it.
        if (event.key === "Escape") closeRow();
      }}
    >
      <header>
        <h2>{known ? <KnownNames known={known} value={title} /> : shortenLongId(title)}</h2>
        <button type="button" class="close" aria-label="Close" onClick={closeRow}>
          <Icon node={X} />
        </button>
      </header>
      {children}
      <Facts
        facts={columns
          .filter(({ path, describe }) => (describe?.(row) ?? textAt(row, path)) !== "")
          .map(({ heading, path, as, counts, describe, refersTo, knownIds, chainFrom }) => [
            heading,
            counts ? (
              <RowCount key={path} counted={counts} row={row} />
            ) : describe ? (
              as === "tag" ? (
                <Tag key={path} name={describe(row)} />
              ) : (
                describe(row)
              )
            ) : refersTo ? (
              <ReferenceName key={path} reference={refersTo(row)} />
            ) : knownIds ? (
              <KnownNames key={path} known={knownIds} value={valueAt(row, path)} />
            ) : (
              <Value
                key={path}
                kind={as}
                value={valueAt(row, path)}
                chain={chainFrom && textAt(row, chainFrom)}
              />
            ),
          ])}
      />
      {inner.length > 0 && (
        <>
          <h3>{heading}</h3>
          <MemberFacts members={inner} knownIds={section?.knownIds} />
        </>
      )}
      <details class="fold">
        <summary>Other fields</summary>
        <MemberFacts members={members} />
      </details>
      <RawJson value={row} />
    </section>
  );
}

function MemberFacts({
  members,
  knownIds = {},
}: {
  members: readonly Member[];
  knownIds?: Readonly<Record<string, KnownIds>> | undefined;
}) {
  return (
    <Facts
      facts={members.map(({ title, name, value }) => {
        const known = knownIds[name];
        return [
          known ? title.replace(/ ids?$/, "") : title,
          known ? (
            <KnownNames key={title} known={known} value={value} />
          ) : (
            <Value key={title} kind={valueKindOf(name, value)} value={value} />
          ),
        ];
      })}
    />
  );
}

/** A hash has no blanks and no slashes: the facts have all of it. */
const shortenLongId = (text: string) => (/^\w{50,}$/.test(text) ? shortenId(text) : text);

/** Closes the drawer; the focus returns to what opened it. */
function closeRow(): void {
  document.querySelector<HTMLElement>('button.open[aria-expanded="true"]')?.focus();
  changeQuery({ on: undefined, do: undefined });
}

export function RawJson({ value }: { value: unknown }) {
  return (
    <details class="raw">
      <summary>Raw JSON</summary>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </details>
  );
}
