import { and, asc, desc, eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import type { ChainClock } from "../../chain/chain-time.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, violates } from "../../db/client.ts";
import { nextRevision } from "../../db/revision.ts";
import { type DueWallets, walletsDueIn } from "../../wallets/due.ts";
import { StaleWallet } from "../../wallets/spending/stored/wallet.ts";
import { ITS_TURN, type WaitingTasks, waitingRecords } from "../../wallets/waiting.ts";
import type { LiveOutput } from "../record.ts";
import { DISPUTE_WORK, disputeProposal, type ProposalRow, type ProposalState } from "./tables.ts";

/** Columns that change during the life of a proposal. */
export type ProposalChange = Partial<
  Pick<ProposalRow, "state" | "signatures" | "txHash" | "error" | "failures" | "dueAt">
>;

/** Name of the output that a proposal settles. */
export const utxoOf = ({ output }: Pick<ProposalRow, "output">) =>
  (JSON.parse(output) as LiveOutput).utxo;

/** The statement that changes a row as it was read; it aborts its batch when the row has changed. */
export function updateProposal(
  db: Database,
  { id, rev }: Pick<ProposalRow, "id" | "rev">,
  change: ProposalChange,
  now: number,
): Statement {
  return db.orm
    .update(disputeProposal)
    .set({
      ...change,
      updatedAt: now,
      rev: nextRevision(disputeProposal.rev, rev),
    })
    .where(eq(disputeProposal.id, id))
    .toSQL();
}

/** @throws StaleWallet when a row has changed since it was read */
export async function changeProposals(
  db: Database,
  statements: readonly Statement[],
): Promise<void> {
  if (statements.length === 0) return;
  try {
    await db.batch([...statements]);
  } catch (error) {
    if (!violates(error, "dispute_proposal.rev")) throw error;
    throw new StaleWallet("a proposal was changed meanwhile");
  }
}

/** As rows name them; each run of a wallet reads them, and building a typed query takes longer than it. */
const COLUMNS = Object.entries(getTableColumns(disputeProposal))
  .map(([key, { name }]) => `${name} AS ${key}`)
  .join(", ");

/** What a wallet has to settle, what has waited longest first. */
export function openProposals(
  db: Database,
  { network, vkey, sourceId }: { network: Network; vkey: string; sourceId: string },
): Promise<ProposalRow[]> {
  return db.all<ProposalRow>(
    `SELECT ${COLUMNS} FROM dispute_proposal
     WHERE network = ? AND wallet_vkey = ? AND source_id = ? AND due_at IS NOT NULL
     ORDER BY due_at, id`,
    ...[network, vkey, sourceId],
  );
}

export async function readProposals(db: Database, ids: readonly string[]): Promise<ProposalRow[]> {
  return db.orm
    .select()
    .from(disputeProposal)
    .where(sql`${disputeProposal.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
}

/** The proposals of some escrows that no other took the place of, the newest first. */
export async function proposalsOf(
  db: Database,
  identifierHashes: readonly string[],
): Promise<ProposalRow[]> {
  const hashes = JSON.stringify(identifierHashes);
  return db.orm
    .select()
    .from(disputeProposal)
    .where(
      and(
        sql`${disputeProposal.identifierHash} IN (SELECT value FROM json_each(${hashes}))`,
        sql`${disputeProposal.state} NOT IN ('Replaced', 'Withdrawn')`,
      ),
    )
    .orderBy(desc(disputeProposal.id));
}

/** Those of some sources' outputs for which a proposal waits, as `<source>:<output>`, with its id. */
export async function waitingFor(
  db: Database,
  rows: readonly Pick<ProposalRow, "sourceId" | "output">[],
): Promise<Map<string, string>> {
  const outputs = JSON.stringify(rows.map(utxoOf));
  const found = await db.all<{ id: string; sourceId: string; utxo: string }>(
    `SELECT id, source_id AS sourceId, output->>'utxo' AS utxo FROM dispute_proposal
     WHERE state IN ('Collecting', 'SettleRequested')
       AND output->>'utxo' IN (SELECT value FROM json_each(?))`,
    outputs,
  );
  return new Map(found.map(({ id, sourceId, utxo }) => [`${sourceId}:${utxo}`, id]));
}

/** Whether the output that a proposal settles is still its escrow's, as far as the chain has been followed. */
export async function isHeld(
  db: Database,
  row: Pick<ProposalRow, "sourceId" | "output">,
): Promise<boolean> {
  const found = await db.all(
    "SELECT 1 FROM escrow WHERE source_id = ? AND utxo = ? LIMIT 1",
    row.sourceId,
    utxoOf(row),
  );
  return found.length > 0;
}

/**
 * Names of the outputs of a network's wallets that pay for settlements while these are signed.
 *
 * @param without - ids of proposals that do not count
 */
export async function outputsSetAside(
  db: Database,
  network: Network,
  without: readonly string[] = [],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ name: string }>(
    `SELECT set_aside AS name FROM dispute_proposal
     WHERE network = ? AND set_aside IS NOT NULL AND state IN ('Collecting', 'SettleRequested')
       AND id NOT IN (SELECT value FROM json_each(?))`,
    network,
    JSON.stringify(without),
  );
  return new Set(rows.map(({ name }) => name));
}

const withSettlements = walletsDueIn("dispute_proposal");

/**
 * Wallets with a dispute to settle.
 *
 * @param clock - of a chain in another time nobody here knows what is due: the wallets ask it
 */
export function walletsWithSettlements(clock: ChainClock): DueWallets {
  return (db, now) => withSettlements(db, clock === "wall" ? now : Number.MAX_SAFE_INTEGER);
}

const WAITING = { table: "dispute_proposal", states: "*", pays: "NULL" };

/** Settlements whose transaction is not sent yet; of Web3ChainV1 an output of the wallet waits as well. */
export const waitingSettlements: WaitingTasks = async (...asked) => {
  const records = await waitingRecords<ProposalState>(WAITING, ...asked);
  return records.map(({ id, vkey, state, error, dueAt }) => ({
    ...{ id, vkey, dueAt },
    feature: DISPUTE_WORK,
    reason:
      error ??
      (state === "Collecting"
        ? "waits for administrators' signatures, with an output set aside to pay for it"
        : ITS_TURN),
  }));
};

/** What a wallet settles next; it may not be due yet. */
export async function nextSettlement(
  db: Database,
  network: Network,
  vkey: string,
): Promise<ProposalRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(disputeProposal)
    .where(
      and(
        eq(disputeProposal.network, network),
        eq(disputeProposal.walletVkey, vkey),
        isNotNull(disputeProposal.dueAt),
      ),
    )
    .orderBy(asc(disputeProposal.dueAt), asc(disputeProposal.id))
    .limit(1);
  return row;
}

/** Gives up what a wallet has not settled for a source that was removed. */
export function failSettlementWithoutSource(
  db: Database,
  row: ProposalRow,
  now: number,
): Promise<void> {
  const error = "its payment source was removed";
  return changeProposals(db, [
    updateProposal(db, row, { state: "Failed", error, dueAt: null }, now),
  ]);
}
