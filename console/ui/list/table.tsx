/** Rows as a table. */
import type { ComponentChildren } from "preact";
import { shortenId } from "../format.ts";
import { KnownName, KnownNames } from "../known-name.tsx";
import { textAt, valueAt } from "../path.ts";
import { ReferenceName } from "../reference-name.tsx";
import type { Column } from "../resource.ts";
import { PageLink, Tag, Value } from "../value.tsx";
import { toWords } from "../words.ts";
import { RowCount } from "./row-count.tsx";

/** A longer text is cut in its cell; the opened row has all of it. */
const MAX_CELL_LENGTH = 120;

interface TableProps<Row> {
  title: string;
  columns: readonly Column[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Makes the first cell something that opens the row. */
  renderRowLink: (row: Row, text: ComponentChildren) => ComponentChildren;
  /** Rows that changed lately. */
  isRecentlyChanged?: (row: Row) => boolean;
}

/** On a narrow screen each row is a card, whose cells are labelled by `data-label`. */
export function Table<Row>({
  title,
  columns: all,
  rows,
  keyOf,
  renderRowLink: open,
  isRecentlyChanged: isFresh,
}: TableProps<Row>) {
  const columns = all.filter((column, i) => i === 0 || rows.some((row) => hasCell(column, row)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: those without a mouse scroll a wide table by it.
    <section class="scroll" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.heading} scope="col" class={isAmount(column) ? "number" : ""}>
                {column.heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={isFresh?.(row) ? "fresh" : ""}>
              {columns.map((column, i) => (
                <td key={column.heading} data-label={column.heading} class={classOf(column, row)}>
                  {i === 0 ? (
                    <span>
                      {open(row, <RowName column={column} row={row} fallback={keyOf(row)} />)}
                      {column.second && !isEmptyValue(valueAt(row, column.path)) && (
                        <SecondLine text={secondOf(column, row)} />
                      )}
                    </span>
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

/** A column that has nothing in any row would take the room of others. */
function hasCell({ describe, fallback, otherwise, path }: Column, row: unknown): boolean {
  if (fallback !== undefined || otherwise !== undefined) return true;
  return !isEmptyValue(describe ? describe(row) : valueAt(row, path));
}

/** Amounts stand at the right, so that their digits are below each other. */
function isAmount({ as, isAmount = false }: Column): boolean {
  return isAmount || as === "funds" || as === "native";
}

function classOf(column: Column, row: unknown): string {
  const { describe, otherwise, path } = column;
  const isBare = isEmptyValue((describe ?? otherwise)?.(row) ?? valueAt(row, path));
  return [isBare && "bare", isAmount(column) && "number"].filter(Boolean).join(" ");
}

function nameOf({ describe, path, as }: Column, row: unknown): unknown {
  const value = describe?.(row) ?? valueAt(row, path);
  return as === "word" ? toWords(String(value)) : value;
}

/** What a row is called; an identifier, which has no blanks, is shortened. */
function RowName({ column, row, fallback }: { column: Column; row: unknown; fallback: string }) {
  const value = nameOf(column, row);
  if (column.knownIds) return <KnownName known={column.knownIds} id={String(value)} />;
  const name = isEmptyValue(value) ? secondOf(column, row) || fallback : String(value);
  return <>{name.includes(" ") || name.includes("/") ? name : shortenId(name)}</>;
}

/** What stands below a row's name, or in its place. */
export function secondOf({ second }: Column, row: unknown): string {
  return second ? textAt(row, second) : "";
}

function SecondLine({ text }: { text: string }) {
  return <small title={text}>{text.includes("/") ? text : shortenId(text)}</small>;
}

function isEmptyValue(value: unknown): boolean {
  return value === null || value === undefined || value === "" || String(value) === "";
}

function Cell({ column, row }: { column: Column; row: unknown }) {
  const value = valueAt(row, column.path);
  if (column.counts) return <RowCount counted={column.counts} row={row} />;
  if (column.describe && column.as === "tag") return <Tag name={column.describe(row)} />;
  if (column.describe) return <>{column.describe(row)}</>;
  if (isEmptyValue(value) && column.otherwise) return <>{column.otherwise(row)}</>;
  if (isEmptyValue(value) && column.fallback)
    return column.as === "tag" ? (
      <Tag name={column.fallback} />
    ) : (
      <span class="none">{column.fallback}</span>
    );
  if (column.refersTo) return <ReferenceName reference={column.refersTo(row)} />;
  if (column.knownIds && !isEmptyValue(value))
    return <KnownNames known={column.knownIds} value={value} />;
  const chain = column.chainFrom && textAt(row, column.chainFrom);
  const shown = <Value kind={column.as} value={value} chain={chain} />;
  if (typeof value === "string" && value.length > MAX_CELL_LENGTH)
    return (
      <span class="clamp" title={value}>
        {shown}
      </span>
    );
  if (column.leadsTo === undefined || !value) return shown;
  return (
    <PageLink to={column.leadsTo} id={String(value)}>
      {shown}
    </PageLink>
  );
}
