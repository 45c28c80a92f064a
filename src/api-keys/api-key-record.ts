import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { NETWORKS } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { toIsoTimeOrNull } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { ENV_ADMIN_ID } from "./find-key.ts";
import type { ApiKeyRecord } from "./schemas.ts";
import { apiKey } from "./tables.ts";
import { maskToken } from "./token.ts";

export type ApiKeyRow = typeof apiKey.$inferSelect;

/** The bounds of a key as they were set. They do not bind an Admin. */
export type KeySettings = Pick<
  ApiKeyRecord,
  "permission" | "canPay" | "usageLimited" | "networkLimit" | "walletLimit" | "spendingLimits"
>;

export function toKeySettings(row: ApiKeyRow): KeySettings {
  const { permission, canPay, usageLimited } = row;
  return {
    permission,
    canPay,
    usageLimited,
    networkLimit: JSON.parse(row.networkLimit),
    walletLimit: row.walletLimit === null ? null : JSON.parse(row.walletLimit),
    spendingLimits: row.spendingLimits === null ? null : JSON.parse(row.spendingLimits),
  };
}

/** Renders a key. An Admin's rights follow from its permission alone. */
export function toApiKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  const isAdmin = row.permission === "Admin";
  const settings = toKeySettings(row);
  return {
    id: row.id,
    status: row.status,
    token: row.maskedToken,
    name: row.name,
    permission: row.permission,
    usageLimited: row.usageLimited,
    maxUsageCredits: row.maxUsageCredits,
    accumulatedUsageCredits: row.accumulatedUsageCredits,
    canPay: isAdmin || row.canPay,
    networkLimit: isAdmin ? [...NETWORKS] : settings.networkLimit,
    walletLimit: settings.walletLimit,
    spendingLimits: settings.spendingLimits,
    returnAddresses: JSON.parse(row.returnAddresses),
    lastUsedAt: toIsoTimeOrNull(row.lastUsedAt),
  };
}

/** Finds the key of the secret `ADMIN_KEY`. Null: the secret is not set. */
export function findEnvAdmin({ ADMIN_KEY }: { ADMIN_KEY?: string }): ApiKeyRecord | null {
  if (!ADMIN_KEY) return null;
  return {
    id: ENV_ADMIN_ID,
    status: "Active",
    token: maskToken(ADMIN_KEY),
    name: "",
    permission: "Admin",
    usageLimited: false,
    maxUsageCredits: 0,
    accumulatedUsageCredits: 0,
    canPay: true,
    networkLimit: [...NETWORKS],
    walletLimit: null,
    spendingLimits: null,
    returnAddresses: [],
    lastUsedAt: null,
  };
}

/** A key that was not deleted; null when there is none. */
export async function readKeyRow(database: Database, id: string): Promise<ApiKeyRow | null> {
  const [row] = await database.orm
    .select()
    .from(apiKey)
    .where(and(eq(apiKey.id, id), isNull(apiKey.deletedAt)));
  return row ?? null;
}

/** One page of keys, newest first. The key of the environment has the largest id. */
export async function listKeys(
  env: { ADMIN_KEY?: string },
  database: Database,
  { limit, cursorId }: { limit: number; cursorId?: string | undefined },
): Promise<ApiKeyRecord[]> {
  const rows = await database.orm
    .select()
    .from(apiKey)
    .where(
      and(isNull(apiKey.deletedAt), cursorId === undefined ? undefined : lt(apiKey.id, cursorId)),
    )
    .orderBy(desc(apiKey.id))
    .limit(limit);
  const envAdmin = findEnvAdmin(env);
  const isFirstPage = cursorId === undefined || ENV_ADMIN_ID < cursorId;
  const first = envAdmin && isFirstPage ? [envAdmin] : [];
  return [...first, ...rows.map(toApiKeyRecord)].slice(0, limit);
}

/**
 * Checks that the wallets that a key is to be bound to are managed.
 *
 * @throws ApiError 404 naming one that is not
 */
export async function requireWallets(
  core: Database,
  ids: readonly string[] | null | undefined,
): Promise<void> {
  if (!ids) return;
  const [unknown] = await core.all<{ place: number }>(
    `SELECT key AS place FROM json_each(?) WHERE NOT EXISTS (
       SELECT 1 FROM managed_wallet WHERE id = value AND deleted_at IS NULL) LIMIT 1`,
    JSON.stringify(ids),
  );
  if (unknown) throw new ApiError(404, `walletLimit[${unknown.place}]: there is no such wallet`);
}
