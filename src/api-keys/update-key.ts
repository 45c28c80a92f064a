import { eq, sql } from "drizzle-orm";
import { type Database, openDb, type Statement, statement, violates } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import {
  type ApiKeyRow,
  findEnvAdmin,
  type KeySettings,
  readKeyRow,
  requireWallets,
  toApiKeyRecord,
  toKeySettings,
} from "./api-key-record.ts";
import { ENV_ADMIN_ID } from "./find-key.ts";
import type { ApiKeyRecord, KeyChanges, SpendingLimit, UpdateApiKeyBody } from "./schemas.ts";
import {
  addToSpendingLimits,
  createOverspentError,
  isSpendingLimitExceeded,
  readSpending,
  requireLimitsAboveSpending,
} from "./spending-limits.ts";
import { apiKey } from "./tables.ts";
import { hashToken, maskToken } from "./token.ts";

/**
 * Changes the fields sent. Isolates cache keys for eight seconds. The change takes effect
 * everywhere within ten.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404 for an unknown key or wallet. 409 when no active Admin would be left, or
 *   when the key has used more credits than the new limit. 400 for a token that another key has, or
 *   a limit below what the key has spent.
 */
export async function updateKey(
  c: AppContext,
  { id, ...changes }: UpdateApiKeyBody,
  now: number,
): Promise<ApiKeyRecord> {
  return changeKey(c, id, () => changes, now);
}

/** Other changes of the same key, in the time of one request. */
const MAX_CHANGE_ATTEMPTS = 10;

/**
 * The same for changes that follow from the bounds that the key has. They are found again when another
 * request changes these bounds meanwhile.
 */
export async function changeKey(
  c: AppContext,
  id: string,
  toChanges: (key: KeySettings) => KeyChanges,
  now: number,
): Promise<ApiKeyRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  for (let attempt = 1; ; attempt++) {
    const row = await readChangeableKey(c, database, id);
    const changes = toChanges(toKeySettings(row));
    try {
      await writeKeyChanges(c, database, row, changes, now);
      return toApiKeyRecord(await requireKeyRow(database, id));
    } catch (error) {
      const isOutdated = violates(error, "api_key.permission");
      if (!isOutdated || attempt === MAX_CHANGE_ATTEMPTS) throw error;
    }
  }
}

async function writeKeyChanges(
  c: AppContext,
  database: Database,
  row: ApiKeyRow,
  changes: KeyChanges,
  now: number,
): Promise<void> {
  const { status, permission, usageLimited, maxUsageCredits, canPay, networkLimit } = changes;
  const { name, walletLimit, returnAddresses, newToken } = changes;
  if (newToken !== undefined && newToken === c.env.ADMIN_KEY) throw createTokenTakenError();
  await requireWallets(database, walletLimit);
  const { spendingLimits, changed } = await findSpendingLimits(database, row, changes);
  const isAsRead = sql`(permission, can_pay, usage_limited, network_limit) = (${row.permission},
      ${Number(row.canPay)}, ${Number(row.usageLimited)}, ${row.networkLimit})
    AND wallet_limit IS ${row.walletLimit} AND spending_limits IS ${row.spendingLimits}`;
  const update = database.orm
    .update(apiKey)
    .set({
      ...{ name, status, usageLimited, maxUsageCredits, canPay },
      permission: sql`iif(${isAsRead}, ${permission ?? row.permission}, NULL)`,
      networkLimit: networkLimit && JSON.stringify(networkLimit),
      walletLimit: walletLimit && JSON.stringify(walletLimit),
      spendingLimits: spendingLimits && JSON.stringify(spendingLimits),
      returnAddresses: returnAddresses && JSON.stringify(returnAddresses),
      tokenHash: newToken && (await hashToken(c.env, newToken)),
      maskedToken: newToken && maskToken(newToken),
      updatedAt: sql`iif(deleted_at IS NULL, ${now}, NULL)`,
    })
    .where(eq(apiKey.id, row.id))
    .toSQL();
  const detail = newToken === undefined ? changes : { ...changes, newToken: maskToken(newToken) };
  await commitKeyChange(c, database, { action: "api-key.update", target: row.id, detail, now }, [
    update,
    ...requireLimitsAboveSpending(row.id, changed),
  ]);
}

