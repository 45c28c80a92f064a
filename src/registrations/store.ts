import { and, asc, desc, eq, inArray, isNotNull, like, lt, or, sql } from "drizzle-orm";
import type { Network, PaymentSourceType } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { nextRevision } from "../db/revision.ts";
import { walletsDueIn } from "../wallets/due.ts";
import { reopenTransactions } from "../wallets/spending/stored/transactions.ts";
import { StaleWallet } from "../wallets/spending/stored/wallet.ts";
import { returnFunding } from "./funding-charge.ts";
import type { RegistrationKind, RegistrationState } from "./states.ts";
import { type RegistrationChange, type RegistrationRow, registration } from "./tables.ts";

/** The registration was changed since it was read: read it again, then decide. */
export class StaleRegistration extends StaleWallet {
  override name = "StaleRegistration";
}

/** The statement that inserts a registration. */
export function insertRegistration(db: Database, row: typeof registration.$inferInsert): Statement {
  return db.orm.insert(registration).values(row).toSQL();
}

/**
 * The statements that update a registration as it was read; they abort their batch when the row has
 * changed. A change that ends a registration without a token gives back what it charged.
 *
 * @param op - identifies the write, so that one whose answer was lost can be told from a stale one
 */
export function updateRegistration(
  db: Database,
  row: RegistrationRow,
  change: RegistrationChange,
  now: number,
  op: string = newId(now),
): Statement[] {
  const update = db.orm
    .update(registration)
    .set({
      ...change,
      updatedAt: now,
      rev: nextRevision(registration.rev, row.rev),
      lastOp: op,
    })
    .where(eq(registration.id, row.id))
    .toSQL();
  return [update, ...returnFunding(row, change)];
}

/**
 * Updates a registration as it was read.
 *
 * @param db - with `writes: "idempotent"`
 * @returns the updated row
 * @throws StaleRegistration
 */
export async function moveRegistration(
  db: Database,
  row: RegistrationRow,
  change: RegistrationChange,
  now: number,
): Promise<RegistrationRow> {
  const op = newId(now);
  try {
    await db.batch(updateRegistration(db, row, change, now, op));
  } catch (error) {
    if (!violates(error, "registration.rev")) throw error;
    const current = await readRegistration(db, row.id);
    // A violated `rev` alone may come from any write. `op` was made for this write, so it is stored
    // only if this write was applied; a later write by others makes our next one fail.
    if (current?.lastOp !== op) throw new StaleRegistration("the registration was moved meanwhile");
  }
  return { ...row, ...change, updatedAt: now, rev: row.rev + 1, lastOp: op };
}

/**
 * Makes the wallets look again for transactions above a height that were rolled back, for the batch
 * of the rollback. One that is mined again is confirmed again; else its bytes are resent while they
 * are valid, and then another is built.
 *
 * @param agentIdentifiers - of the tokens that were minted or burned up there
 * @param now - epoch milliseconds
 */
export function reopenRegistrations(
  network: Network,
  agentIdentifiers: string[],
  above: number,
  now: number,
): Statement[] {
  const undone = statement(
    `FROM registration WHERE agent_identifier IN (SELECT value FROM json_each(?)) AND network = ?
       AND state IN ('RegistrationConfirmed', 'DeregistrationConfirmed')
       AND tx->>'blockHeight' > ?`,
    JSON.stringify(agentIdentifiers),
    network,
    above,
  );
  return [
    ...reopenTransactions({ ...undone, sql: `SELECT tx->>'hash' ${undone.sql}` }, now),
    statement(
      `UPDATE registration SET state = replace(state, 'Confirmed', 'Initiated'), due_at = ?,
         tx = json_set(tx, '$.status', 'Pending', '$.blockHeight', NULL, '$.blockTime', NULL),
         updated_at = ?, rev = rev + 1
       WHERE id IN (SELECT id ${undone.sql})`,
      now,
      now,
      ...undone.params,
    ),
  ];
}

export async function readRegistration(
  db: Database,
  id: string,
): Promise<RegistrationRow | undefined> {
  const [row] = await db.orm.select().from(registration).where(eq(registration.id, id));
  return row;
}

