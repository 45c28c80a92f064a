import * as z from "zod";
import { type Database, openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { ApiError } from "../http/errors.ts";
import { described } from "../http/openapi/fields.ts";
import { pageParameters } from "../http/openapi/parameters.ts";
import { findEnvAdmin, listKeys, readKeyRow, toApiKeyRecord } from "./api-key-record.ts";
import { createKey } from "./create-key.ts";
import { ENV_ADMIN_ID } from "./find-key.ts";
import {
  type ApiKeyRecord,
  type ApiKeyStatus,
  apiKeyRecord,
  apiKeyStatus,
  createApiKeyBody,
  createdApiKey,
  deleteApiKeyBody,
  listedApiKey,
  updateApiKeyBody,
} from "./schemas.ts";
import { readSpending, readSpendingByKey } from "./spending-limits.ts";
import { deleteKey, updateKey } from "./update-key.ts";

const UNKNOWN_KEY_MESSAGE = "There is no such API key.";
const UNCHANGEABLE_KEY_MESSAGE =
  "The key is the last active Admin key, or the key of the secret ADMIN_KEY.";

const RULES = { path: "/api-key", access: "Admin", scope: "admin", tag: "API keys" } as const;

/** The operations, whose bodies and answers have other forms for clients of other services. */
export const API_KEY_ENDPOINTS = {
  create: {
    ...RULES,
    method: "post",
    operationId: "createApiKey",
    summary: "Creates a new API key",
    body: createApiKeyBody,
    idempotent: true,
    data: createdApiKey,
    errors: { 404: "`walletLimit` names an unknown wallet." },
  },
  list: {
    ...RULES,
    method: "get",
    operationId: "listApiKeys",
    isConditional: true,
    summary: "Lists API keys, newest first",
    query: z.object(pageParameters),
    data: z.object({ ApiKeys: described(z.array(listedApiKey), "The API keys.") }),
  },
  update: {
    ...RULES,
    method: "patch",
    operationId: "updateApiKey",
    summary: "Changes an API key",
    description: "The change keeps omitted fields and takes effect everywhere within ten seconds.",
    body: updateApiKeyBody,
    data: apiKeyRecord,
    errors: {
      404: `${UNKNOWN_KEY_MESSAGE} Or \`walletLimit\` names an unknown wallet.`,
      409: `${UNCHANGEABLE_KEY_MESSAGE} Or the key has used more than the new \`maxUsageCredits\`.`,
    },
  },
  delete: {
    ...RULES,
    method: "delete",
    operationId: "deleteApiKey",
    summary: "Revokes an API key permanently and hides it",
    body: deleteApiKeyBody,
    data: apiKeyRecord,
    errors: { 404: UNKNOWN_KEY_MESSAGE, 409: UNCHANGEABLE_KEY_MESSAGE },
  },
  getStatus: {
    method: "get",
    operationId: "getApiKeyStatus",
    path: "/api-key-status",
    access: "User",
    scope: "owner",
    tag: "API keys",
    summary: "Shows the API key of the request and its used credits",
    data: apiKeyStatus,
  },
} as const;

/** `/api-key` of the interface, and `/api-key-status`. */
export function createApiKeyRoutes() {
  const router = createRouter();
  const endpoints = API_KEY_ENDPOINTS;
  serve(router, endpoints.create, (c, { body }) => createKey(c, body, Date.now()));
  serve(router, endpoints.list, (c, { query }) => listKeysWithSpending(c, query));
  serve(router, endpoints.update, (c, { body }) => updateKey(c, body, Date.now()));
  serve(router, endpoints.delete, (c, { body }) => deleteKey(c, body.id, Date.now()));
  serve(router, endpoints.getStatus, (c) => readKeyStatus(c));
  return router;
}

async function listKeysWithSpending(c: AppContext, query: Parameters<typeof listKeys>[2]) {
  const database = openPrimaryDb(c);
  const keys = await listKeys(c.env, database, query);
  const spending = await readSpendingByKey(
    database,
    keys.map(({ id }) => id),
  );
  const toListed = (key: ApiKeyRecord) => ({
    ...key,
    Spending: (spending.get(key.id) ?? []).map(({ network, unit, spent }) => ({
      ...{ network, unit },
      amount: String(spent),
    })),
  });
  return { ApiKeys: keys.map(toListed) };
}

/** Credits are always read from the primary. */
export function openPrimaryDb(c: AppContext): Database {
  return openDb(c.env, undefined, { deadline: c.var.deadline });
}

type RemainingCredits = ApiKeyStatus["RemainingUsageCredits"];

/**
 * Reads the key of the request, from the primary, as credits are.
 *
 * @throws ApiError 401 when this isolate had cached a key that was deleted since
 */
export async function readOwnKey(c: AppContext): Promise<ApiKeyRecord> {
  const { id } = c.var.caller;
  const envAdmin = id === ENV_ADMIN_ID ? findEnvAdmin(c.env) : null;
  if (envAdmin) return envAdmin;
  const row = await readKeyRow(openPrimaryDb(c), id);
  if (!row) throw new ApiError("unknown_key", "token: the API key is unknown or revoked");
  return toApiKeyRecord(row);
}

/** The key of the request, with what marketplaces read of it. */
async function readKeyStatus(c: AppContext): Promise<ApiKeyStatus> {
  const record = await readOwnKey(c);
  if (!isSpendingLimited(record)) return toKeyStatus(record, []);
  const spent = await readSpending(openPrimaryDb(c), record.id);
  return toKeyStatus(record, computeRemainingCredits(record, spent));
}

/** Whether `spendingLimits` bind a key. */
export const isSpendingLimited = ({ permission, spendingLimits }: ApiKeyRecord) =>
  permission !== "Admin" && spendingLimits !== null;

/** An Admin has no wallet limit, whatever was set before the promotion. */
function toKeyStatus(record: ApiKeyRecord, RemainingUsageCredits: RemainingCredits): ApiKeyStatus {
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

/** Remainder of the limits on the key's networks, by unit. */
function computeRemainingCredits(
  { spendingLimits, networkLimit }: ApiKeyRecord,
  spent: readonly { network: string; unit: string; spent: bigint }[],
): RemainingCredits {
  const left = new Map<string, bigint>();
  const seen = new Set<string>();
  for (const { network, unit, amount } of spendingLimits ?? []) {
    const limit = `${network} ${unit}`;
    // The first of duplicate limits counts.
    if (!networkLimit.includes(network) || seen.has(limit)) continue;
    seen.add(limit);
    const used = spent.find((one) => one.network === network && one.unit === unit)?.spent ?? 0n;
    const rest = BigInt(amount) - used;
    // A limit may be below the spent amount.
    left.set(unit, (left.get(unit) ?? 0n) + (rest > 0n ? rest : 0n));
  }
  return [...left].map(([unit, amount]) => ({ unit, amount: String(amount) }));
}
