import { and, asc, desc, eq, inArray, isNotNull, like, lt, or, sql } from "drizzle-orm";
import type { Network, PaymentSourceType } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import type { RegistrationKind, RegistrationState } from "./registration-states.ts";
import { type RegistrationRow, registration } from "./registration-tables.ts";

/** Somebody else moved the registration first: read again, then decide. Nothing was written. */
export class StaleRegistration extends Error {
  override name = "StaleRegistration";
}

/** Columns that change during a registration's life. */
export type RegistrationChange = Partial<
  Pick<
    RegistrationRow,
    | "state"
    | "error"
    | "agentIdentifier"
    | "wallet"
    | "walletVkey"
    | "seed"
    | "tx"
    | "txCbor"
    | "failures"
    | "dueAt"
    | "lastCheckedAt"
  >
>;

/** The statement that makes a registration. */
export function insertRegistration(db: Database, row: typeof registration.$inferInsert): Statement {
  return db.orm.insert(registration).values(row).toSQL();
}

/**
 * The statement that moves a registration on from what was read; it aborts its batch when the row
 * is another by then.
 *
 * @param op - names the write, so that one whose answer was lost can be told from a stale one
 */
export function updateRegistration(
  db: Database,
  row: RegistrationRow,
  change: RegistrationChange,
  now: number,
  op: string = newId(now),
): Statement {
  return db.orm
    .update(registration)
    .set({
      ...change,
      updatedAt: now,
      rev: sql`iif(${registration.rev} = ${row.rev}, ${registration.rev} + 1, NULL)`,
      lastOp: op,
    })
    .where(eq(registration.id, row.id))
    .toSQL();
}

/**
 * Moves a registration on from what was read.
 *
 * @param db - with `writes: "idempotent"`
 * @returns the row as it is then
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
    await db.batch([updateRegistration(db, row, change, now, op)]);
  } catch (error) {
    if (!violates(error, "registration.rev")) throw error;
    const current = await readRegistration(db, row.id);
    // The answer to our own write was lost, and it was sent again.
    if (current?.lastOp !== op) throw new StaleRegistration("the registration was moved meanwhile");
  }
  return { ...row, ...change, updatedAt: now, rev: row.rev + 1, lastOp: op };
}

/**
 * Has the wallets look again for transactions that stood above a height and are gone, for the batch
 * of a rollback. One that lands again is confirmed again; else its bytes are sent as long as they are
 * valid, and another is made after that.
 *
 * @param agentIdentifiers - of the tokens that were minted or burned up there
 * @param now - epoch milliseconds
 */
export function reopenRegistrations(
  network: Network,
  agentIdentifiers: string[],
  above: number,
  now: number,
): Statement {
  return statement(
    `UPDATE registration SET state = replace(state, 'Confirmed', 'Initiated'), due_at = ?1,
       tx = json_set(tx, '$.status', 'Pending', '$.blockHeight', NULL, '$.blockTime', NULL),
       updated_at = ?1, rev = rev + 1
     WHERE agent_identifier IN (SELECT value FROM json_each(?2)) AND network = ?3
       AND state IN ('RegistrationConfirmed', 'DeregistrationConfirmed')
       AND tx->>'blockHeight' > ?4`,
    now,
    JSON.stringify(agentIdentifiers),
    network,
    above,
  );
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

/**
 * What a wallet has to do next: the transaction that is under way, or else what has waited longest.
 * One at a time, so no two transactions of a wallet ever spend the same output.
 */
export async function nextOfWallet(
  db: Database,
  network: Network,
  vkey: string,
): Promise<RegistrationRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(registration)
    .where(
      and(
        eq(registration.network, network),
        eq(registration.walletVkey, vkey),
        isNotNull(registration.dueAt),
      ),
    )
    .orderBy(
      desc(like(registration.state, "%Initiated")),
      asc(registration.dueAt),
      asc(registration.id),
    )
    .limit(1);
  return row;
}

/** Wallets that have something to do by now. */
export function dueWallets(
  db: Database,
  now: number,
): Promise<{ network: Network; vkey: string }[]> {
  return db.all(
    `SELECT DISTINCT network, wallet_vkey AS vkey FROM registration
     WHERE due_at IS NOT NULL AND due_at <= ?`,
    now,
  );
}

export interface ListFilters {
  network: Network;
  limit: number;
  cursorId?: string | undefined;
  states?: readonly RegistrationState[] | undefined;
  agentIdentifier?: string | undefined;
  contractAddress?: string | undefined;
  sourceType?: PaymentSourceType | undefined;
  /** Part of the name, in any case of letters, or the id or the identifier as a whole. */
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

/** Height of the newest block seen; null before the first. */
export async function tipHeight(db: Database, network: Network): Promise<number | null> {
  const [row] = await db.all<{ height: number }>(
    "SELECT height FROM chain_tip WHERE network = ?",
    network,
  );
  return row?.height ?? null;
}
