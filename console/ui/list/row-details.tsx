/** An opened row: what people look for, then what else the API tells of it, and as it was sent. */
import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../icon.tsx";
import { KnownName } from "../known-name.tsx";
import { textAt, valueAt } from "../path.ts";
import type { Column } from "../resource.ts";
import { changeQuery } from "../route.ts";
import { Facts, Value } from "../value.tsx";
import { listMembers, valueKindOf } from "./members.ts";

export function RowDetails({
  title,
  columns,
  row,
  children,
}: {
  title: string;
  /** What people look for. */
  columns: readonly Column[];
  row: unknown;
  /** What can be done with it. */
  children: ComponentChildren;
}) {
  const shown = new Set(columns.map(({ path }) => path));
  const members = listMembers(row as object).filter(({ path }) => !shown.has(path));
  const panel = useRef<HTMLElement>(null);
  // The row that was opened may be far below.
  useEffect(() => panel.current?.scrollIntoView({ block: "nearest" }), [title]);
  return (
    <section class="panel opened" aria-label={title} ref={panel}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          class="close"
          aria-label="Close"
          onClick={() => changeQuery({ on: undefined, do: undefined })}
        >
          <Icon node={X} />
        </button>
      </header>
      <div class="tools">{children}</div>
      <Facts
        facts={columns
          .filter(({ path, describe }) => (describe?.(row) ?? textAt(row, path)) !== "")
          .map(({ heading, path, as, describe, knownIds, chainFrom }) => [
            heading,
            describe ? (
              describe(row)
            ) : knownIds ? (
              <KnownName key={path} known={knownIds} id={textAt(row, path)} />
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
      <details class="fold">
        <summary>Other fields</summary>
        <Facts
          facts={members.map(({ title, name, value }) => [
            title,
            <Value key={title} kind={valueKindOf(name, value)} value={value} />,
          ])}
        />
      </details>
      <RawJson value={row} />
    </section>
  );
}

export function RawJson({ value }: { value: unknown }) {
  return (
    <details class="raw">
      <summary>Raw JSON</summary>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </details>
  );
}
