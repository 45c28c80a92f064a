import type { Column } from "drizzle-orm";
import { customType } from "drizzle-orm/sqlite-core";

/** A column of bytes. Statements of our own read and write it, with `hex` and `unhex`. */
export const bytes = customType<{ data: Uint8Array }>({ dataType: () => "blob" });

/** A column of text that is usually hex, stored as bytes: half of its length. Statements of our own read and write it. */
export const packedHex = customType<{ data: string }>({ dataType: () => "blob" });

/** SQL of what such a column stores of a text: its bytes if it is lower-case hex, otherwise the text. */
export function packHexSql(text: string): string {
  return `iif(length(${text}) % 2 = 0 AND ${text} NOT GLOB '*[^0-9a-f]*', unhex(${text}), ${text})`;
}

/** SQL of the text that such a column stores. */
export function unpackHexSql(column: string): string {
  return `iif(typeof(${column}) = 'blob', lower(hex(${column})), ${column})`;
}

export function isPackedHex(column: Column): boolean {
  return column.getSQLType() === "blob";
}
