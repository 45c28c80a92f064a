import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { decodeEscrowDatum, type EscrowDatum } from "../chain/escrow-datum.ts";
import { identifierOfDatum } from "../chain/identifier.ts";
import type { Database } from "../db/client.ts";
import { type PricingType, pricingTypes } from "../registry/pricing.ts";
import { ESCROW_COLUMNS, type EscrowRecord, type EscrowRow, recordOfRow } from "./record.ts";
import type { EscrowSource, ReadTransaction } from "./source.ts";

/**
 * The stored records that some transactions may touch: those whose funds they spend, and those
 * whose identifier one of their outputs carries.
 *
 * @param complete - false when transactions were skipped in the past: then the spent outputs may
 *   not be the ones we stored, and the provider is asked for their datums
 */
export async function loadKnown(
  db: Database,
  source: EscrowSource,
  reads: ReadTransaction[],
  complete: boolean,
): Promise<EscrowRecord[]> {
  const valid = reads.filter(({ tx }) => tx.isValid);
  const utxos = valid.flatMap(({ tx }) =>
    tx.spendRedeemers.flatMap(({ inputIndex }) => {
      const input = tx.inputs[inputIndex];
      return input ? [`${input.txHash}#${input.index}`] : [];
    }),
  );
  const datums = valid.flatMap(({ tx }) =>
    tx.outputs.flatMap(({ address, datum }) =>
      address === source.contractAddress && datum !== null ? [datum] : [],
    ),
  );
  if (!complete) datums.push(...(await spentDatums(source, valid)));
  const hashes = datums.flatMap((datum) => identifierHash(source, datum) ?? []);
  if (utxos.length + hashes.length === 0) return [];

  const rows = await db.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE source_id = ?1 AND utxo IN (SELECT value FROM json_each(?2))
     UNION
     SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE identifier_hash IN (SELECT value FROM json_each(?3))
       AND side IN ('payment', 'purchase') AND source_id = ?1`,
    source.id,
    JSON.stringify(utxos),
    JSON.stringify([...new Set(hashes)]),
  );
  return rows.map(recordOfRow);
}

/** How the agents are priced whose escrows some transactions may lock for our wallets. */
export async function loadPricing(
  db: Database,
  source: EscrowSource,
  reads: ReadTransaction[],
): Promise<Map<string, PricingType>> {
  const ours = new Set(source.wallets.map(({ vkey }) => vkey));
  const agents = reads.flatMap(({ tx }) =>
    tx.outputs.flatMap(({ address, datum }) => {
      const decoded = address === source.contractAddress ? escrowDatum(source, datum) : null;
      const isOurs = decoded && (ours.has(decoded.sellerVkey) || ours.has(decoded.buyerVkey));
      return (isOurs && decoded.agentIdentifier) || [];
    }),
  );
  return pricingTypes(db, source.network, agents);
}

/**
 * What a record is looked up by: SHA-256 (hex) of the identifier that a datum belongs to. Null when
 * the datum does not read as an escrow of the source.
 */
export function identifierHash(source: EscrowSource, datum: string): string | null {
  const decoded = escrowDatum(source, datum);
  return decoded && hashOf(identifierOfDatum(decoded, source.contractAddress));
}

/** An inline datum as an escrow of the source; null when there is none, or it does not read as one. */
export function escrowDatum(source: EscrowSource, datum: string | null): EscrowDatum | null {
  if (datum === null) return null;
  const decoded = decodeEscrowDatum(datum, {
    version: source.type,
    network: source.network,
    contractAddress: source.contractAddress,
  });
  return decoded.ok ? decoded.datum : null;
}

/** SHA-256 of a blockchain identifier, hex. */
export function hashOf(identifier: string): string {
  return bytesToHex(sha256(new TextEncoder().encode(identifier)));
}

async function spentDatums(source: EscrowSource, reads: ReadTransaction[]): Promise<string[]> {
  const spending = reads.filter(({ tx }) => tx.spendRedeemers.length > 0);
  const found: string[] = [];
  for (const read of spending) {
    const { inputs } = await read.utxos();
    for (const { address, inlineDatum } of inputs)
      if (address === source.contractAddress && inlineDatum !== null) found.push(inlineDatum);
  }
  return found;
}
