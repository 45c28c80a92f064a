import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  inArray,
  lt,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Network, PaymentSourceType } from "../chain/network.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { reserveStamps, singleStampSql, stampSql } from "../db/clock.ts";
import { equalsIfGiven, isOneOf } from "../db/conditions.ts";
import { nextRevisionSql } from "../db/revision.ts";
import { createTask, taskJoinCondition, upsertTasks } from "../wallets/queue/store.ts";
import { type WalletTask, walletTask } from "../wallets/queue/tables.ts";
import { reopenTransactions } from "../wallets/spending/store/transactions.ts";
import { refundFunding } from "./funding-charge.ts";
import {
  REGISTRATION_FEATURE,
  type RegistrationKind,
  type RegistrationPurpose,
  type RegistrationState,
  taskIdOf,
} from "./states.ts";
import { type RegistrationChange, type RegistrationRow, registration } from "./tables.ts";

/** The change feed of states. */
const FEED = "registration";

/** Builds the statements that insert a registration and open its task. */
export function insertRegistration(db: Database, { task, ...row }: RegistrationRow): Statement[] {
  const stateChangedAt = singleStampSql(FEED, row.network);
  return [
    reserveStamps(FEED, row.network, 1, row.createdAt),
    db.orm
      .insert(registration)
      .values({ ...row, stateChangedAt })
      .toSQL(),
    ...upsertTasks(task ? [task] : []),
  ];
}

/** The task of a requested registration, update or deregistration. @param now - epoch milliseconds */
export function toRegistrationTask(
  row: Omit<RegistrationRow, "task">,
  purpose: RegistrationPurpose,
  now: number,
): WalletTask {
  return createTask(REGISTRATION_FEATURE, row, taskIdOf(row.id, purpose, now), now);
}

/**
 * Builds the statements that change a registration. They abort their batch if the row has changed. A change
 * that ends a registration without a token refunds its charge.
 */
export function updateRegistration(
  db: Database,
  row: RegistrationRow,
  change: RegistrationChange,
  now: number,
): Statement[] {
  const hasNewState = change.state !== undefined && change.state !== row.state;
  const update = db.orm
    .update(registration)
    .set({
      ...change,
      ...(hasNewState && { stateChangedAt: singleStampSql(FEED, row.network) }),
      updatedAt: now,
      revision: nextRevisionSql(registration.revision, row.revision),
    })
    .where(eq(registration.id, row.id))
    .toSQL();
  return [
    ...(hasNewState ? [reserveStamps(FEED, row.network, 1, now)] : []),
    update,
    ...refundFunding(row, change),
  ];
}

/**
 * Builds the statements that reopen registrations whose transactions were rolled back above a height. The
 * wallets look for the transactions again and resend them. After the end of their validity, they build
 * others.
 *
 * @param agentIdentifiers - tokens that were minted or burned above the height
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
       AND state IN ('RegistrationConfirmed', 'UpdateConfirmed', 'DeregistrationConfirmed')
       AND tx->>'blockHeight' > ?`,
    JSON.stringify(agentIdentifiers),
    network,
    above,
  );
  const at = stampSql(FEED, network, agentIdentifiers.length, "item.key");
  return [
    ...reopenTransactions({ ...undone, sql: `SELECT tx->>'hash' ${undone.sql}` }, now),
    statement(
      `INSERT INTO wallet_task (feature, subject_id, id, network, wallet_vkey, source_id, requested_at,
         due_at, attempts, reason_code, reason, updated_at)
       SELECT '${REGISTRATION_FEATURE}', id, tx->>'taskId', network, wallet_vkey, source_id, ?, NULL, 0, NULL, NULL, updated_at ${undone.sql}
       ON CONFLICT (feature, subject_id) DO NOTHING`,
      now,
      ...undone.params,
    ),
    reserveStamps(FEED, network, agentIdentifiers.length, now),
    statement(
      `UPDATE registration SET state = replace(state, 'Confirmed', 'Initiated'), state_changed_at = at,
         tx = json_set(tx, '$.status', 'Pending', '$.blockHeight', NULL, '$.blockTime', NULL),
         updated_at = ?, revision = revision + 1
       FROM (SELECT item.value AS undone, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE agent_identifier = undone AND id IN (SELECT id ${undone.sql})`,
      now,
      ...at.params,
      JSON.stringify(agentIdentifiers),
      ...undone.params,
    ),
  ];
}

/** Registrations with their tasks. */
function selectRegistrations(db: Database) {
  return db.orm
    .select({ ...getTableColumns(registration), task: walletTask })
    .from(registration)
    .leftJoin(walletTask, taskJoinCondition(registration.id, REGISTRATION_FEATURE));
}

