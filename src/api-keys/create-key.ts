import { NETWORKS } from "../chain/network.ts";
import { openDb } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { runIdempotently } from "../http/idempotency.ts";
import { type ApiKeyRow, requireWallets, toApiKeyRecord } from "./api-key-record.ts";
import type { ApiKeyRecord, CreateApiKeyBody } from "./schemas.ts";
import { apiKey } from "./tables.ts";
import { createToken, hashToken, maskToken } from "./token.ts";

/**
 * Creates a key.
 *
 * @param now - epoch milliseconds
 * @returns the key with its token, which is shown only here
 * @throws ApiError 404 for an unknown wallet; 422
 */
export async function createKey(
  c: AppContext,
  body: CreateApiKeyBody,
  now: number,
): Promise<ApiKeyRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    await requireWallets(database, body.walletLimit);
    const token = createToken(body.permission);
    const row: ApiKeyRow = {
      id: newId(now),
      tokenHash: await hashToken(c.env, token),
      maskedToken: maskToken(token),
      name: body.name,
      permission: body.permission,
      status: "Active",
      canPay: body.canPay ?? false,
      networkLimit: JSON.stringify(body.networkLimit ?? NETWORKS),
      usageLimited: body.usageLimited,
      maxUsageCredits: body.maxUsageCredits,
      accumulatedUsageCredits: 0,
      walletLimit: body.walletLimit ? JSON.stringify(body.walletLimit) : null,
      spendingLimits: body.spendingLimits ? JSON.stringify(body.spendingLimits) : null,
      returnAddresses: JSON.stringify(body.returnAddresses ?? []),
      lastUsedAt: null,
      createdById: c.var.caller.id,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    };
    const { token: _, ...detail } = toApiKeyRecord(row);
    const record = { ...toApiKeyRecord(row), token };
    await commitWithAudit(c, database, { action: "api-key.create", target: row.id, detail, now }, [
      ...(await remember(record)),
      database.orm.insert(apiKey).values(row).toSQL(),
    ]);
    return record;
  });
}
