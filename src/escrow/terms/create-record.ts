import { chargeOperation } from "../../api-keys/credits.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { stampSql } from "../../db/clock.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import type { StoreResponse } from "../../http/idempotency.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { ChangeSet } from "../store/change-set.ts";
import {
  renderRecord,
  STAMP_MARK,
  withConfirmations,
  withHistories,
} from "../store/render-record.ts";
import { writeChanges } from "../store/write-changes.ts";

/** A record that a request asks for, before it is written. */
export interface RecordRequest {
  record: EscrowRecord;
  /** What the caller notes. */
  metadata: string | null;
  /** What the answer has beside the record: JSON. */
  responseFields: object;
  /** For the audit. */
  auditDetail: object;
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
  /** When it was made, epoch milliseconds; left out, as for repeats: it is read. */
  at?: number;
}

const MADE_AT_SQL = "SELECT made_at AS at FROM escrow_request WHERE record_id = ?";

/**
 * Writes a requested record with its stamps, event, charge and audit row, in one batch.
 *
 * @param statements - for the same batch, after the record is written
 */
export async function createRecord(
  c: AppContext,
  database: Database,
  { record, metadata, responseFields: more, auditDetail: detail, now }: RecordRequest,
  remember: StoreResponse,
  statements: Statement[] = [],
): Promise<CreatedRecord> {
  const { id, side, network, sourceId } = record;
  const changes = new ChangeSet([], now, 0);
  changes.setProgress(record, record.progress);
  const rendered = withHistories(
    renderRecord(record, { hasChainChanged: true, hasActionChanged: true }),
    side,
  );
  // No transaction of it is in a block.
  const doc = withConfirmations(rendered, 0);
  const created: CreatedRecord = { id, doc, more: { metadata, ...more } };
  const results = await commitWithAudit(
    c,
    database,
    { action: `${side}.create`, target: id, detail, now },
    [
      ...(await remember(created)),
      ...chargeOperation(c.var.caller, side),
      ...writeChanges(changes, { sourceId, network }),
      insertRequest(record, metadata),
      ...statements,
      statement(MADE_AT_SQL, id),
    ],
  );
  await wakeDispatcher(c.env, c.var.requestId);
  const [row] = (results?.at(-1)?.results ?? []) as { at: number }[];
  return { ...created, ...row };
}

/** The owner and the note of a record, for the batch that writes the record as its only one. */
export function insertRequest(
  { id, side, network, identifierHash, requestedById }: EscrowRecord,
  metadata: string | null,
): Statement {
  const at = stampSql("escrow", network, 1, "0");
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
export async function loadCreatedRecordResponse<ApiRecord>(
  database: Database,
  { id, doc, more, at }: CreatedRecord,
): Promise<ApiRecord> {
  const [row] = at === undefined ? await database.all<{ at: number }>(MADE_AT_SQL, id) : [{ at }];
  if (!row) throw new Error("a request's record was not written");
  const text = doc.replaceAll(STAMP_MARK, new Date(row.at).toISOString());
  return { ...JSON.parse(text), ...more };
}
