import { and, eq, isNull, sql } from "drizzle-orm";
import type * as z from "zod";
import { type Database, onViolation, openDb, type Statement, violates } from "../../db/client.ts";
import { seal } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { type EventKind, SERVICE_EVENT_KINDS } from "../../events/event-kinds.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import type { rotateSecretBody, UpdateWebhookBody, WebhookRecord } from "../model/schemas.ts";
import { type EndpointRow, webhookEndpoint } from "../model/tables.ts";
import { cancelDeliveries } from "./cancel-deliveries.ts";
import { checkTarget } from "./check-target.ts";
import {
  hashTarget,
  requireManagedEndpoint,
  toWebhookRecord,
  unsealUrl,
  unsealUrlForDisplay,
} from "./find-endpoint.ts";
import { toEndpointEncryptionContext } from "./open-receiver.ts";
import { generateSecret } from "./signature.ts";

/** The health of a receiver that has not been called yet. */
const INITIAL_HEALTH = { timeouts: 0, silentSince: null, pausedUntil: null };

/** Columns of an endpoint that nothing was sent to and nobody has changed. */
export const UNUSED_ENDPOINT = {
  ...INITIAL_HEALTH,
  previousSecret: null,
  previousSecretUntil: null,
  failureCount: 0,
  lastSuccessAt: null,
  disabledAt: null,
  disabledReason: null,
  enqueuedUntil: null,
  deletedAt: null,
};

/** How often a change is tried while concurrent ones win. */
const MAX_UPDATE_ATTEMPTS = 5;

/** @throws ApiError 403 for kinds that only Admins are told of */
export function requirePermittedKinds(caller: Caller, kinds: readonly EventKind[]): void {
  if (caller.permission === "Admin") return;
  const refused = kinds.find((kind) => SERVICE_EVENT_KINDS.some((one) => one === kind));
  if (refused !== undefined)
    throw new ApiError("permission_missing", `Events: ${refused} is an event kind for Admins only`);
}

/** The core database, for mutations whose audit row is their operation key. */
export function openCoreDatabase(c: AppContext): Database {
  return openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
}

/**
 * Changes the fields sent and keeps the rest, which others may change concurrently.
 * `isActive: true` re-enables a disabled endpoint and resets its failures; `false` pauses it and
 * cancels open deliveries.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404; 409 for a duplicate endpoint, or when every try met a concurrent
 *   change; 503 when the name resolver does not answer
 */
export async function updateEndpoint(
  c: AppContext,
  body: UpdateWebhookBody,
  now: number,
): Promise<WebhookRecord> {
  const core = openCoreDatabase(c);
  requirePermittedKinds(c.var.caller, body.Events ?? []);
  let endpoint = await requireManagedEndpoint(c, core, body.webhookId);
  if (body.url !== undefined) await checkTarget(c.env, body.url, c.var.deadline);
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryUpdateEndpoint(c, core, endpoint, body, now);
    } catch (error) {
      if (!isStaleEndpointError(error)) throw error;
      endpoint = await requireManagedEndpoint(c, core, body.webhookId);
      if (attempt === MAX_UPDATE_ATTEMPTS) throw toConcurrentChangeError();
    }
  }
}

/** @throws an error that `isStale` recognizes when the endpoint was changed since it was read */
async function tryUpdateEndpoint(
  c: AppContext,
  core: Database,
  endpoint: EndpointRow,
  body: UpdateWebhookBody,
  now: number,
): Promise<WebhookRecord> {
  const { env } = c;
  const { id } = endpoint;
  const url = body.url ?? (await unsealUrl(env, endpoint));
  const format = body.format ?? endpoint.format;

  const changes = {
    updatedAt: Math.max(now, endpoint.updatedAt + 1),
    format,
    targetHash: hashTarget(env, { ...endpoint, url, format }),
    ...(body.url !== undefined && {
      url: await seal(env, toEndpointEncryptionContext(id, "url"), url),
      ...INITIAL_HEALTH,
    }),
    ...(body.Events !== undefined && { events: toEventsJson(body.Events) }),
    ...(body.name !== undefined && { name: body.name }),
    ...(body.authToken !== undefined && { authToken: await sealToken(env, id, body.authToken) }),
    ...(body.isActive !== undefined && {
      isActive: body.isActive,
      failureCount: 0,
      disabledAt: null,
      disabledReason: null,
      ...INITIAL_HEALTH,
    }),
  };
  const detail = { changed: Object.keys(body).filter((field) => field !== "webhookId") };
  await commitWithAudit(c, core, { action: "webhook.update", target: id, detail, now }, [
    updateEndpointRow(core, endpoint, changes),
    cancelDeliveries({ sql: "e.id = ?", params: [id] }),
  ]).catch(rejectDuplicates);
  return toWebhookRecord({ ...endpoint, ...changes }, url);
}

