import { and, asc, desc, eq, isNotNull, like, sql } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import { outputNamed, type ScriptSource } from "../../chain/transaction/plan.ts";
import { type Database, type Statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { nextRevision } from "../../db/revision.ts";
import { walletsDueIn } from "../due.ts";
import { StaleWallet } from "../spending/stored/wallet.ts";
import { type ReferenceScriptRow, referenceScript } from "./tables.ts";

/** Columns that change during the life of a reference script. */
export type ReferenceScriptChange = Partial<
  Pick<
    ReferenceScriptRow,
    "state" | "output" | "deposit" | "txHash" | "error" | "failures" | "dueAt"
  >
>;

/**
 * A script that a wallet shall publish for a source.
 *
 * @param now - epoch milliseconds
 * @returns the row, and the statement that stores it; with a script of the source that is not withdrawn
 *   it violates `reference_script.source_id`
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
): { row: ReferenceScriptRow; statement: Statement } {
  const row: ReferenceScriptRow = {
    id: newId(now),
    network: source.network,
    sourceId: source.id,
    walletVkey: wallet.vkey,
    walletAddress: wallet.address,
    scriptHash: script.hash,
    cbor: script.cbor,
    state: "PublishRequested",
    ...{ output: null, deposit: null, txHash: null, error: null },
    failures: 0,
    dueAt: now,
    createdById,
    createdAt: now,
    updatedAt: now,
    rev: 0,
  };
  return { row, statement: db.orm.insert(referenceScript).values(row).toSQL() };
}

/** The statement that changes a row as it was read; it aborts its batch when the row has changed. */
export function updateReferenceScript(
  db: Database,
  { id, rev }: ReferenceScriptRow,
  change: ReferenceScriptChange,
  now: number,
): Statement {
  return db.orm
    .update(referenceScript)
    .set({
      ...change,
      updatedAt: now,
      rev: nextRevision(referenceScript.rev, rev),
    })
    .where(eq(referenceScript.id, id))
    .toSQL();
}

/** @throws StaleWallet when a row has changed since it was read */
export async function changeReferenceScripts(
  db: Database,
  statements: readonly Statement[],
): Promise<void> {
  if (statements.length === 0) return;
  try {
    await db.batch([...statements]);
  } catch (error) {
    if (!violates(error, "reference_script.rev")) throw error;
    throw new StaleWallet("a reference script was changed meanwhile");
  }
}

/** What a wallet has to publish or withdraw for a source, what has waited longest first. */
export function openReferenceScripts(
  db: Database,
  { network, vkey, sourceId }: { network: Network; vkey: string; sourceId: string },
): Promise<ReferenceScriptRow[]> {
  return db.orm
    .select()
    .from(referenceScript)
    .where(
      and(
        eq(referenceScript.network, network),
        eq(referenceScript.walletVkey, vkey),
        eq(referenceScript.sourceId, sourceId),
        isNotNull(referenceScript.dueAt),
        like(referenceScript.state, "%Requested"),
      ),
    )
    .orderBy(asc(referenceScript.dueAt), asc(referenceScript.id));
}

export async function readReferenceScripts(
  db: Database,
  ids: readonly string[],
): Promise<ReferenceScriptRow[]> {
  if (ids.length === 0) return [];
  return db.orm
    .select()
    .from(referenceScript)
    .where(sql`${referenceScript.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
}

/** The newest reference script of a source. */
export async function referenceScriptOf(
  db: Database,
  sourceId: string,
): Promise<ReferenceScriptRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(referenceScript)
    .where(eq(referenceScript.sourceId, sourceId))
    .orderBy(desc(referenceScript.id))
    .limit(1);
  return row;
}

/** What transactions of a source can read instead of holding it, by the scripts' hashes. */
export async function publishedScripts(
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
      const source = { from: "reference", hash, output: outputNamed(output), size };
      return [hash, source satisfies { from: string } as ScriptSource] as const;
    }),
  );
}

/** Whether a transaction that may still come into a block reads an output. */
export async function isRead(db: Database, network: Network, output: string): Promise<boolean> {
  const [row] = await db.all(
    `SELECT 1 FROM wallet_transaction AS tx, json_each(tx.content, '$.reads') AS read
     WHERE tx.network = ? AND tx.due_at IS NOT NULL AND read.value = ?
       AND tx.phase IN ('Stored', 'Sent', 'RolledBack') LIMIT 1`,
    network,
    output,
  );
  return row !== undefined;
}

/** Wallets with something to publish or withdraw. */
export const walletsWithReferenceScripts = walletsDueIn("reference_script");

/** What a wallet publishes or withdraws next; it may not be due yet. */
export async function nextReferenceScript(
  db: Database,
  network: Network,
  vkey: string,
): Promise<ReferenceScriptRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(referenceScript)
    .where(
      and(
        eq(referenceScript.network, network),
        eq(referenceScript.walletVkey, vkey),
        isNotNull(referenceScript.dueAt),
      ),
    )
    .orderBy(asc(referenceScript.dueAt), asc(referenceScript.id))
    .limit(1);
  return row;
}

/** Gives up what a wallet has not done for a source that was removed. */
export function failScriptWithoutSource(
  db: Database,
  row: ReferenceScriptRow,
  now: number,
): Promise<void> {
  const error = "its payment source was removed";
  const change = { state: "Failed", error, dueAt: null } as const;
  return changeReferenceScripts(db, [updateReferenceScript(db, row, change, now)]);
}
