import { NETWORKS } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { idempotently } from "../http/idempotency.ts";
import { type ApiKeyRow, toRecord } from "./record.ts";
import type { ApiKeyRecord, CreateBody } from "./schemas.ts";
import { apiKey } from "./tables.ts";
import { hashToken, maskToken, newToken } from "./token.ts";
import { requireWallets } from "./wallet-limit.ts";

/**
 * Creates a key.
 *
 * @param now - epoch milliseconds
 * @returns the key with its token, which is shown only here
 * @throws ApiError 404 for an unknown wallet; 422
 */
export async function createKey(
  c: AppContext,
  body: CreateBody,
  now: number,
): Promise<ApiKeyRecord> {
  const database = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return idempotently(c, database, now, async (remember) => {
    await requireWallets(database, body.walletLimit);
    const token = newToken(body.permission);
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
    const { token: _, ...detail } = toRecord(row);
    const record = { ...toRecord(row), token };
    await commitAudited(c, database, { action: "api-key.create", target: row.id, detail, now }, [
      ...(await remember(record)),
      database.orm.insert(apiKey).values(row).toSQL(),
    ]);
    return record;
  });
}
