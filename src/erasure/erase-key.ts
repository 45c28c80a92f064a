import { findEnvAdmin } from "../api-keys/api-key-record.ts";
import { ENV_ADMIN_ID } from "../api-keys/find-key.ts";
import { requireActiveAdmin } from "../api-keys/update-key.ts";
import { listUsedArchives } from "../archive/open-archives.ts";
import { type Statement, statement, violates } from "../db/client.ts";
import { openRecordDatabases } from "../db/record-databases.ts";
import { UNFINISHED_CONDITION } from "../escrow/store/predicates.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { cancelDeliveries } from "../webhooks/endpoints/cancel-deliveries.ts";
import { storeErasureJob } from "./continue-erasures.ts";
import { buildErasure } from "./erasures.ts";
import type { ErasureResult } from "./schemas.ts";
import { listStayingData } from "./staying-data.ts";

/** What a key must have none of before its data is erased. */
interface OpenBusiness {
  escrows: number;
  charges: number;
  payments: number;
}

/**
 * SQL that counts what is open of the key `?1`. Each part walks a partial index, whose rows are those
 * that are open. An escrow with an invalid lock ends with its time to pay, since no step follows.
 */
const OPEN_BUSINESS_SQL = {
  escrows: `(SELECT count(*) FROM (
    SELECT id FROM escrow INDEXED BY escrow_unfinished WHERE requested_by_id = ?1
      AND ${UNFINISHED_CONDITION}
      AND (expired_at IS NULL OR on_chain_state IS NOT 'FundsOrDatumInvalid')
    UNION SELECT id FROM escrow INDEXED BY escrow_intent
      WHERE requested_by_id = ?1 AND intent IS NOT NULL
    UNION SELECT id FROM escrow INDEXED BY escrow_initiated
      WHERE requested_by_id = ?1 AND requested_action GLOB '*Initiated'))`,
  charges: `(SELECT count(*) FROM escrow INDEXED BY escrow_held
    WHERE requested_by_id = ?1 AND charge = 'held' AND expired_at IS NOT NULL
      AND coalesce(on_chain_state, 'FundsOrDatumInvalid') = 'FundsOrDatumInvalid')`,
  payments: `(SELECT count(*) FROM (
    SELECT id FROM x402_payment_attempt INDEXED BY x402_attempt_open
      WHERE api_key_id = ?1 AND direction = 'InboundSettle' AND status = 'Verified'
    UNION SELECT id FROM x402_payment_attempt INDEXED BY x402_attempt_watched
      WHERE api_key_id = ?1 AND watched_until IS NOT NULL))`,
} as const satisfies Record<keyof OpenBusiness, string>;

/**
 * Revokes a key and removes its personal data, in one batch that aborts while the key has open business.
 * A repeat removes what is left. The cron removes the rest of long histories, and what late requests wrote.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404 for an unknown key. 409 while its business is open, and for the key of `ADMIN_KEY`
 *   and the last active Admin key.
 */
export async function eraseKey(c: AppContext, keyId: string, now: number): Promise<ErasureResult> {
  if (keyId === ENV_ADMIN_ID && findEnvAdmin(c.env))
    throw new ApiError(
      409,
      "apiKeyId: is the key of the secret ADMIN_KEY. Change it with a deployment.",
    );
  const { deadline } = c.var;
  const [database] = openRecordDatabases(c.env, { writes: "idempotent", deadline });
  const [key] = await database.all<OpenBusiness>(
    `SELECT ${Object.entries(OPEN_BUSINESS_SQL)
      .map(([name, sql]) => `${sql} AS ${name}`)
      .join(", ")} FROM api_key WHERE id = ?1`,
    keyId,
  );
  if (!key) throw new ApiError(404, "apiKeyId: there is no such API key");
  if (Object.values(key).some((count) => count > 0)) throw createOpenBusinessError(key);

  const erasure = buildErasure(keyId, now);
  const statements = [
    revokeKey(keyId, now),
    ...requireActiveAdmin(c.env, keyId),
    cancelDeliveries({ sql: "e.created_by_id = ?", params: [keyId] }),
    storeErasureJob(keyId, now),
  ];
  let results: D1Result[] | null;
  try {
    const entry = { action: "api-key.erase", target: keyId, now } as const;
    results = await commitWithAudit(c, database, entry, [...erasure.statements, ...statements]);
  } catch (error) {
    // The key began something since it was read.
    if (violates(error, "api_key.updated_at")) throw createOpenBusinessError(null);
    if (violates(error, "api_key.status"))
      throw new ApiError(
        409,
        "apiKeyId: is the last active Admin key. Create another Admin key first.",
      );
    throw error;
  }
  const { erased, isComplete } = erasure.count(results);
  return {
    apiKeyId: keyId,
    erasedAt: toIsoTime(now),
    // The cron asks the archives.
    isComplete: isComplete && (await listUsedArchives(database)).length === 0,
    Erased: erased,
    Stays: listStayingData(c.env, now).map((data) => ({
      ...data,
      until: data.until === null ? null : toIsoTime(data.until),
    })),
  };
}

/** Revokes and hides a key; aborts the batch (`api_key.updated_at`) when it has open business. */
function revokeKey(keyId: string, now: number): Statement {
  const isIdle = Object.values(OPEN_BUSINESS_SQL)
    .map((sql) => `${sql} = 0`)
    .join(" AND ");
  return statement(
    `UPDATE api_key SET status = 'Revoked', deleted_at = ifnull(deleted_at, ?2),
       updated_at = iif(${isIdle}, ?2, NULL)
     WHERE id = ?1`,
    keyId,
    now,
  );
}

/** @param open - null: something, which was not counted */
function createOpenBusinessError(open: OpenBusiness | null): ApiError {
  const found = open
    ? `${open.escrows} unfinished escrows, ${open.charges} held charges and ${open.payments} open x402 payments`
    : "an unfinished escrow, a held charge or an open x402 payment";
  return new ApiError("wrong_state", `apiKeyId: has ${found}. Wait until all have ended.`);
}
