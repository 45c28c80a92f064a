import { openArchives } from "../../archive/open-archives.ts";
import { readWithArchives } from "../../archive/read-with-archives.ts";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import { findNamedEscrows } from "../../escrow/store/archived-escrows.ts";
import { BILLABLE_CONDITION, ENDED_CONDITION } from "../../escrow/store/predicates.ts";
import { type BillableRow, HAS_REVENUE_CONDITION } from "./billable-payments.ts";

/** SQL of payments that an archive has, as conditions of a statement with numbered parameters. */
export interface ArchivedPayments {
  /** Of the rows of `BillableRow`. */
  columns: string;
  /** SQL that selects the ids of payments; those that are not billable are left out. */
  ids: string;
  params: readonly unknown[];
}

/** A row of an archive, before the database says whether it is billed. */
type ArchivedRow<Row> = Row & { place: string };

/**
 * Reads the payments of the database and its archives that may have to be billed. Of the archives' it leaves out
 * those that a newer record of the same payment replaces, and says which base bills each.
 *
 * @param hot - SQL of the database's own
 */
export async function readPayments<Row extends BillableRow>(
  database: Database,
  env: Parameters<typeof openArchives>[0],
  network: Network,
  hot: SqlExpression,
  { columns, ids, params }: ArchivedPayments,
): Promise<{ hot: Row[]; archived: Row[] }> {
  const [networkAt, afterAt] = [1, 2].map((n) => `?${params.length + n}`);
  const found = await readWithArchives<Row, ArchivedRow<Row>>(database, openArchives(env), {
    kind: "escrow",
    network,
    overlap: { sql: "TRUE", params: [] },
    buildArchived: (after, limit) => ({
      sql: `SELECT ${columns},
          json_object('identifierHash', identifier_hash, 'side', side, 'sourceId', source_id,
            'id', id, 'contractAddress', contract_address) AS place
        FROM escrow WHERE id IN (${ids}) AND ${BILLABLE_CONDITION} AND ${ENDED_CONDITION}
          AND network = ${networkAt} AND ${HAS_REVENUE_CONDITION} AND id > ${afterAt}
        ORDER BY id LIMIT ${limit}`,
      params: [...params, network, after?.id ?? ""],
    }),
    findNamed: findNamedEscrows,
    hot,
  });
  const rows = found.archived.flatMap((part) => part.rows);
  if (rows.length === 0) return { hot: found.hot, archived: [] };
  const billed = await database.all<{ id: string; baseId: string | null }>(
    `SELECT told.value->>'id' AS id, base_id AS baseId FROM json_each(?1) AS told
     LEFT JOIN invoiced_payment ON invoiced_payment.identifier_hash = told.value->>'identifierHash'
       AND invoiced_payment.network = ?2
       AND invoiced_payment.contract_address = told.value->>'contractAddress'
     WHERE NOT EXISTS (SELECT 1 FROM escrow_identity AS newer
       JOIN payment_source ON payment_source.id = newer.source_id
       WHERE newer.identifier_hash = unhex(told.value->>'identifierHash') AND newer.side = 'payment'
         AND newer.id > told.value->>'id' AND payment_source.network = ?2
         AND payment_source.contract_address = told.value->>'contractAddress')`,
    `[${rows.map(({ place }) => place).join(",")}]`,
    network,
  );
  const bases = new Map(billed.map(({ id, baseId }) => [id, baseId]));
  return {
    hot: found.hot,
    archived: rows.flatMap(({ place: _, ...row }) => {
      const baseId = bases.get(row.id);
      return baseId === undefined ? [] : [{ ...row, baseId } as unknown as Row];
    }),
  };
}