/**
 * The limits that a change sets, and those of them that it adds to.
 *
 * @throws ApiError 400
 */
async function findSpendingLimits(
  database: Database,
  row: ApiKeyRow,
  { spendingLimits, spendingLimitChanges = [] }: KeyChanges,
): Promise<{ spendingLimits?: SpendingLimit[] | null; changed: SpendingLimit[] }> {
  if (spendingLimitChanges.length === 0)
    return { ...(spendingLimits !== undefined && { spendingLimits }), changed: [] };
  const present = spendingLimits === undefined ? toKeySettings(row).spendingLimits : spendingLimits;
  if (present === null)
    throw new ApiError(400, "spendingLimitChanges: the key has no `spendingLimits` to change");
  const spending = await readSpending(database, row.id);
  const { limits, changed } = addToSpendingLimits(present, spendingLimitChanges, spending);
  return { spendingLimits: limits, changed };
}

/**
 * Revokes a key permanently and removes it from the list.
 *
 * @param now - epoch milliseconds
 * @returns the key's final state
 * @throws ApiError 404; 409 for the last active Admin
 */
export async function deleteKey(c: AppContext, id: string, now: number): Promise<ApiKeyRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const row = await readChangeableKey(c, database, id);
  const update = statement(
    `UPDATE api_key SET updated_at = iif(deleted_at IS NULL, ?2, NULL), deleted_at = ?2,
       status = 'Revoked'
     WHERE id = ?1`,
    id,
    now,
  );
  await commitKeyChange(c, database, { action: "api-key.delete", target: id, now }, [update]);
  return { ...toApiKeyRecord(row), status: "Revoked" };
}

async function readChangeableKey(
  c: AppContext,
  database: Database,
  id: string,
): Promise<ApiKeyRow> {
  if (id === ENV_ADMIN_ID && findEnvAdmin(c.env))
    throw new ApiError(409, "id: is the key of the secret ADMIN_KEY. Change it with a deployment.");
  return requireKeyRow(database, id);
}

async function requireKeyRow(database: Database, id: string): Promise<ApiKeyRow> {
  const row = await readKeyRow(database, id);
  if (!row) throw createUnknownKeyError();
  return row;
}

function createTokenTakenError(): ApiError {
  return new ApiError(400, "The new token belongs to another API key. Choose another one.");
}

function createUnknownKeyError(): ApiError {
  return new ApiError(404, "id: there is no such API key");
}

async function commitKeyChange(
  c: AppContext,
  database: Database,
  entry: Parameters<typeof commitWithAudit>[2],
  updates: Statement[],
): Promise<void> {
  try {
    await commitWithAudit(c, database, entry, [
      ...updates,
      ...requireActiveAdmin(c.env, entry.target),
    ]);
  } catch (error) {
    if (violates(error, "api_key.token_hash")) throw createTokenTakenError();
    if (isSpendingLimitExceeded(error)) throw createOverspentError();
    if (violates(error, "api_key.updated_at")) throw createUnknownKeyError();
    if (violates(error, "api_key.status"))
      throw new ApiError(409, "id: is the last active Admin key. Create another Admin key first.");
    if (violates(error, "CHECK"))
      throw new ApiError(409, "maxUsageCredits: must be at least the credits already used");
    throw error;
  }
}

/** Aborts a batch that leaves no active Admin (`api_key.status`). */
export function requireActiveAdmin(env: { ADMIN_KEY?: string }, id: string): Statement[] {
  if (env.ADMIN_KEY) return [];
  return [
    statement(
      `UPDATE api_key SET status = iif(EXISTS (SELECT 1 FROM api_key
         WHERE permission = 'Admin' AND status = 'Active' AND deleted_at IS NULL), status, NULL)
       WHERE id = ?`,
      id,
    ),
  ];
}
