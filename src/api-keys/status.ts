import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { ENV_ADMIN_ID } from "./find-key.ts";
import { envAdminRecord, readKeyRow, toRecord } from "./record.ts";
import type { ApiKeyRecord, ApiKeyStatus } from "./schemas.ts";
import { spentOf } from "./spending.ts";

type Remaining = ApiKeyStatus["RemainingUsageCredits"];

/**
 * The key of the request, with what marketplaces read of it. Read from the primary, as credits are.
 *
 * @throws ApiError 401 when this isolate had cached a key that was deleted since
 */
export async function ownStatus(c: AppContext): Promise<ApiKeyStatus> {
  const { id } = c.var.caller;
  const envAdmin = id === ENV_ADMIN_ID ? envAdminRecord(c.env) : null;
  if (envAdmin) return statusOf(envAdmin, []);
  const database = db(c.env, undefined, { deadline: c.var.deadline });
  const row = await readKeyRow(database, id);
  if (!row) throw new ApiError("unknown_key", "token: the API key is unknown or revoked");
  const record = toRecord(row);
  const isLimited = record.permission !== "Admin" && record.spendingLimits !== null;
  return statusOf(record, isLimited ? remaining(record, await spentOf(database, id)) : []);
}

/** An Admin is bound to nothing, whatever was set before it became one. */
function statusOf(record: ApiKeyRecord, RemainingUsageCredits: Remaining): ApiKeyStatus {
  const canAdmin = record.permission === "Admin";
  const wallets = canAdmin ? null : record.walletLimit;
  return {
    ...record,
    canRead: true,
    canAdmin,
    NetworkLimit: record.networkLimit,
    walletScopeEnabled: wallets !== null,
    WalletScopes: (wallets ?? []).map((hotWalletId) => ({ hotWalletId })),
    RemainingUsageCredits,
  };
}

/** What is left of the limits on the key's networks, each unit once. */
function remaining(
  { spendingLimits, networkLimit }: ApiKeyRecord,
  spent: readonly { network: string; unit: string; spent: bigint }[],
): Remaining {
  const left = new Map<string, bigint>();
  const seen = new Set<string>();
  for (const { network, unit, amount } of spendingLimits ?? []) {
    const limit = `${network} ${unit}`;
    // Of a limit that is listed twice, the first counts.
    if (!networkLimit.includes(network) || seen.has(limit)) continue;
    seen.add(limit);
    const used = spent.find((one) => one.network === network && one.unit === unit)?.spent ?? 0n;
    const rest = BigInt(amount) - used;
    // A limit may have been set below what was spent.
    left.set(unit, (left.get(unit) ?? 0n) + (rest > 0n ? rest : 0n));
  }
  return [...left].map(([unit, amount]) => ({ unit, amount: String(amount) }));
}
