/** Sums the amounts of escrows in the database, without reading single records. */

import { openArchives } from "../../../archive/open-archives.ts";
import { readWithArchives } from "../../../archive/read-with-archives.ts";
import { type Network, ON_CHAIN_STATES, type PaymentSourceType } from "../../../chain/network.ts";
import type { Database } from "../../../db/client.ts";
import { packHexSql } from "../../../db/hex-column.ts";
import type { Side } from "../../model/escrow-record.ts";
import { findNamedEscrows } from "../../store/archived-escrows.ts";
import { selectNewerSql } from "../../store/identity.ts";
import { ENDED_CONDITION, SOURCE_REMOVED_CONDITION } from "../../store/predicates.ts";
import { type EndedRow, findSuperseded } from "./superseded.ts";

/**
 * Seconds that a sum covers. Since the ledger exists, every offset of a time zone has been a
 * multiple of it. So a local day has whole sums.
 */
const QUARTER_HOUR_SECONDS = 900;

/** A sum of 64-bit numbers may need more: billions and the rest are added up apart. */
const BILLION = 1_000_000_000;

const OPEN_STATES_SQL = ON_CHAIN_STATES.filter(
  (state) => !ENDED_CONDITION.includes(`'${state}'`) && state !== "FundsOrDatumInvalid",
)
  .map((state) => `'${state}'`)
  .join(", ");

/** What a record says of itself, as the parts below take it. */
const ESCROW_FIELDS_SQL = `on_chain_state AS reached, funds AS price, withdrawn_for_seller, withdrawn_for_buyer, settled,
  block_time / ${QUARTER_HOUR_SECONDS} * ${QUARTER_HOUR_SECONDS} AS quarter,
  CAST(iif(side = 'payment', seller_fees, buyer_fees) AS INTEGER) AS fees`;

const AMOUNT_SQL = `CAST(value->>'amount' AS INTEGER)`;

/**
 * SQL of the sums of a side's (?1) and a network's (?2) escrows in a period. The period is from ?3 to before
 * ?4, Unix seconds. ?5 is a type and ?6 a list of wallets, or null. ?7 is the agent, if any.
 */
const buildSumsSql = (ofAgent: boolean, filters: string) => `WITH
  found AS MATERIALIZED (
    SELECT ${ESCROW_FIELDS_SQL} FROM escrow INDEXED BY ${ofAgent ? "escrow_agent_ended" : "escrow_ended"}
    WHERE side = ?1 AND network = ?2 AND ${ENDED_CONDITION} AND block_time >= ?3 AND block_time < ?4
      ${filters}
    UNION ALL
    SELECT ${ESCROW_FIELDS_SQL} FROM escrow INDEXED BY escrow_state_newest
    WHERE side = ?1 AND network = ?2 AND on_chain_state IN (${OPEN_STATES_SQL})
      AND block_time >= ?3 AND block_time < ?4 ${filters}),
  parts AS (
    SELECT quarter, 'gained' AS kind, price AS funds, fees, settled
    FROM found WHERE reached = 'Withdrawn'
    UNION ALL
    SELECT quarter, iif(reached = 'RefundWithdrawn', 'refunded', 'pending'), price, fees,
      NULL
    FROM found WHERE reached NOT IN ('Withdrawn', 'DisputedWithdrawn')
    UNION ALL
    SELECT quarter, 'gained', withdrawn_for_seller, fees, NULL
    FROM found WHERE reached = 'DisputedWithdrawn' AND withdrawn_for_seller <> '[]'
    UNION ALL
    SELECT quarter, 'refunded', withdrawn_for_buyer,
      iif(withdrawn_for_seller = '[]', fees, 0), NULL
    FROM found WHERE reached = 'DisputedWithdrawn'
      AND (withdrawn_for_buyer <> '[]' OR withdrawn_for_seller = '[]')),
  amounts AS (
    SELECT quarter, kind, value->>'unit' AS unit, ${AMOUNT_SQL} AS amount, 0 AS fee
    FROM parts, json_each(funds) WHERE ${AMOUNT_SQL} > 0
    UNION ALL
    SELECT quarter, kind, value->>'unit', 0, ${AMOUNT_SQL}
    FROM parts, json_each(settled, '$.protocolFee'))
SELECT 'escrows' AS what, 0 AS quarter, NULL AS kind, NULL AS unit,
  0 AS high, count(*) AS low, 0 AS feeHigh, 0 AS feeLow
FROM found
UNION ALL
SELECT 'network', quarter, kind, '', 0, 0, sum(fees / ${BILLION}), sum(fees % ${BILLION})
FROM parts GROUP BY quarter, kind
UNION ALL
SELECT 'unit', quarter, kind, unit, sum(amount / ${BILLION}), sum(amount % ${BILLION}),
  sum(fee / ${BILLION}), sum(fee % ${BILLION})
FROM amounts GROUP BY quarter, kind, unit`;

