/** Archived escrows that the database meets again: read where they are, and brought back to be changed. */
import { type ArchivedPlace, readPlaces } from "../../archive/archived-place.ts";
import type { Archive } from "../../archive/open-archives.ts";
import { selectChildTexts } from "../../archive/record-texts.ts";
import { insertRowTexts, rowTextSql } from "../../archive/row-text.ts";
import type { Network } from "../../chain/network.ts";
import {
  ArchiveBehindError,
  type Database,
  type Statement,
  statement,
  violates,
} from "../../db/client.ts";
import { insertChangeIfWalletsRemoved } from "../../wallets/managed/wallet-changes.ts";
import { type CountedEscrow, countReturned } from "./archived-counts.ts";
import { MOVED_ESCROWS, placeIdentities } from "./archived-escrows.ts";
import type { ChangeSet } from "./change-set.ts";
import { ARCHIVED_ESCROW_COLUMNS } from "./escrow-row.ts";
import {
  buildRecordsSql,
  type LoadedRecords,
  type LoadedRow,
  toLoadedRecords,
} from "./load-records.ts";

/** Where archived escrows of a network are read. */
export interface ArchiveReading {
  db: Pick<Database, "all" | "batch">;
  archives: readonly Archive[];
  network: Network;
  /** Epoch milliseconds after which no call is begun. */
  deadline: number;
}

/** Archived records, and where each is, by id. */
export interface LoadedArchivedRecords extends LoadedRecords {
  places: Map<string, ArchivedPlace>;
}

/**
 * Selects where the archived records of some identifiers are. The database knows its archives at the same
 * moment. Rows: `ArchivedPlace`.
 *
 * @param conditions - SQL on `escrow_identity`; parameters begin with ?2
 */
export function selectArchivedPlaces(
  network: Network,
  conditions: string,
  ...params: unknown[]
): Statement {
  return statement(
    `SELECT escrow_identity.id, escrow_identity.archive, operation, returned
     FROM escrow_identity CROSS JOIN archive_range
       ON archive_range.archive = escrow_identity.archive AND kind = 'escrow' AND network = ?1
     WHERE ${conditions}`,
    network,
    ...params,
  );
}

/**
 * The archived records of some places, with what is stored of transactions of theirs.
 *
 * @param txHashes - of the transactions
 * @throws ArchiveBehindError if an archive lacks one
 */
export async function loadArchivedRecords(
  { archives, ...reading }: ArchiveReading,
  txHashes: readonly string[],
  places: readonly ArchivedPlace[],
): Promise<LoadedArchivedRecords> {
  const sql = buildRecordsSql(ARCHIVED_ESCROW_COLUMNS, "SELECT value FROM json_each(?2)");
  const read = await readPlaces<[LoadedRow[]]>(
    archives,
    { kind: "escrow", ...reading },
    places,
    (ids) => [statement(sql, JSON.stringify(txHashes), ids)],
  );
  const loaded = read.map(({ archive, places: listed, rows: [rows] }) => {
    requireAll(archive, listed, rows);
    return toLoadedRecords(rows);
  });
  return {
    records: loaded.flatMap(({ records }) => records),
    storedTransactions: loaded.flatMap(({ storedTransactions }) => storedTransactions),
    places: new Map(places.map((place) => [place.id, place])),
  };
}

function requireAll(
  archive: number,
  places: readonly ArchivedPlace[],
  rows: readonly object[],
): void {
  if (rows.length !== places.length)
    throw new ArchiveBehindError(`ARCHIVE_${archive} has ${rows.length} of ${places.length}`);
}

/** A row of an archived record. */
interface OwnText {
  row: string;
  summary: string;
  vkey: string | null;
}

/**
 * Brings the archived records that a change set changes back to the database, as they were when they were read.
 * The archive's copies stay, and no identity names them.
 *
 * @throws ArchivedRecordStaleError if one came back meanwhile; nothing was written
 */
export async function returnArchivedRecords(
  { archives, ...reading }: ArchiveReading,
  changes: ChangeSet,
  sourceId: string,
): Promise<void> {
  const places = changes.listArchivedPlaces();
  if (places.length === 0) return;
  const { db, network } = reading;
  const { table, children, summarySql } = MOVED_ESCROWS;
  const read = await readPlaces<[OwnText[], ...{ row: string }[][]]>(
    archives,
    { kind: "escrow", ...reading },
    places,
    (ids) => [
      statement(
        `SELECT ${rowTextSql(table)} AS row, ${summarySql} AS summary, wallet_vkey AS vkey
         FROM escrow WHERE id IN (SELECT value FROM json_each(?))`,
        ids,
      ),
      ...selectChildTexts(MOVED_ESCROWS, ids),
    ],
  );
  const statements = read.flatMap(({ archive, places: listed, rows: [own, ...others] }) => {
    requireAll(archive, listed, own);
    const summaries = own.map(({ summary }) => summary);
    const vkeys = own.flatMap(({ vkey }) => vkey ?? []);
    return [
      requireCopies(network, listed),
      ...countReturned(
        archive,
        summaries.map((summary) => JSON.parse(summary) as CountedEscrow),
      ),
      ...[table, ...children].flatMap((one, i) =>
        insertRowTexts(
          one,
          ([own, ...others][i] ?? []).map(({ row }) => row),
        ),
      ),
      placeIdentities(null, summaries),
      // A record that moved away was not told of a wallet that was removed since.
      ...(vkeys.length > 0 ? [insertChangeIfWalletsRemoved(sourceId, vkeys, changes.now)] : []),
    ];
  });
  try {
    await db.batch(statements);
  } catch (error) {
    if (violates(error, "archive_range.returned") || violates(error, "escrow.id"))
      throw new ArchivedRecordStaleError("an archived record came back meanwhile");
    throw error;
  }
  changes.markReturned();
}

/** An archived record is not what it was when it was read. */
export class ArchivedRecordStaleError extends Error {
  override name = "ArchivedRecordStaleError";
}

/** Aborts the batch when records came back from the archive since the places were read. */
function requireCopies(network: Network, [place]: readonly ArchivedPlace[]): Statement {
  return statement(
    `UPDATE archive_range SET returned = iif(returned = ?, returned, NULL)
     WHERE kind = 'escrow' AND network = ? AND archive = ?`,
    place?.returned,
    network,
    place?.archive,
  );
}
