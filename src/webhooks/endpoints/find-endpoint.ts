import { createHmac } from "node:crypto";
import { and, desc, eq, isNotNull, isNull, lt } from "drizzle-orm";
import type * as z from "zod";
import { ENV_ADMIN_ID } from "../../api-keys/find-key.ts";
import { apiKey } from "../../api-keys/tables.ts";
import { maskToken } from "../../api-keys/token.ts";
import type { Database } from "../../db/client.ts";
import { unseal, unsealOrEmpty } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import type { ListedWebhook, WebhookRecord, webhookListQuery } from "../model/schemas.ts";
import { type EndpointRow, webhookEndpoint } from "../model/tables.ts";
import { toEndpointEncryptionContext } from "./open-receiver.ts";

/**
 * Recognizes a duplicate endpoint without storing the URL in clear: HMAC under `API_KEY_SECRET`,
 * hex.
 */
export function hashTarget(
  env: Pick<Env, "API_KEY_SECRET">,
  target: Pick<EndpointRow, "createdById" | "url" | "sourceId" | "format">,
): string {
  const { createdById, url, sourceId, format } = target;
  const text = JSON.stringify(["webhook target", createdById, url, sourceId, format]);
  return createHmac("sha256", env.API_KEY_SECRET).update(text).digest("hex");
}

/** One page of endpoints, newest first; a key that is not an Admin's sees its own. */
export async function listEndpoints(
  env: Env,
  core: Database,
  caller: Caller,
  query: z.output<typeof webhookListQuery>,
): Promise<ListedWebhook[]> {
  const rows = await core.orm
    .select({ endpoint: webhookEndpoint, maskedToken: apiKey.maskedToken })
    .from(webhookEndpoint)
    .leftJoin(apiKey, eq(apiKey.id, webhookEndpoint.createdById))
    .where(
      and(
        isNull(webhookEndpoint.deletedAt),
        caller.permission === "Admin" ? undefined : eq(webhookEndpoint.createdById, caller.id),
        query.paymentSourceId === undefined
          ? undefined
          : eq(webhookEndpoint.sourceId, query.paymentSourceId),
        query.filterDisabled
          ? and(isNotNull(webhookEndpoint.disabledAt), eq(webhookEndpoint.isActive, false))
          : undefined,
        query.cursorId === undefined ? undefined : lt(webhookEndpoint.id, query.cursorId),
      ),
    )
    .orderBy(desc(webhookEndpoint.id))
    .limit(query.limit);
  return Promise.all(
    rows.map(async ({ endpoint, maskedToken }) => ({
      ...toWebhookRecord(endpoint, await unsealUrlForDisplay(env, endpoint)),
      failureCount: endpoint.failureCount,
      lastSuccessAt: toIsoTimeOrNull(endpoint.lastSuccessAt),
      disabledAt: toIsoTimeOrNull(endpoint.disabledAt),
      disabledReason: endpoint.disabledReason,
      pausedUntil: toIsoTimeOrNull(endpoint.pausedUntil),
      CreatedBy: toCreator(env, endpoint.createdById, maskedToken),
    })),
  );
}

/** Null when the key is gone. */
function toCreator(env: Env, id: string, maskedToken: string | null) {
  const masked = id === ENV_ADMIN_ID ? env.ADMIN_KEY && maskToken(env.ADMIN_KEY) : maskedToken;
  return masked ? { apiKeyId: id, apiKeyToken: masked } : null;
}

/** Whether the webhook exists and the caller may see it. */
export async function isWebhookVisible(
  core: Database,
  caller: Caller,
  webhookId: string,
): Promise<boolean> {
  const endpoint = await findEndpoint(core, webhookId);
  return endpoint !== null && mayManage(caller, endpoint);
}

/**
 * An endpoint that the caller may change.
 *
 * @throws ApiError 404 when there is none, 403 when it is another key's and the caller is not an
 *   Admin
 */
export async function requireManagedEndpoint(
  c: AppContext,
  core: Database,
  webhookId: string,
): Promise<EndpointRow> {
  const endpoint = await findEndpoint(core, webhookId);
  if (endpoint === null) throw new ApiError(404, "webhookId: there is no such webhook");
  if (!mayManage(c.var.caller, endpoint))
    throw new ApiError("not_owner", "webhookId: belongs to another API key");
  return endpoint;
}

const mayManage = (caller: Caller, endpoint: EndpointRow) =>
  caller.permission === "Admin" || endpoint.createdById === caller.id;

async function findEndpoint(core: Database, webhookId: string): Promise<EndpointRow | null> {
  const [endpoint] = await core.orm
    .select()
    .from(webhookEndpoint)
    .where(and(eq(webhookEndpoint.id, webhookId), isNull(webhookEndpoint.deletedAt)));
  return endpoint ?? null;
}

/** @throws SealError */
export function unsealUrl(env: Env, { id, url }: Pick<EndpointRow, "id" | "url">): Promise<string> {
  return unseal(env, toEndpointEncryptionContext(id, "url"), url);
}

/** The URL for display: `""` when its sealing key was lost. */
export function unsealUrlForDisplay(
  env: Env,
  { id, url }: Pick<EndpointRow, "id" | "url">,
): Promise<string> {
  return unsealOrEmpty(env, toEndpointEncryptionContext(id, "url"), url);
}

/** An endpoint as the interface shows it; `url` is in clear. */
export function toWebhookRecord(endpoint: EndpointRow, url: string): WebhookRecord {
  return {
    id: endpoint.id,
    url,
    name: endpoint.name,
    format: endpoint.format,
    Events: JSON.parse(endpoint.events),
    isActive: endpoint.isActive,
    createdAt: toIsoTime(endpoint.createdAt),
    updatedAt: toIsoTime(endpoint.updatedAt),
    paymentSourceId: endpoint.sourceId,
  };
}