/**
 * A newer record of the same escrow replaces this record in the books, unless the newer one does
 * not know the end yet. This happens after a source was added again. The newer record must belong
 * to the requested wallets, too.
 */
const SUPERSEDED_CONDITION = `EXISTS (SELECT 1 FROM ${selectNewerSql("?1")}
      AND newer.network = ?2 AND newer.contract_address = escrow.contract_address
      AND (newer.${ENDED_CONDITION} OR NOT escrow.${ENDED_CONDITION})
      AND (?6 IS NULL OR newer.wallet_id IN (SELECT value FROM json_each(?6))))`;

const buildFiltersSql = (ofAgent: boolean) => `
  AND (?5 IS NULL OR source_type = ?5)
  AND (?6 IS NULL OR wallet_id IN (SELECT value FROM json_each(?6)))
  ${ofAgent ? `AND agent_identifier = ${packHexSql("?7")}` : ""}`;

const NOT_SUPERSEDED_SQL = `AND NOT (${SOURCE_REMOVED_CONDITION} AND ${SUPERSEDED_CONDITION})`;

/** Of an archive: ?8 lists the ids of the records that count. Copies that a move adds meanwhile do not. */
const COUNTING_SQL = "AND id IN (SELECT value FROM json_each(?8))";
/** Records of an archive that are summed together. */
const SUMMED_RECORDS = 5_000;

/** Which side of an account amounts belong to. */
export const ACCOUNT_KINDS = ["gained", "refunded", "pending"] as const;
export type AccountKind = (typeof ACCOUNT_KINDS)[number];

export interface SumsQuery {
  network: Network;
  agentIdentifier: string | null;
  /** Epoch milliseconds, the first included and the last not; null: no bound. */
  startAt: number | null;
  endAt: number | null;
  sourceType: PaymentSourceType | undefined;
  /** Ids of the only wallets whose records count; null: all. */
  walletIds: readonly string[] | null;
  env: Parameters<typeof openArchives>[0];
}

/** What escrows of a quarter of an hour came to in one unit, minor units. */
export interface EscrowSum {
  /** Unix seconds. */
  quarter: number;
  kind: AccountKind;
  unit: string;
  gross: bigint;
  protocolFee: bigint;
  networkFee: bigint;
}

interface SumRow {
  /** `network`: `fee` is what the network took. `escrows`: `gross` is how many there are. */
  what: "escrows" | "network" | "unit";
  quarter: number;
  kind: AccountKind;
  unit: string;
  /** Billions, and the rest. */
  high: number;
  low: number;
  feeHigh: number;
  feeLow: number;
}

/**
 * The sums of a side's escrows, by the block time of the step that ended them. Open escrows count
 * by their newest transaction. The query reads the index entries of ended escrows within the
 * period, and all open escrows.
 */
