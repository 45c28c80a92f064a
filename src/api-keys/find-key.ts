import { openDb, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import type { Caller, FindCaller } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { log } from "../log.ts";
import type { apiKey } from "./tables.ts";
import { hashToken } from "./token.ts";

/** The id of the key in the secret `ADMIN_KEY`. */
export const ENV_ADMIN_ID = "env-admin";

const MIN_ADMIN_KEY_LENGTH = 15;
/** A revocation takes effect everywhere within ten seconds: two are for requests in flight. */
const CACHE_TTL_MS = 8_000;
const MAX_CACHED_KEYS = 10_000;

/** Active keys by token hash. Others are never cached, so a new key works at once. */
const cachedCallers = new Map<string, { caller: Caller; until: number }>();

/**
 * Finds the active key of a token: the key of the environment, or a key of the table. The table is read
 * from the primary, and this isolate caches the key for eight seconds.
 *
 * @throws Error when `ADMIN_KEY` is set but too short
 */
export const findCaller: FindCaller = async (env, token, deadline, beforeLookUp) => {
  // Taken before the read, so that a cached entry is never older than its time says.
  const now = Date.now();
  const hash = await hashToken(env, token);
  if (await isAdminKey(env, hash)) return ENV_ADMIN;

  const cached = cachedCallers.get(hash);
  if (cached && cached.until > now) return cached.caller;
  cachedCallers.delete(hash);

  await beforeLookUp();
  const caller = await readCaller(env, hash, deadline, now);
  if (caller) {
    if (cachedCallers.size >= MAX_CACHED_KEYS) cachedCallers.clear();
    cachedCallers.set(hash, { caller, until: now + CACHE_TTL_MS });
  }
  return caller;
};

/**
 * Finds the id of a key by its token, whatever the key's status.
 *
 * @throws ApiError 404
 */
export async function findKeyId(env: Env, token: string, deadline: number): Promise<string> {
  const hash = await hashToken(env, token);
  if (await isAdminKey(env, hash)) return ENV_ADMIN_ID;
  const [row] = await openDb(env, undefined, { deadline }).all<{ id: string }>(
    "SELECT id FROM api_key WHERE token_hash = ? AND deleted_at IS NULL",
    hash,
  );
  if (!row) throw new ApiError(404, "token: there is no such API key");
  return row.id;
}

const ENV_ADMIN: Caller = {
  id: ENV_ADMIN_ID,
  permission: "Admin",
  canPay: true,
  networkLimit: null,
  isUsageLimited: false,
};

/** Compares hashes of equal length in constant time, so that timing reveals nothing. */
async function isAdminKey(env: Env, hash: string): Promise<boolean> {
  if (env.ADMIN_KEY === undefined || env.ADMIN_KEY === "") return false;
  if (env.ADMIN_KEY.length < MIN_ADMIN_KEY_LENGTH)
    throw new Error(`ADMIN_KEY must have at least ${MIN_ADMIN_KEY_LENGTH} characters`);
  const adminHash = await hashToken(env, env.ADMIN_KEY);
  return crypto.subtle.timingSafeEqual(Buffer.from(hash, "hex"), Buffer.from(adminHash, "hex"));
}

type CallerRow = Pick<
  typeof apiKey.$inferSelect,
  "id" | "permission" | "networkLimit" | "walletLimit" | "returnAddresses" | "lastUsedAt"
> &
  Record<"canPay" | "usageLimited" | "isSpendingLimited", number>;

async function readCaller(
  env: Env,
  hash: string,
  deadline: number,
  now: number,
): Promise<Caller | null> {
  const [row] = await openDb(env, undefined, { deadline }).all<CallerRow>(
    `SELECT id, permission, can_pay AS canPay, network_limit AS networkLimit,
       usage_limited AS usageLimited, wallet_limit AS walletLimit,
       spending_limits IS NOT NULL AS isSpendingLimited, return_addresses AS returnAddresses,
       last_used_at AS lastUsedAt
     FROM api_key WHERE token_hash = ? AND status = 'Active'`,
    hash,
  );
  if (!row) return null;
  await recordKeyUse(env, row.id, row.lastUsedAt, now);
  const isAdmin = row.permission === "Admin";
  return {
    id: row.id,
    permission: row.permission,
    canPay: isAdmin || row.canPay === 1,
    networkLimit: isAdmin ? null : JSON.parse(row.networkLimit),
    isUsageLimited: row.usageLimited === 1,
    ...(!isAdmin && {
      scope: {
        walletIds: row.walletLimit === null ? null : JSON.parse(row.walletLimit),
        isSpendingLimited: row.isSpendingLimited === 1,
        returnAddresses: JSON.parse(row.returnAddresses),
      },
    }),
  };
}

/** The service records one use per hour: at most 24 writes a day per key. */
const LAST_USED_UPDATE_INTERVAL_MS = 60 * 60_000;
/** Longest wait of the caller for the write. */
const WRITE_TIMEOUT_MS = 1_000;

/**
 * Stores that a key is used, at most once an hour. A failure is ignored, since a later use is
 * stored.
 *
 * @param lastUsedAt - as read with the key, epoch milliseconds; null: never
 * @param now - epoch milliseconds
 */
export async function recordKeyUse(
  env: Env,
  id: string,
  lastUsedAt: number | null,
  now: number,
): Promise<void> {
  const isDue = (lastUsedAt ?? 0) <= now - LAST_USED_UPDATE_INTERVAL_MS;
  if (!isDue) return;
  try {
    await openDb(env, undefined, { writes: "idempotent", deadline: now + WRITE_TIMEOUT_MS }).batch([
      // Only one of several concurrent requests writes.
      statement(
        "UPDATE api_key SET last_used_at = ?1 WHERE id = ?2 AND ifnull(last_used_at, 0) <= ?3",
        now,
        id,
        now - LAST_USED_UPDATE_INTERVAL_MS,
      ),
    ]);
  } catch (error) {
    log("warn", "api_key.use_not_noted", { key: id, error: String(error) });
  }
}