export async function readRegistration(
  db: Database,
  id: string,
): Promise<RegistrationRow | undefined> {
  const [row] = await readRegistrations(db, [id]);
  return row;
}

/** The newest registration of a token. */
export async function findRegistration(
  db: Database,
  kind: RegistrationKind,
  network: Network,
  agentIdentifier: string,
): Promise<RegistrationRow | undefined> {
  const [row] = await selectRegistrations(db)
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

export function readRegistrations(
  db: Database,
  ids: readonly string[],
): Promise<RegistrationRow[]> {
  return selectRegistrations(db).where(isOneOf(registration.id, ids));
}

export interface RegistrationFilters {
  network: Network;
  states?: readonly RegistrationState[] | undefined;
  agentIdentifier?: string | undefined;
  contractAddress?: string | undefined;
  sourceType?: PaymentSourceType | undefined;
  /** Only of these wallets, by payment key hash; null: of any. */
  walletVkeys: readonly string[] | null;
  /** Part of the name, case-insensitive, or the whole id or identifier. */
  search?: string | undefined;
}

interface RegistrationPage extends RegistrationFilters {
  limit: number;
  cursorId?: string | undefined;
}

/** One page, newest first by id, after `cursorId`. */
export function listRegistrations(
  db: Database,
  kind: RegistrationKind,
  { limit, cursorId, ...filters }: RegistrationPage,
): Promise<RegistrationRow[]> {
  return selectRegistrations(db)
    .where(
      and(
        ...buildConditions(kind, filters),
        cursorId === undefined ? undefined : lt(registration.id, cursorId),
      ),
    )
    .orderBy(desc(registration.id))
    .limit(limit);
}

/**
 * One page of the registrations whose state changed since a point, oldest first. Of those with the
 * stamp `lastUpdate`, it has the ids from `cursorId` on.
 *
 * @param page - `lastUpdate` in epoch milliseconds
 */
export function listChangedRegistrations(
  db: Database,
  kind: RegistrationKind,
  { limit, cursorId, lastUpdate, ...filters }: RegistrationPage & { lastUpdate: number },
): Promise<RegistrationRow[]> {
  return (
    selectRegistrations(db)
      .where(
        and(
          ...buildConditions(kind, filters),
          sql`(${registration.stateChangedAt}, ${registration.id}) >= (${lastUpdate}, ${cursorId ?? ""})`,
        ),
      )
      .orderBy(asc(registration.stateChangedAt), asc(registration.id))
      // The cursor item is returned again: with limit 1 a client would not advance.
      .limit(cursorId === undefined ? limit : Math.max(limit, 2))
  );
}

/** The number of registrations in each state, without empty states. */
export function countRegistrations(
  db: Database,
  kind: RegistrationKind,
  filters: RegistrationFilters,
): Promise<{ state: RegistrationState; count: number }[]> {
  return db.orm
    .select({ state: registration.state, count: count() })
    .from(registration)
    .where(and(...buildConditions(kind, filters)))
    .groupBy(registration.state);
}

function buildConditions(
  kind: RegistrationKind,
  { network, states, walletVkeys, search, ...filters }: RegistrationFilters,
): (SQL | undefined)[] {
  return [
    eq(registration.kind, kind),
    eq(registration.network, network),
    states && inArray(registration.state, [...states]),
    equalsIfGiven(registration.agentIdentifier, filters.agentIdentifier?.toLowerCase()),
    equalsIfGiven(registration.contractAddress, filters.contractAddress?.toLowerCase()),
    walletVkeys ? inArray(registration.walletVkey, [...walletVkeys]) : undefined,
    equalsIfGiven(registration.sourceType, filters.sourceType),
    search === undefined
      ? undefined
      : or(
          sql`instr(lower(${registration.name}), lower(${search})) > 0`,
          eq(registration.id, search),
          eq(registration.agentIdentifier, search.toLowerCase()),
        ),
  ];
}