/** The newest registration of a token. */
export async function findRegistration(
  db: Database,
  kind: RegistrationKind,
  network: Network,
  agentIdentifier: string,
): Promise<RegistrationRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(registration)
    .where(
      and(
        eq(registration.agentIdentifier, agentIdentifier),
        eq(registration.kind, kind),
        eq(registration.network, network),
      ),
    )
    .orderBy(desc(registration.id))
    .limit(1);
  return row;
}

export async function readRegistrations(
  db: Database,
  ids: readonly string[],
): Promise<RegistrationRow[]> {
  if (ids.length === 0) return [];
  return db.orm
    .select()
    .from(registration)
    .where(sql`${registration.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
}

/** Of a wallet, and not at its end. */
function hasWork(network: Network, vkey: string) {
  return and(
    eq(registration.network, network),
    eq(registration.walletVkey, vkey),
    isNotNull(registration.dueAt),
  );
}

/** What a wallet has to do for a source, what has waited longest first; it may not be due yet. */
export function dueRegistrations(
  db: Database,
  { network, vkey, sourceId }: { network: Network; vkey: string; sourceId: string },
  limit: number,
): Promise<RegistrationRow[]> {
  return db.orm
    .select()
    .from(registration)
    .where(
      and(
        hasWork(network, vkey),
        eq(registration.sourceId, sourceId),
        like(registration.state, "%Requested"),
      ),
    )
    .orderBy(asc(registration.dueAt), asc(registration.id))
    .limit(limit);
}

/**
 * The registration whose source a wallet works for next: the one that has waited longest for a
 * transaction, or else any whose transaction is under way.
 */
export async function nextOfWallet(
  db: Database,
  network: Network,
  vkey: string,
): Promise<RegistrationRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(registration)
    .where(hasWork(network, vkey))
    .orderBy(
      desc(like(registration.state, "%Requested")),
      asc(registration.dueAt),
      asc(registration.id),
    )
    .limit(1);
  return row;
}

/**
 * Registrations with a transaction that their wallet does not know: an earlier version of the
 * service stored it, or the network has what a restored database has lost.
 */
export function unknownToWallet(
  db: Database,
  network: Network,
  vkey: string,
): Promise<RegistrationRow[]> {
  return db.orm
    .select()
    .from(registration)
    .where(
      and(
        hasWork(network, vkey),
        isNotNull(registration.tx),
        sql`NOT EXISTS (SELECT 1 FROM wallet_transaction WHERE hash = ${registration.tx}->>'hash')`,
      ),
    )
    .orderBy(asc(registration.id));
}

/** Wallets with work due. */
export const dueWallets = walletsDueIn("registration");

export interface ListFilters {
  network: Network;
  limit: number;
  cursorId?: string | undefined;
  states?: readonly RegistrationState[] | undefined;
  agentIdentifier?: string | undefined;
  contractAddress?: string | undefined;
  sourceType?: PaymentSourceType | undefined;
  /** Only of these wallets, by payment key hash; null: of any. */
  walletVkeys: readonly string[] | null;
  /** Part of the name, case-insensitive, or the whole id or identifier. */
  search?: string | undefined;
}

/** One page, newest first by id, after `cursorId`. */
export function listRegistrations(
  db: Database,
  kind: RegistrationKind,
  {
    network,
    limit,
    cursorId,
    states,
    agentIdentifier,
    contractAddress,
    sourceType,
    walletVkeys,
    search,
  }: ListFilters,
): Promise<RegistrationRow[]> {
  return db.orm
    .select()
    .from(registration)
    .where(
      and(
        eq(registration.kind, kind),
        eq(registration.network, network),
        cursorId === undefined ? undefined : lt(registration.id, cursorId),
        states && inArray(registration.state, [...states]),
        agentIdentifier === undefined
          ? undefined
          : eq(registration.agentIdentifier, agentIdentifier.toLowerCase()),
        contractAddress === undefined
          ? undefined
          : eq(registration.contractAddress, contractAddress.toLowerCase()),
        walletVkeys ? inArray(registration.walletVkey, [...walletVkeys]) : undefined,
        sourceType && eq(registration.sourceType, sourceType),
        search === undefined
          ? undefined
          : or(
              sql`instr(lower(${registration.name}), lower(${search})) > 0`,
              eq(registration.id, search),
              eq(registration.agentIdentifier, search.toLowerCase()),
            ),
      ),
    )
    .orderBy(desc(registration.id))
    .limit(limit);
}
