import { newId } from "../../db/id.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { type EscrowRecord, hashIdentifier, NO_LOCK_STATE } from "../model/escrow-record.ts";

/** A record of which the chain has nothing yet. */
export function buildRecord(
  source: Pick<SourceRow, "id" | "network" | "type" | "contractAddress" | "policyId">,
  fields: Pick<
    EscrowRecord,
    "side" | "blockchainIdentifier" | "requestedById" | "terms" | "progress" | "wallet"
  >,
  now: number,
): EscrowRecord {
  return {
    ...fields,
    id: newId(now),
    network: source.network,
    sourceId: source.id,
    sourceType: source.type,
    contractAddress: source.contractAddress,
    policyId: source.policyId,
    identifierHash: hashIdentifier(fields.blockchainIdentifier),
    state: NO_LOCK_STATE,
    output: null,
    lastDeadlineWarning: null,
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    chainChangedAt: now,
    actionChangedAt: now,
    changedAt: now,
    sequence: 0,
    revision: -1,
  };
}
