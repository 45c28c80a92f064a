import { type Database, type Statement, statement } from "../../db/client.ts";
import { reserveStamps, type SqlExpression, stampSql } from "../../db/clock.ts";
import { commitCursor } from "../../indexer/cursor.ts";
import { computeCapabilityId } from "../entries/capability.ts";
import { isCheckable, statusOf } from "../entries/entry.ts";
import { DOC_VERSION, renderEntry } from "../entries/render-entry.ts";
import type { EntryChanges } from "./changes.ts";
import { type MintPosition, REGISTRY_TABLES, type RegistryCursor } from "./cursor.ts";

/**
 * A batch is full once its states have this many characters. A statement's parameter may have two
 * million bytes. The states and documents of an entry take up to six bytes there for each character
 * here. A transaction that is not split may add a quarter of a million.
 */
export const MAX_TEXT_LENGTH = 200_000;

/**
 * Writes all changes of a run of transactions, and the cursor, in one batch; see `commitCursor` in
 * `indexer/cursor.ts`.
 *
 * @param recent - the cursor's new position
 * @throws StaleCursorError or StaleRecordError when another writer was first; nothing was written
 */
export async function commitChanges(
  db: Database,
  cursor: RegistryCursor,
  changes: EntryChanges,
  recent: MintPosition[],
  more: Statement[] = [],
): Promise<void> {
  const statements = [
    ...writeEntries(cursor, changes),
    ...writeSteps(cursor.sourceId, changes),
    ...more,
  ];
  await commitCursor(db, REGISTRY_TABLES, cursor, { recent }, statements, changes.now);
}

function writeEntries({ sourceId, network }: RegistryCursor, changes: EntryChanges): Statement[] {
  const entries = [...changes.entries.values()];
  if (entries.length === 0) return [];
  const at: SqlExpression = stampSql("registry", network, entries.length, "item.key");
  const rows = entries.map((entry) => ({
    ...entry,
    state: JSON.stringify(entry.state),
    status: statusOf(entry.state, entry.health),
    apiBaseUrl: entry.state.profile?.apiBaseUrl ?? "",
    paymentType: entry.state.profile?.paymentType ?? "Web3ChainV1",
    tags: JSON.stringify(entry.state.profile?.tags ?? []),
    capabilityId: computeCapabilityId(entry.state.profile?.capability ?? null),
    revision: entry.revision + 1,
    doc: renderEntry(entry),
  }));
  const health = entries.map((entry) => ({
    entryId: entry.id,
    isChecked: isCheckable(entry.state),
    isReset: changes.recheckIds.has(entry.id),
  }));
  return [
    reserveStamps("registry", network, entries.length, changes.now),
    statement(
      `INSERT INTO registry_entry (id, network, source_id, policy_id, source_url, agent_identifier,
         state, health, status, api_base_url, payment_type, tags, capability_id, created_at,
         updated_at, status_updated_at, revision, doc_version, doc)
       SELECT v->>'id', v->>'network', v->>'sourceId', v->>'policyId', v->>'sourceUrl',
         v->>'agentIdentifier', v->>'state', v->>'health', v->>'status', v->>'apiBaseUrl',
         v->>'paymentType', v->>'tags', v->>'capabilityId', v->>'createdAt', ?, at, v->>'revision', ?,
         v->>'doc'
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE true
       ON CONFLICT (id) DO UPDATE SET
         revision = iif(registry_entry.revision = excluded.revision - 1, excluded.revision, NULL),
         state = excluded.state, health = excluded.health, status = excluded.status,
         api_base_url = excluded.api_base_url, payment_type = excluded.payment_type,
         tags = excluded.tags, capability_id = excluded.capability_id,
         updated_at = excluded.updated_at, status_updated_at = excluded.status_updated_at,
         doc_version = excluded.doc_version, doc = excluded.doc`,
      changes.now,
      DOC_VERSION,
      ...at.params,
      JSON.stringify(rows),
    ),
    // An agent that is new or changed its address is checked at once; a burned one no more.
    statement(
      `INSERT INTO registry_health (source_id, entry_id, due_at, checks, successes, failures)
       SELECT ?1, value->>'entryId', iif(value->>'isChecked', ?2, NULL), 0, 0, 0
       FROM json_each(?3) WHERE true
       ON CONFLICT (source_id, entry_id) DO UPDATE SET
         due_at = iif(excluded.due_at IS NOT NULL AND registry_health.due_at IS NOT NULL
           AND NOT (SELECT value->>'isReset' FROM json_each(?3)
             WHERE value->>'entryId' = excluded.entry_id), registry_health.due_at, excluded.due_at),
         failures = iif((SELECT value->>'isReset' FROM json_each(?3)
           WHERE value->>'entryId' = excluded.entry_id), 0, registry_health.failures)`,
      sourceId,
      changes.now,
      JSON.stringify(health),
    ),
  ];
}

function writeSteps(sourceId: string, { steps, undoneSteps: undone }: EntryChanges): Statement[] {
  const taken = undone.map((one) => [one.blockHeight, one.txIndex, one.txHash, one.entryId]);
  const deletion = statement(
    `DELETE FROM registry_step WHERE (source_id, block_height, tx_index, tx_hash, entry_id) IN
       (SELECT ?, value->>0, value->>1, value->>2, value->>3 FROM json_each(?))`,
    sourceId,
    JSON.stringify(taken),
  );
  const insertion = statement(
    `INSERT INTO registry_step (source_id, block_height, tx_index, tx_hash, entry_id, before)
     SELECT ?, value->>'blockHeight', value->>'txIndex', value->>'txHash', value->>'entryId',
       value->>'before'
     FROM json_each(?)`,
    sourceId,
    JSON.stringify(steps),
  );
  return [...(undone.length > 0 ? [deletion] : []), ...(steps.length > 0 ? [insertion] : [])];
}
