import { type Database, openDb, type Statement, statement, violates } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import {
  type ApiKeyRow,
  findEnvAdmin,
  readKeyRow,
  requireWallets,
  toApiKeyRecord,
} from "./api-key-record.ts";
import { ENV_ADMIN_ID } from "./find-key.ts";
import type { ApiKeyRecord, UpdateApiKeyBody } from "./schemas.ts";

/**
 * Changes the fields sent. The change takes effect everywhere within ten seconds, since isolates
 * cache keys for eight.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404 for an unknown key or wallet. 409 when no active Admin would be left, or
 *   when the   key has used more credits than the new limit.
 */
export async function updateKey(
  c: AppContext,
  { id, ...changes }: UpdateApiKeyBody,
  now: number,
): Promise<ApiKeyRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  await readChangeableKey(c, database, id);
  const { status, permission, usageLimited, maxUsageCredits, canPay, networkLimit } = changes;
  const { name, walletLimit, spendingLimits, returnAddresses } = changes;
  await requireWallets(database, walletLimit);
  const update = statement(
    `UPDATE api_key SET
       updated_at = iif(deleted_at IS NULL, ?2, NULL),
       status = ifnull(?3, status), permission = ifnull(?4, permission),
       usage_limited = ifnull(?5, usage_limited), max_usage_credits = ifnull(?6, max_usage_credits),
       can_pay = ifnull(?7, can_pay), network_limit = ifnull(?8, network_limit),
       wallet_limit = iif(?9, ?10, wallet_limit),
       spending_limits = iif(?11, ?12, spending_limits),
       return_addresses = ifnull(?13, return_addresses), name = ifnull(?14, name)
     WHERE id = ?1`,
    id,
    now,
    status ?? null,
    permission ?? null,
    toSqlBoolean(usageLimited),
    maxUsageCredits ?? null,
    toSqlBoolean(canPay),
    networkLimit ? JSON.stringify(networkLimit) : null,
    Number(walletLimit !== undefined),
    walletLimit ? JSON.stringify(walletLimit) : null,
    Number(spendingLimits !== undefined),
    spendingLimits ? JSON.stringify(spendingLimits) : null,
    returnAddresses ? JSON.stringify(returnAddresses) : null,
    name ?? null,
  );
  await commitKeyChange(
    c,
    database,
    { action: "api-key.update", target: id, detail: changes, now },
    update,
  );
  return toApiKeyRecord(await requireKeyRow(database, id));
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
  await commitKeyChange(c, database, { action: "api-key.delete", target: id, now }, update);
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

function createUnknownKeyError(): ApiError {
  return new ApiError(404, "id: there is no such API key");
}

async function commitKeyChange(
  c: AppContext,
  database: Database,
  entry: Parameters<typeof commitWithAudit>[2],
  update: Statement,
): Promise<void> {
  try {
    await commitWithAudit(c, database, entry, [update, ...requireActiveAdmin(c.env, entry.target)]);
  } catch (error) {
    if (violates(error, "api_key.updated_at")) throw createUnknownKeyError();
    if (violates(error, "api_key.status"))
      throw new ApiError(409, "id: is the last active Admin key. Create another Admin key first.");
    if (violates(error, "CHECK"))
      throw new ApiError(409, "maxUsageCredits: must be at least the credits already used");
    throw error;
  }
}

/** Aborts a batch that leaves no active Admin. */
function requireActiveAdmin(env: { ADMIN_KEY?: string }, id: string): Statement[] {
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

function toSqlBoolean(flag: boolean | undefined): number | null {
  return flag === undefined ? null : Number(flag);
}
