import type { Network } from "../chain/network.ts";
import {
  type Database,
  type DatabaseOptions,
  openDb,
  type Statement,
  statement,
} from "../db/client.ts";
import type { Env } from "../env.ts";
import type { ArchivedKind } from "./archive-tables.ts";

/** A database of final records. */
export interface Archive {
  /** 1 of `ARCHIVE_1`, as the database's rows name it. */
  number: number;
  /** Of its binding. */
  name: string;
  /**
   * Opens it for some calls: reads go to its primary unless the options say otherwise, the first call at
   * least. Its bookmarks are its own, and never those that a caller is answered with.
   */
  open(options?: DatabaseOptions): Database;
}

/** The bindings of the archives. */
export type ArchiveEnv = {
  [Name in keyof Env as Name extends `ARCHIVE_${number}` ? Name : never]: Env[Name];
};

/** The archives of a deployment, the first one first; none: nothing is moved. */
export function openArchives(env: ArchiveEnv): Archive[] {
  const archives: Archive[] = [];
  for (let number = 1; ; number++) {
    const name = `ARCHIVE_${number}` as const;
    const DB = env[name];
    if (DB === undefined) return archives;
    archives.push({
      number,
      name,
      // The session's bookmark: that of a primary counts as the database's own.
      open: ({ reads = "primary", ...options } = {}) =>
        openDb({ DB }, undefined, {
          ...options,
          reads: reads === "primary" ? { bookmark: "first-primary" } : reads,
        }),
    });
  }
}

/** Selects the `operation` of an archive's last copy. */
export function selectOperation(kind: ArchivedKind, network: Network): Statement {
  return statement(
    "SELECT operation FROM archive_operation WHERE kind = ? AND network = ?",
    kind,
    network,
  );
}
