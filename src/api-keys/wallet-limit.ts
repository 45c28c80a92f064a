import type { Database } from "../db/client.ts";
import { ApiError } from "../http/errors.ts";

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
