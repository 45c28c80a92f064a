import type { Network } from "../chain/network.ts";
import { ArchiveBehindError, type Statement } from "../db/client.ts";
import type { ArchivedKind } from "./archive-tables.ts";
import { type Archive, findArchive, selectOperation } from "./open-archives.ts";

/** Where the database says that a record is, and what it knew of that archive then. */
export interface ArchivedPlace {
  id: string;
  /** The number of the archive. */
  archive: number;
  /** `archive_range.operation`: the archive has at least this one. */
  operation: number;
  /** `archive_range.returned`: as long as it stays, the archive's copies are what they were. */
  returned: number;
}

/**
 * Reads rows of the archives that have some records. All statements of an archive are one batch of its primary.
 *
 * @param select - statements by ids, a JSON array
 * @returns by archive and statement
 * @throws ArchiveBehindError if an archive is not bound, or lacks records
 */
export async function readPlaces<Rows extends object[][]>(
  archives: readonly Archive[],
  { kind, network, deadline }: { kind: ArchivedKind; network: Network; deadline: number },
  places: readonly ArchivedPlace[],
  select: (ids: string) => Statement[],
): Promise<{ archive: number; places: ArchivedPlace[]; rows: Rows }[]> {
  const byArchive = [...Map.groupBy(places, ({ archive }) => archive)];
  return Promise.all(
    byArchive.map(async ([number, listed]) => {
      const archive = findArchive(archives, number);
      const ids = JSON.stringify(listed.map(({ id }) => id));
      const [operations, ...rows] = (
        await archive.open({ deadline }).batch([selectOperation(kind, network), ...select(ids)])
      ).map(({ results }) => results);
      const [{ operation } = { operation: 0 }] = operations as { operation: number }[];
      const least = Math.max(...listed.map((one) => one.operation));
      if (operation < least)
        throw new ArchiveBehindError(`${archive.name} has operation ${operation} of ${least}`);
      return { archive: number, places: listed, rows: rows as Rows };
    }),
  );
}
