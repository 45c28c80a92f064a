import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { mayUseWallet } from "../../http/authenticate.ts";
import type { Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { type EscrowRecord, hashIdentifier, type Side } from "../model/escrow-record.ts";
import type { Step } from "../model/intent.ts";
import { ESCROW_COLUMNS, type EscrowRow, toEscrowRecord } from "../store/escrow-row.ts";
import { selectByIdentifierSql } from "../store/identity.ts";
import { PREFERRED_FIRST_SQL } from "../store/predicates.ts";

/** An escrow of a side, as requests name it. */
export interface EscrowReference {
  side: Side;
  network: Network;
  blockchainIdentifier: string;
}

export interface FoundEscrow {
  record: EscrowRecord;
  /** What its newest transaction on the chain was made for; null: it is not ours, or there is none. */
  newestStep: Step | null;
  /** Height of the newest block seen; 0: none was. */
  tipHeight: number;
}

/**
 * The record of an escrow, which only its owner and Admins may change: of several the one that is meant.
 *
 * @throws ApiError 403, 404
 */
export async function findOwnRecord(
  database: Database,
  caller: Caller,
  { side, network, blockchainIdentifier }: EscrowReference,
): Promise<FoundEscrow> {
  const [row] = await database.all<EscrowRow & { newest: Step | null; tip: number | null }>(
    `SELECT ${ESCROW_COLUMNS}, (SELECT intent->>'step' FROM escrow_transaction
       WHERE record_id = escrow.id AND tx_hash = escrow.transaction_hash) AS newest,
       (SELECT height FROM chain_tip WHERE network = ?3) AS tip
     FROM ${selectByIdentifierSql("?1", "?2")}
     WHERE network = ?3
     ORDER BY ${PREFERRED_FIRST_SQL} LIMIT 1`,
    hashIdentifier(blockchainIdentifier),
    side,
    network,
  );
  const { newest = null, tip, ...stored } = row ?? {};
  const record = row && toEscrowRecord(stored as EscrowRow);
  if (!record || !isInScope(record, caller))
    throw new ApiError(404, `blockchainIdentifier: there is no such ${side}`);
  if (caller.permission !== "Admin" && caller.id !== record.requestedById)
    throw new ApiError("not_owner", `blockchainIdentifier: the ${side} belongs to another API key`);
  return { record, newestStep: newest, tipHeight: tip ?? 0 };
}

function isInScope({ wallet, requestedById }: EscrowRecord, { id, scope }: Caller): boolean {
  if (!scope?.walletIds) return true;
  return wallet === null ? requestedById === id : mayUseWallet(scope, wallet.id);
}
