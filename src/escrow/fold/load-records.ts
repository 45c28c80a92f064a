import type { Database } from "../../db/client.ts";
import { type PricingType, pricingTypes } from "../../registry/pricing.ts";
import type { EscrowRecord } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import type { TransactionRecord } from "../transaction-record.ts";
import type { Want } from "../wanted.ts";
import type { StoredTransaction } from "./change-set/transaction-rows.ts";
import { identify } from "./escrow-outputs.ts";
import type { EscrowSource, ReadTransaction } from "./source.ts";

/** Records as they are stored, and what is stored of some transactions of theirs. */
export interface KnownRecords {
  records: EscrowRecord[];
  stored: StoredTransaction[];
}

/**
 * The stored records that some transactions may touch: those whose funds they spend, and those
 * whose identifier one of their outputs carries.
 *
 * @param complete - false when transactions were skipped in the past: then the spent outputs may
 *   not be the ones we stored, and the provider is asked for their datums
 */
export async function loadKnown(
  db: Pick<Database, "all">,
  source: EscrowSource,
  reads: ReadTransaction[],
  complete: boolean,
): Promise<KnownRecords> {
  const valid = reads.filter(({ tx }) => tx.isValid);
  const utxos = valid.flatMap(({ tx }) =>
    tx.spendRedeemers.flatMap(({ inputIndex }) => {
      const input = tx.inputs[inputIndex];
      return input ? [`${input.txHash}#${input.index}`] : [];
    }),
  );
  const hashes = valid.flatMap(({ outputs }) => outputs.map((output) => output.identifierHash));
  if (!complete)
    for (const read of valid.filter(({ tx }) => tx.spendRedeemers.length > 0))
      for (const datum of (await read.spentDatums()).values())
        if (datum !== null) hashes.push(identify(source, datum).identifierHash);
  if (utxos.length + hashes.length === 0) return { records: [], stored: [] };
  return loadRecords(
    db,
    valid.map(({ tx }) => tx.hash),
    `SELECT id FROM escrow WHERE source_id = ?2 AND utxo IN (SELECT value FROM json_each(?3))
     UNION
     SELECT id FROM escrow WHERE identifier_hash IN (SELECT value FROM json_each(?4))
       AND side IN ('payment', 'purchase') AND source_id = ?2`,
    source.id,
    JSON.stringify(utxos),
    JSON.stringify([...new Set(hashes)]),
  );
}

/**
 * Records, with what is stored of transactions of theirs.
 *
 * @param txHashes - of the transactions
 * @param ids - SQL that selects the ids of the records; its parameters begin with ?2
 */
export async function loadRecords(
  db: Pick<Database, "all">,
  txHashes: readonly string[],
  ids: string,
  ...params: unknown[]
): Promise<KnownRecords> {
  const rows = await db.all<EscrowRow & { transactions: string | null }>(
    `SELECT ${ESCROW_COLUMNS}, (SELECT json_group_array(json_array(json(fields), json(want)))
         FROM escrow_transaction
         WHERE record_id = escrow.id AND tx_hash IN (SELECT value FROM json_each(?1))) AS transactions
     FROM escrow WHERE id IN (${ids})`,
    JSON.stringify(txHashes),
    ...params,
  );
  return {
    records: rows.map(recordOfRow),
    stored: rows.flatMap(({ id, transactions }) =>
      (JSON.parse(transactions ?? "[]") as [TransactionRecord, Want | null][]).map(
        ([transaction, want]) => ({ recordId: id, transaction, want }),
      ),
    ),
  };
}

/** How the agents are priced whose escrows some transactions may lock for our wallets. */
export async function loadPricing(
  db: Database,
  source: EscrowSource,
  reads: ReadTransaction[],
): Promise<Map<string, PricingType>> {
  const ours = new Set(source.wallets.map(({ vkey }) => vkey));
  const agents = reads.flatMap(({ outputs }) =>
    outputs.flatMap(({ datum }) => {
      const isOurs = ours.has(datum.sellerVkey) || ours.has(datum.buyerVkey);
      return (isOurs && datum.agentIdentifier) || [];
    }),
  );
  return pricingTypes(db, source.network, agents);
}
