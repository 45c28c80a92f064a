import type { ArchivedPart } from "../../../archive/read-with-archives.ts";
import type { Network } from "../../../chain/network.ts";
import type { Database } from "../../../db/client.ts";
import { ENDED_CONDITION } from "../../store/predicates.ts";

/** A record of an archive that has ended, as its archive lists it. */
export interface EndedRow {
  id: string;
  place: string;
  blockTime: number;
  sourceId: string;
  contractAddress: string;
}

interface NewerRow {
  id: string;
  contractAddress: string;
  walletId: string | null;
}

const NEWER_SQL = `SELECT id, contract_address AS contractAddress, wallet_id AS walletId FROM escrow
  WHERE id IN (SELECT value FROM json_each(?)) AND ${ENDED_CONDITION}`;

/**
 * Ids of archived records that a newer record of the same escrow replaces in the books. This happens after a source
 * was removed and added again. A newer record that does not know the end yet replaces none.
 *
 * @param walletIds - the only wallets whose records replace others; null: all
 */
export async function findSuperseded(
  db: Database,
  network: Network,
  archived: readonly ArchivedPart<EndedRow>[],
  walletIds: readonly string[] | null,
): Promise<Set<string>> {
  const sources = await db.all<{ id: string }>(
    "SELECT id FROM payment_source WHERE network = ? AND deleted_at IS NOT NULL",
    network,
  );
  const removed = new Set(sources.map(({ id }) => id));
  const rows = archived.flatMap((part) =>
    part.rows.filter(({ sourceId }) => removed.has(sourceId)),
  );
  if (rows.length === 0) return new Set();
  const pairs = await db.all<{ id: string; newerId: string; archive: number | null }>(
    `SELECT told.value->>'id' AS id, newer.id AS newerId, newer.archive
     FROM json_each(?) AS told CROSS JOIN escrow_identity AS newer
       ON newer.identifier_hash = unhex(told.value->>'identifierHash') AND newer.side = told.value->>'side'
         AND newer.id > told.value->>'id'`,
    JSON.stringify(rows.map(({ id, place }) => ({ ...JSON.parse(place), id }))),
  );
  const newer = new Map<string, NewerRow>();
  for (const [archive, some] of Map.groupBy(pairs, (pair) => pair.archive)) {
    const ids = JSON.stringify(some.map(({ newerId }) => newerId));
    const part = archived.find((one) => one.archive === archive);
    const found =
      archive === null
        ? await db.all<NewerRow>(NEWER_SQL, ids)
        : ((await part?.read<NewerRow>({ sql: NEWER_SQL, params: [ids] })) ?? []);
    for (const row of found) newer.set(row.id, row);
  }
  const contracts = new Map(rows.map(({ id, contractAddress }) => [id, contractAddress]));
  return new Set(
    pairs
      .filter(({ id, newerId }) => {
        const row = newer.get(newerId);
        const isOfWallets =
          walletIds === null || (row && row.walletId !== null && walletIds.includes(row.walletId));
        return row?.contractAddress === contracts.get(id) && isOfWallets;
      })
      .map(({ id }) => id),
  );
}