export async function readSums(
  db: Database,
  side: Side,
  query: SumsQuery,
): Promise<{ escrows: number; sums: EscrowSum[] }> {
  const ofAgent = query.agentIdentifier !== null;
  const filters = buildFiltersSql(ofAgent);
  const params = [
    side,
    query.network,
    toSeconds(query.startAt) ?? 0,
    toSeconds(query.endAt) ?? Number.MAX_SAFE_INTEGER,
    query.sourceType ?? null,
    query.walletIds && JSON.stringify(query.walletIds),
  ];
  const { hot, archived } = await readWithArchives<SumRow, EndedRow>(db, openArchives(query.env), {
    kind: "escrow",
    network: query.network,
    overlap: {
      sql: "least_block_time < ? AND greatest_block_time >= ?",
      params: [params[3], params[2]],
    },
    buildArchived: (after, limit) => ({
      sql: `${buildEndedSql(ofAgent, filters)} LIMIT ${limit}`,
      params: [...params, query.agentIdentifier, after?.blockTime ?? -1, after?.id ?? ""],
    }),
    findNamed: findNamedEscrows,
    hot: {
      sql: buildSumsSql(ofAgent, `${filters} ${NOT_SUPERSEDED_SQL}`),
      params: ofAgent ? [...params, query.agentIdentifier] : params,
    },
  });
  const results = [toSums(hot)];
  if (archived.length > 0) {
    const superseded = await findSuperseded(db, query.network, archived, query.walletIds);
    const [side, network, , , ...others] = params;
    for (const { read, rows } of archived) {
      const counting = rows.filter(({ id }) => !superseded.has(id));
      for (let at = 0; at < counting.length; at += SUMMED_RECORDS) {
        const some = counting.slice(at, at + SUMMED_RECORDS);
        const from = some[0]?.blockTime;
        const before = (some.at(-1)?.blockTime ?? 0) + 1;
        const ids = JSON.stringify(some.map(({ id }) => id));
        const sums = await read<SumRow>({
          sql: buildSumsSql(ofAgent, `${filters} ${COUNTING_SQL}`),
          params: [side, network, from, before, ...others, query.agentIdentifier, ids],
        });
        results.push(toSums(sums));
      }
    }
  }
  return {
    escrows: results.reduce((sum, { escrows }) => sum + escrows, 0),
    sums: results.flatMap(({ sums }) => sums),
  };
}

/** SQL of ended escrows of an archive, in the order of their block times. ?8 and ?9 are where it begins. */
const buildEndedSql = (ofAgent: boolean, filters: string) =>
  `SELECT id, block_time AS blockTime, source_id AS sourceId, contract_address AS contractAddress,
     json_object('identifierHash', identifier_hash, 'side', side, 'sourceId', source_id) AS place
   FROM escrow INDEXED BY ${ofAgent ? "escrow_agent_ended" : "escrow_ended"}
   WHERE side = ?1 AND network = ?2 AND ${ENDED_CONDITION} AND block_time >= ?3 AND block_time < ?4
     ${filters} AND block_time >= ?8 AND (block_time, id) > (?8, ?9) ORDER BY block_time, id`;

/** The sums from their rows. */
function toSums(rows: readonly SumRow[]): { escrows: number; sums: EscrowSum[] } {
  const toExactSum = (high: number, low: number) => BigInt(high) * BigInt(BILLION) + BigInt(low);
  const escrows = rows.find(({ what }) => what === "escrows")?.low ?? 0;
  const sums = rows
    .filter(({ what }) => what !== "escrows")
    .map(({ what, quarter, kind, unit, high, low, feeHigh, feeLow }): EscrowSum => {
      const fee = toExactSum(feeHigh, feeLow);
      const isUnit = what === "unit";
      return {
        ...{ quarter, kind, unit, gross: toExactSum(high, low) },
        protocolFee: isUnit ? fee : 0n,
        networkFee: isUnit ? 0n : fee,
      };
    });
  return { escrows, sums };
}

/** Block times are whole seconds: those of a half-open period are from its rounded-up begin to its end. */
function toSeconds(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.ceil(milliseconds / 1000);
}
