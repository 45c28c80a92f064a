import { type ArchivedPlace, readPlaces } from "../../archive/archived-place.ts";
import { type ArchiveEnv, openArchives } from "../../archive/open-archives.ts";
import type { Network } from "../../chain/network.ts";
import { ArchiveBehindError, type Database, statement } from "../../db/client.ts";
import { type EscrowRecord, hashIdentifier, type Side } from "../model/escrow-record.ts";
import type { Step } from "../model/intent.ts";
import { selectArchivedPlaces } from "./archived-records.ts";
import {
  ARCHIVED_ESCROW_COLUMNS,
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "./escrow-row.ts";

/** A record as it is found by its identifier. */
export interface IdentifiedRecord {
  record: EscrowRecord;
  /** What its newest transaction on the chain was made for; null: it is not ours, or there is none. */
  newestStep: Step | null;
  /** Height of the newest block seen; 0: none was. */
  tipHeight: number;
}

const NEWEST_STEP_SQL = `(SELECT intent->>'step' FROM escrow_transaction
  WHERE record_id = escrow.id AND tx_hash = escrow.transaction_hash) AS newestStep`;

type RowWithStep = EscrowRow & { newestStep: Step | null };

/** A row of `escrow_identity`, with the record if this database has it. */
interface IdentityRow {
  identifiedId: string;
  archive: number | null;
  isSourceRemoved: number;
  tipHeight: number | null;
}

/** Reads in a row that find a record neither here nor in its archive, since it moves. */
const MAX_ATTEMPTS = 3;

/**
 * The records with an identifier, the preferred record first. Those of archives are read there, and
 * stay there: no request changes a final record.
 *
 * Records of sources in use come first, because only they can take steps. Then come requested records, then the
 * newest. An identifier of Web3ChainV1 does not name its contract, so anybody can lock a copy at another one.
 * A payment source that was removed and added again has a second record of each escrow.
 *
 * @param named - `side` left out: both
 * @throws ArchiveBehindError
 */
export async function loadByIdentifier(
  env: ArchiveEnv,
  database: Database,
  named: { network: Network; blockchainIdentifier: string; side?: Side },
  deadline: number,
): Promise<IdentifiedRecord[]> {
  for (let attempt = 1; ; attempt++) {
    const rows = await readIdentities(database, named);
    const archived = rows.some(({ archive }) => archive !== null)
      ? await readArchived(env, database, named, deadline)
      : new Map<string, RowWithStep>();
    const found = rows.flatMap((row) => {
      const { identifiedId, archive, isSourceRemoved, tipHeight } = row;
      const stored = archive === null ? row : archived.get(identifiedId);
      if (!stored) return [];
      const { newestStep, ...columns } = stored;
      const record = toEscrowRecord(columns);
      return [{ record, newestStep, tipHeight: tipHeight ?? 0, isSourceRemoved }];
    });
    if (found.length < rows.length) {
      if (attempt < MAX_ATTEMPTS) continue;
      throw new ArchiveBehindError(`archives have ${found.length} of ${rows.length} records`);
    }
    return found
      .filter(({ record }) => record.network === named.network)
      .toSorted(
        (a, b) =>
          a.isSourceRemoved - b.isSourceRemoved ||
          Number(Boolean(b.record.terms.isRequested)) -
            Number(Boolean(a.record.terms.isRequested)) ||
          (a.record.id < b.record.id ? 1 : -1),
      )
      .map(({ isSourceRemoved: _, ...one }) => one);
  }
}

function readIdentities(
  database: Database,
  { network, blockchainIdentifier, side }: Parameters<typeof loadByIdentifier>[2],
): Promise<(RowWithStep & IdentityRow)[]> {
  return database.all(
    `SELECT ${ESCROW_COLUMNS}, ${NEWEST_STEP_SQL}, identified_id AS identifiedId, archive,
       (SELECT height FROM chain_tip WHERE network = ?3) AS tipHeight,
       isSourceRemoved
     FROM (SELECT place.id AS identified_id, place.archive, source.deleted_at IS NOT NULL AS isSourceRemoved
       FROM escrow_identity AS place LEFT JOIN payment_source AS source ON source.id = place.source_id
       WHERE identifier_hash = unhex(?1) AND (?2 IS NULL OR side = ?2)
         AND ifnull(source.network, ?3) = ?3)
     LEFT JOIN escrow ON escrow.id = identified_id`,
    hashIdentifier(blockchainIdentifier),
    side ?? null,
    network,
  );
}

/** Of each archived record the row that its archive has. */
async function readArchived(
  env: ArchiveEnv,
  database: Database,
  { network, blockchainIdentifier }: Parameters<typeof loadByIdentifier>[2],
  deadline: number,
): Promise<Map<string, RowWithStep>> {
  const { sql, params } = selectArchivedPlaces(
    network,
    "identifier_hash = unhex(?2)",
    hashIdentifier(blockchainIdentifier),
  );
  const places = await database.all<ArchivedPlace>(sql, ...params);
  const read = await readPlaces<[RowWithStep[]]>(
    openArchives(env),
    { kind: "escrow", network, deadline },
    places,
    (ids) => [
      statement(
        `SELECT ${ARCHIVED_ESCROW_COLUMNS}, ${NEWEST_STEP_SQL} FROM escrow
         WHERE id IN (SELECT value FROM json_each(?))`,
        ids,
      ),
    ],
  );
  return new Map(read.flatMap(({ rows: [rows] }) => rows.map((row) => [row.id, row] as const)));
}