/**
 * Deletes an endpoint with its secrets; its delivery log is deleted in the background.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404
 */
export async function deleteEndpoint(c: AppContext, webhookId: string, now: number) {
  const core = openCoreDatabase(c);
  const endpoint = await requireManagedEndpoint(c, core, webhookId);
  const url = await unsealUrlForDisplay(c.env, endpoint);
  await commitWithAudit(c, core, { action: "webhook.delete", target: webhookId, now }, [
    core.orm
      .update(webhookEndpoint)
      .set({
        deletedAt: now,
        isActive: false,
        url: "",
        authToken: null,
        secret: "",
        previousSecret: null,
      })
      .where(and(eq(webhookEndpoint.id, webhookId), isNull(webhookEndpoint.deletedAt)))
      .toSQL(),
    cancelDeliveries({ sql: "e.id = ?", params: [webhookId] }),
  ]);
  return { id: webhookId, url, name: endpoint.name, deletedAt: toIsoTime(now) };
}

/**
 * Gives an endpoint a new signing secret. The previous one also signs during the overlap.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404; 409 during the last rotation's overlap, unless forced, and when
 *   another rotation or change came first
 */
export async function rotateSecret(
  c: AppContext,
  body: z.output<typeof rotateSecretBody>,
  now: number,
) {
  const core = openCoreDatabase(c);
  const endpoint = await requireManagedEndpoint(c, core, body.webhookId);
  return runIdempotently(c, core, now, async (remember) => {
    const { id, previousSecretUntil } = endpoint;
    if (!body.force && previousSecretUntil !== null && now < previousSecretUntil)
      throw new ApiError(
        "wrong_state",
        `webhookId: the secret before the last one signs until ${toIsoTime(previousSecretUntil)}; force drops it now`,
      );
    const secret = generateSecret();
    const until = body.overlapSeconds === 0 ? null : now + body.overlapSeconds * 1000;
    const answer = { webhookId: id, secret, previousSecretValidUntil: toIsoTimeOrNull(until) };
    const changes = {
      secret: await seal(c.env, toEndpointEncryptionContext(id, "secret"), secret),
      previousSecret: until === null ? null : endpoint.secret,
      previousSecretUntil: until,
      updatedAt: Math.max(now, endpoint.updatedAt + 1),
    };
    const detail = { overlapSeconds: body.overlapSeconds, force: body.force };
    try {
      await commitWithAudit(c, core, { action: "webhook.rotate-secret", target: id, detail, now }, [
        ...(await remember(answer)),
        updateEndpointRow(core, endpoint, changes),
      ]);
    } catch (error) {
      if (!isStaleEndpointError(error)) throw error;
      await requireManagedEndpoint(c, core, id);
      throw toConcurrentChangeError();
    }
    return answer;
  });
}

/**
 * Updates an endpoint as it was read. The batch aborts when it was changed or deleted since; see
 * `isStale`. `updatedAt` decides, since resealing changes the secrets' columns without a change.
 */
function updateEndpointRow(
  core: Database,
  { id, updatedAt }: EndpointRow,
  changes: Partial<EndpointRow> & Pick<EndpointRow, "updatedAt">,
): Statement {
  const asRead = sql`updated_at = ${updatedAt} AND deleted_at IS NULL`;
  return core.orm
    .update(webhookEndpoint)
    .set({ ...changes, updatedAt: sql`iif(${asRead}, ${changes.updatedAt}, NULL)` })
    .where(eq(webhookEndpoint.id, id))
    .toSQL();
}

const isStaleEndpointError = (error: unknown) => violates(error, "webhook_endpoint.updated_at");

function toConcurrentChangeError(): ApiError {
  return new ApiError(
    "changed_concurrently",
    "webhookId: another request changed the webhook. Try again.",
  );
}

/** Each kind once, as JSON text. */
export const toEventsJson = (kinds: readonly string[]) => JSON.stringify([...new Set(kinds)]);

export async function sealToken(
  env: Env,
  id: string,
  token: string | null,
): Promise<string | null> {
  return token === null ? null : seal(env, toEndpointEncryptionContext(id, "auth_token"), token);
}

/** @throws ApiError 409 for a violation of the target index */
export const rejectDuplicates = onViolation(
  "webhook_endpoint.target_hash",
  () =>
    new ApiError(
      "already_exists",
      "url: the API key already has a webhook with this URL, format and payment source",
    ),
);
