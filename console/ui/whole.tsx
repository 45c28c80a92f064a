/** All that the API tells of a row, member by member, and as it was sent. */
import type { ComponentChildren } from "preact";
import { words } from "./format.ts";
import { textAt } from "./path.ts";
import type { Kind } from "./resource.ts";
import { changeQuery } from "./route.ts";
import { Facts, Value } from "./value.tsx";

/** Each member of a row under its own name; what is nested is shown as JSON. */
export function Whole({
  title,
  row,
  children,
}: {
  title: string;
  row: unknown;
  /** What can be done with it. */
  children: ComponentChildren;
}) {
  const members = Object.entries(row as object);
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          class="close"
          aria-label="Close"
          onClick={() => changeQuery({ on: undefined, do: undefined })}
        >
          ×
        </button>
      </header>
      <div class="tools">{children}</div>
      <Facts
        facts={members.map(([name, value]) => [
          words(name.charAt(0).toUpperCase() + name.slice(1)),
          <Value key={name} kind={kindOf(name, value)} value={value} />,
        ])}
      />
      <Raw value={row} />
    </section>
  );
}

export function Raw({ value }: { value: unknown }) {
  return (
    <details class="raw">
      <summary>Raw JSON</summary>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </details>
  );
}

/** How a member is shown, by its name and its value. */
export function kindOf(name: string, value: unknown): Kind {
  if (typeof value === "boolean") return "flag";
  if (Array.isArray(value)) {
    if (value.length === 0) return "list";
    if (value.every((one) => textAt(one, "unit") !== "" || textAt(one, "amount") !== ""))
      return value.every((one) => typeof one === "object" && one !== null && "unit" in one)
        ? "funds"
        : "json";
    return value.every((one) => typeof one !== "object") ? "list" : "json";
  }
  if (typeof value === "object" && value !== null) return "json";
  if (/(At|Time|Until|since|Check|DateTime)$/.test(name) && typeof value === "string")
    return "time";
  if (/(^id|Id|Hash|Address|Vkey|VKey|Identifier|address|hash)$/.test(name)) return "code";
  if (/^(state|status|type|drives|onChainState|outcome|direction|kind)$/i.test(name)) return "tag";
  return "text";
}
