/** What a stopped Worker's state takes: bytes of each table, index, column and kind of object. */
import { globSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { databaseIn } from "./many-rows.ts";

/** A table without its indexes, or an index. */
export interface StoredPart {
  name: string;
  /** The table itself, or the one that the index belongs to. */
  table: string;
  isIndex: boolean;
  /** Of all its pages, with the space that they have left. */
  bytes: number;
}

/** The state of a service at one moment. */
export interface StoredBytes {
  /** By name. */
  parts: Map<string, StoredPart>;
  /** Bytes of the values of each column, as `table.column`. */
  columns: Map<string, number>;
  /** Bytes of the databases of objects, one for each object, by class. */
  objects: Map<string, number[]>;
}

/** @param folder - a Worker's kept state, which nobody else has open */
export function readStoredBytes(folder: string): StoredBytes {
  const file = databaseIn(folder);
  try {
    const rows = file
      .prepare(
        `SELECT s.name, s.tbl_name AS "table", s.type = 'index' AS isIndex, sum(d.pgsize) AS bytes
         FROM dbstat d JOIN sqlite_master s ON s.name = d.name GROUP BY s.name`,
      )
      .all();
    const parts = rows.map((row) => ({
      name: String(row.name),
      table: String(row.table),
      isIndex: row.isIndex === 1,
      bytes: Number(row.bytes),
    }));
    const columns = parts.flatMap(({ name, isIndex }) => {
      if (isIndex) return [];
      const names = file.prepare("SELECT name FROM pragma_table_info(?)").all(name);
      return names.map((column): [string, number] => {
        // A whole number takes at most eight bytes, however many digits it has.
        const bytes = `sum(CASE typeof("${column.name}") WHEN 'integer' THEN 8 ELSE octet_length("${column.name}") END)`;
        const sum = file.prepare(`SELECT ${bytes} AS bytes FROM "${name}"`).get();
        return [`${name}.${column.name}`, Number(sum?.bytes)];
      });
    });
    return {
      parts: new Map(parts.map((part) => [part.name, part])),
      columns: new Map(columns),
      objects: objectsIn(folder),
    };
  } finally {
    file.close();
  }
}

/** The folder of a class is named for the Worker and the class. */
function objectsIn(folder: string): Map<string, number[]> {
  const objects = new Map<string, number[]>();
  for (const path of globSync(join(folder, "do/*/*.sqlite"))) {
    const name = basename(dirname(path)).replace(/^.*-/, "");
    objects.set(name, [...(objects.get(name) ?? []), statSync(path).size]);
  }
  return objects;
}
