import { desc, eq, getTableColumns } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import {
  parseOutputReference,
  type ScriptSource,
} from "../../chain/transaction/transaction-plan.ts";
import type { Database, Statement } from "../../db/client.ts";
import { isOneOf } from "../../db/conditions.ts";
import { newId } from "../../db/id.ts";
import { nextRevisionSql } from "../../db/revision.ts";
import { createTask, taskJoinCondition, upsertTasks } from "../queue/store.ts";
import { type WalletTask, walletTask } from "../queue/tables.ts";
import { REFERENCE_SCRIPT_FEATURE, type ReferenceScriptRow, referenceScript } from "./tables.ts";

/** Columns that change during the life of a reference script. */
export type ReferenceScriptChange = Partial<
  Pick<ReferenceScriptRow, "state" | "output" | "deposit" | "txHash" | "error">
>;

/** What a wallet does for a reference script. */
export type Purpose = "Publish" | "Withdraw";

/** The task that publishes or withdraws a script. @param now - epoch milliseconds */
export function createScriptTask(
  row: Omit<ReferenceScriptRow, "task">,
  purpose: Purpose,
  now: number,
): WalletTask {
  return createTask(REFERENCE_SCRIPT_FEATURE, row, `${row.id}:${purpose}`, now);
}

/**
 * Builds the row and the statements of a script that a wallet publishes for a source.
 *
 * @param now - epoch milliseconds.
 * @returns statements that violate `reference_script.source_id` while the source has another script.
 */
export function insertReferenceScript(
  db: Database,
  {
    source,
    wallet,
    script,
    createdById,
  }: {
    source: { id: string; network: Network };
    wallet: { vkey: string; address: string };
    script: { hash: string; cbor: string };
    createdById: string;
  },
  now: number,
): { row: ReferenceScriptRow; statements: Statement[] } {
  const row = {
    id: newId(now),
    network: source.network,
    sourceId: source.id,
    walletVkey: wallet.vkey,
    walletAddress: wallet.address,
    scriptHash: script.hash,
    cbor: script.cbor,
    state: "PublishRequested" as const,
    ...{ output: null, deposit: null, txHash: null, error: null },
    createdById,
    createdAt: now,
    updatedAt: now,
    revision: 0,
  };
  const task = createScriptTask(row, "Publish", now);
  const insert = db.orm.insert(referenceScript).values(row).toSQL();
  return { row: { ...row, task }, statements: [insert, ...upsertTasks([task])] };
}

/** The statement that changes a row as it was read; it aborts its batch when the row has changed. */
export function updateReferenceScript(
  db: Database,
  { id, revision }: ReferenceScriptRow,
  change: ReferenceScriptChange,
  now: number,
): Statement {
  return db.orm
    .update(referenceScript)
    .set({
      ...change,
      updatedAt: now,
      revision: nextRevisionSql(referenceScript.revision, revision),
    })
    .where(eq(referenceScript.id, id))
    .toSQL();
}

/** Scripts with their tasks. */
function selectReferenceScripts(db: Database) {
  return db.orm
    .select({ ...getTableColumns(referenceScript), task: walletTask })
    .from(referenceScript)
    .leftJoin(walletTask, taskJoinCondition(referenceScript.id, REFERENCE_SCRIPT_FEATURE));
}

export function readReferenceScripts(
  db: Database,
  ids: readonly string[],
): Promise<ReferenceScriptRow[]> {
  return selectReferenceScripts(db).where(isOneOf(referenceScript.id, ids));
}

/** The newest reference script of a source. */
export async function findReferenceScript(
  db: Database,
  sourceId: string,
): Promise<ReferenceScriptRow | undefined> {
  const [row] = await selectReferenceScripts(db)
    .where(eq(referenceScript.sourceId, sourceId))
    .orderBy(desc(referenceScript.id))
    .limit(1);
  return row;
}

/** What transactions of a source can read instead of holding it, by the scripts' hashes. */
export async function listPublishedScripts(
  db: Database,
  sourceId: string,
): Promise<ReadonlyMap<string, ScriptSource>> {
  const rows = await db.all<{ hash: string; output: string; size: number }>(
    `SELECT script_hash AS hash, output, length(cbor) / 2 AS size FROM reference_script
     WHERE source_id = ? AND state = 'Published'`,
    sourceId,
  );
  return new Map(
    rows.map(({ hash, output, size }) => {
      const source = { from: "reference", hash, output: parseOutputReference(output), size };
      return [hash, source satisfies { from: string } as ScriptSource] as const;
    }),
  );
}

/** Whether a transaction that may still come into a block reads an output. */
export async function isReferenced(
  db: Database,
  network: Network,
  output: string,
): Promise<boolean> {
  const [row] = await db.all(
    `SELECT 1 FROM wallet_transaction AS tx JOIN wallet_transaction_content USING (hash),
       json_each(content, '$.reads') AS read
     WHERE tx.network = ? AND tx.due_at IS NOT NULL AND read.value = ?
       AND tx.phase IN ('Stored', 'Sent', 'RolledBack') LIMIT 1`,
    network,
    output,
  );
  return row !== undefined;
}
