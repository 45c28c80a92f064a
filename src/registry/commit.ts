import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { reserveStamps, type SqlExpression, stamp } from "../db/clock.ts";
import { newId } from "../db/id.ts";
import { capabilityId } from "./capability.ts";
import type { EntryChanges } from "./changes.ts";
import type { MintPosition, RegistryCursor } from "./cursor.ts";
import { isChecked, statusOf } from "./entry.ts";
import { DOC_VERSION, render } from "./render.ts";

/** Another pass, a health check or an operator was faster: read again, then decide. */
export class StaleRegistry extends Error {
  override name = "StaleRegistry";
}

/**
 * A batch takes no more once its states have this many characters. A statement's parameter may have
 * two million bytes; an entry's states and documents in it take up to six for each character here,
 * and a transaction that is not split may add a quarter of a million.
 */
export const MAX_TEXT = 200_000;

/**
 * Writes everything a run of transactions did, and the cursor, in one batch: all of it happens or
 * none. The cursor's version is the key of the operation, so a batch sent twice, or late, aborts;
 * which of the two it was, `last_op` tells.
 *
 * @param recent - where the cursor goes
 * @throws StaleRegistry when somebody else moved the cursor or an entry first; nothing was written
 */
export async function commit(
  db: Database,
  cursor: RegistryCursor,
  changes: EntryChanges,
  recent: MintPosition[],
  more: Statement[] = [],
): Promise<void> {
  const op = newId(changes.now);
  try {
    await db.batch([
      statement(
        `UPDATE registry_cursor SET version = iif(version = ?2, version + 1, NULL), last_op = ?3,
           recent = ?4
         WHERE source_id = ?1`,
        cursor.sourceId,
        cursor.version,
        op,
        JSON.stringify(recent),
      ),
      ...writeEntries(cursor, changes),
      ...writeSteps(cursor.sourceId, changes),
      ...more,
    ]);
  } catch (error) {
    if (violates(error, "registry_entry.rev"))
      throw new StaleRegistry("an entry was changed meanwhile");
    if (!violates(error, "registry_cursor.version")) throw error;
    const [row] = await db.all<{ last_op: string | null }>(
      "SELECT last_op FROM registry_cursor WHERE source_id = ?",
      cursor.sourceId,
    );
    // The answer to our own batch was lost, and it was sent again.
    if (row?.last_op !== op) throw new StaleRegistry("the cursor was moved meanwhile");
  }
  cursor.version++;
  cursor.recent = recent;
}

function writeEntries({ sourceId, network }: RegistryCursor, changes: EntryChanges): Statement[] {
  const entries = [...changes.entries.values()];
  if (entries.length === 0) return [];
  const at: SqlExpression = stamp("registry", network, entries.length, "item.key");
  const rows = entries.map((entry) => ({
    ...entry,
    state: JSON.stringify(entry.state),
    status: statusOf(entry.state, entry.health),
    apiBaseUrl: entry.state.profile?.apiBaseUrl ?? "",
    paymentType: entry.state.profile?.paymentType ?? "Web3ChainV1",
    tags: JSON.stringify(entry.state.profile?.tags ?? []),
    capabilityId: capabilityId(entry.state.profile?.capability ?? null),
    rev: entry.rev + 1,
    doc: render(entry),
  }));
  const health = entries.map((entry) => ({
    entryId: entry.id,
    isChecked: isChecked(entry.state),
    isReset: changes.recheck.has(entry.id),
  }));
  return [
    reserveStamps("registry", network, entries.length, changes.now),
    statement(
      `INSERT INTO registry_entry (id, network, source_id, policy_id, source_url, agent_identifier,
         state, health, status, api_base_url, payment_type, tags, capability_id, created_at,
         updated_at, status_updated_at, rev, doc_version, doc)
       SELECT v->>'id', v->>'network', v->>'sourceId', v->>'policyId', v->>'sourceUrl',
         v->>'agentIdentifier', v->>'state', v->>'health', v->>'status', v->>'apiBaseUrl',
         v->>'paymentType', v->>'tags', v->>'capabilityId', v->>'createdAt', ?, at, v->>'rev', ?,
         v->>'doc'
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE true
       ON CONFLICT (id) DO UPDATE SET
         rev = iif(registry_entry.rev = excluded.rev - 1, excluded.rev, NULL),
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
    // An agent that came or moved is checked at once; one that went is not checked any more.
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

function writeSteps(sourceId: string, { steps }: EntryChanges): Statement[] {
  if (steps.length === 0) return [];
  return [
    statement(
      `INSERT INTO registry_step (source_id, block_height, tx_index, tx_hash, entry_id, before)
       SELECT ?, value->>'blockHeight', value->>'txIndex', value->>'txHash', value->>'entryId',
         value->>'before'
       FROM json_each(?)`,
      sourceId,
      JSON.stringify(steps),
    ),
  ];
}
