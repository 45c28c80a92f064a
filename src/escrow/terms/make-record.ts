import { charge, type MeteredOperation } from "../../api-keys/credits.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { stamp } from "../../db/clock.ts";
import { newId } from "../../db/id.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import type { Remember } from "../../http/idempotency.ts";
import type { SourceRow } from "../../sources/record.ts";
import { type EscrowRecord, hashIdentifier, UNLOCKED } from "../model/record.ts";
import { ChangeSet } from "../store/change-set.ts";
import { render, STAMP, withConfirmations, withHistories } from "../store/render.ts";
import { writeChanges } from "../store/write-changes.ts";

/** A record that a request asks for, before it is written. */
export interface RequestedRecord {
  record: EscrowRecord;
  /** What the caller notes. */
  metadata: string | null;
  /** What the answer has beside the record: JSON. */
  more: object;
  /** The metered call. */
  operation: MeteredOperation;
  /** For the audit. */
  detail: object;
  /** Epoch milliseconds. */
  now: number;
}

/** What a request for a record is answered with, as it is remembered: JSON throughout. */
export interface CreatedRecord {
  id: string;
  /** The record as it was made, with the placeholder of its change stamps. */
  doc: string;
  /** The rest of the answer. */
  more: object;
}

/** A record of which the chain has nothing yet. */
export function newRecord(
  source: SourceRow,
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
    state: UNLOCKED,
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

/**
 * Writes a requested record with its stamps, event, charge and audit row, in one batch.
 *
 * @param statements - for the same batch, after the record is written
 */
export async function createRecord(
  c: AppContext,
  database: Database,
  { record, metadata, more, operation, detail, now }: RequestedRecord,
  remember: Remember,
  statements: Statement[] = [],
): Promise<CreatedRecord> {
  const { id, side, network, sourceId } = record;
  const changes = new ChangeSet([], now, 0);
  changes.setProgress(record, record.progress);
  const rendered = withHistories(render(record, { chain: true, action: true }), side);
  // No transaction of it is in a block.
  const doc = withConfirmations(rendered, 0);
  const created: CreatedRecord = { id, doc, more: { metadata, ...more } };
  await commitAudited(c, database, { action: `${side}.create`, target: id, detail, now }, [
    ...(await remember(created)),
    ...charge(c.var.caller, operation),
    ...writeChanges(changes, { sourceId, network }),
    insertRequest(record, metadata),
    ...statements,
  ]);
  await wakeDispatcher(c.env, c.var.requestId);
  return created;
}

function insertRequest(
  { id, side, network, identifierHash, requestedById }: EscrowRecord,
  metadata: string | null,
): Statement {
  const at = stamp("escrow", network, 1, "0");
  return statement(
    `INSERT INTO escrow_request (record_id, requested_by_id, metadata, purchase_of, made_at)
     VALUES (?, ?, ?, ?, ${at.sql})`,
    id,
    requestedById,
    metadata,
    side === "purchase" ? `${network}:${identifierHash}` : null,
    ...at.params,
  );
}

/** The answer to a request: the same each time, whatever has become of the record. */
export async function createdRecordResponse<Shown>(
  database: Database,
  { id, doc, more }: CreatedRecord,
): Promise<Shown> {
  const [row] = await database.all<{ at: number }>(
    "SELECT made_at AS at FROM escrow_request WHERE record_id = ?",
    id,
  );
  if (!row) throw new Error("a request's record was not written");
  const text = doc.replaceAll(STAMP, new Date(row.at).toISOString());
  return { ...JSON.parse(text), ...more };
}
