import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database, Statement } from "../../db/client.ts";
import { nextRevisionSql } from "../../db/revision.ts";
import { ApiError } from "../../http/errors.ts";
import type { DueWalletFinder } from "../../wallets/queue/due-wallets.ts";
import {
  createTask,
  type TaskState,
  taskJoinCondition,
  upsertTasks,
} from "../../wallets/queue/store.ts";
import { type WalletTask, walletTask } from "../../wallets/queue/tables.ts";
import type { WithdrawalRequest } from "./schemas.ts";
import { DISPUTE_FEATURE, disputeProposal, type ProposalRow } from "./tables.ts";

/** Columns that change during the life of a proposal. */
export type ProposalChange = Partial<
  Pick<ProposalRow, "state" | "signatures" | "txHash" | "error">
>;

/** The statement that changes a row as it was read; it aborts its batch when the row has changed. */
export function updateProposal(
  db: Database,
  { id, revision }: Pick<ProposalRow, "id" | "revision">,
  change: ProposalChange,
  now: number,
): Statement {
  return db.orm
    .update(disputeProposal)
    .set({
      ...change,
      updatedAt: now,
      revision: nextRevisionSql(disputeProposal.revision, revision),
    })
    .where(eq(disputeProposal.id, id))
    .toSQL();
}

/** Builds the statements that insert a proposal and open its task, if it has one. */
export function insertProposal(db: Database, { task, ...row }: ProposalRow): Statement[] {
  return [db.orm.insert(disputeProposal).values(row).toSQL(), ...upsertTasks(task ? [task] : [])];
}

/** The task that settles a proposal. @param now - epoch milliseconds */
export function toDisputeTask(
  row: Omit<ProposalRow, "task">,
  state: TaskState,
  now: number,
): WalletTask {
  return { ...createTask(DISPUTE_FEATURE, row, row.id, now), ...state };
}

/** Proposals with their tasks. */
function selectProposals(db: Database) {
  return db.orm
    .select({ ...getTableColumns(disputeProposal), task: walletTask })
    .from(disputeProposal)
    .leftJoin(walletTask, taskJoinCondition(disputeProposal.id, DISPUTE_FEATURE));
}

export async function readProposals(db: Database, ids: readonly string[]): Promise<ProposalRow[]> {
  return selectProposals(db).where(
    sql`${disputeProposal.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
  );
}

/** @throws ApiError 404 */
export async function requireProposal(
  db: Database,
  { network, proposalId }: WithdrawalRequest,
): Promise<ProposalRow> {
  const [row] = await readProposals(db, [proposalId]);
  if (row?.network !== network) throw new ApiError(404, "proposalId: there is no such proposal");
  return row;
}

/** The proposals of some escrows that no other took the place of, the newest first. */
export async function listProposals(
  db: Database,
  identifierHashes: readonly string[],
): Promise<ProposalRow[]> {
  const hashes = JSON.stringify(identifierHashes);
  return selectProposals(db)
    .where(
      and(
        sql`${disputeProposal.identifierHash} IN (SELECT value FROM json_each(${hashes}))`,
        sql`${disputeProposal.state} NOT IN ('Replaced', 'Withdrawn')`,
      ),
    )
    .orderBy(desc(disputeProposal.id));
}

/** Those of some sources' outputs for which a proposal waits, as `<source>:<output>`, with its id. */
export async function findOpenProposals(
  db: Database,
  rows: readonly Pick<ProposalRow, "sourceId" | "output">[],
): Promise<Map<string, string>> {
  const outputs = JSON.stringify(rows.map(({ output }) => output.utxo));
  const found = await db.all<{ id: string; sourceId: string; utxo: string }>(
    `SELECT id, source_id AS sourceId, output->>'utxo' AS utxo FROM dispute_proposal
     WHERE state IN ('Collecting', 'SettleRequested')
       AND output->>'utxo' IN (SELECT value FROM json_each(?))`,
    outputs,
  );
  return new Map(found.map(({ id, sourceId, utxo }) => [`${sourceId}:${utxo}`, id]));
}

/** Whether the output that a proposal settles is still its escrow's, as far as the chain has been followed. */
export async function isOutputUnspent(
  db: Database,
  row: Pick<ProposalRow, "sourceId" | "output">,
): Promise<boolean> {
  const found = await db.all(
    "SELECT 1 FROM escrow WHERE source_id = ? AND utxo = ? LIMIT 1",
    row.sourceId,
    row.output.utxo,
  );
  return found.length > 0;
}

/**
 * Names of the outputs of a network's wallets that pay for settlements while these are signed.
 *
 * @param without - ids of proposals that do not count
 */
export async function listReservedOutputs(
  db: Database,
  network: Network,
  without: readonly string[] = [],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ name: string }>(
    `SELECT reserved_output AS name FROM dispute_proposal
     WHERE network = ? AND reserved_output IS NOT NULL AND state IN ('Collecting', 'SettleRequested')
       AND id NOT IN (SELECT value FROM json_each(?))`,
    network,
    JSON.stringify(without),
  );
  return new Set(rows.map(({ name }) => name));
}

/** The wallets with a settlement that waits for a time, on a chain whose clock is not the wall clock. */
export const findWalletsWithSettlements: DueWalletFinder = (db) =>
  db.all(
    `SELECT DISTINCT network, wallet_vkey AS vkey FROM wallet_task
     WHERE due_at IS NOT NULL AND feature = ?`,
    DISPUTE_FEATURE,
  );
