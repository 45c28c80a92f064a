import { and, eq, isNull } from "drizzle-orm";
import { type Database, db, type Statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { seal } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { commitAudited } from "../http/audit.ts";
import { permitNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { idempotently } from "../http/idempotency.ts";
import { activeSource } from "../sources/active.ts";
import { openUrl, ownEndpoint, renderEndpoint, targetHash } from "./endpoints.ts";
import { cancelOpen } from "./outcome.ts";
import { endpointPlace } from "./receiver.ts";
import type { CreateBody, UpdateBody, WebhookRecord } from "./schemas.ts";
import { newSecret } from "./signature.ts";
import { type EndpointRow, webhookEndpoint } from "./tables.ts";
import { checkTarget } from "./target.ts";

/** The core database, for mutations whose audit row is their operation key. */
export function coreOf(c: AppContext): Database {
  return db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
}

/**
 * Creates an endpoint, with a signing secret that is shown in the answer and never again.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a URL we would not send to, 403 for a source on a network that the key
 *   lacks, 404 for an unknown source, 409 for a second endpoint for the same, 503 when the name
 *   resolver does not answer
 */
export async function createEndpoint(
  c: AppContext,
  body: CreateBody,
  now: number,
): Promise<WebhookRecord & { secret: string }> {
  const { env, var: context } = c;
  const core = coreOf(c);
  const sourceId = body.paymentSourceId ?? null;
  if (sourceId !== null) await permitSource(c, core, sourceId);

  return idempotently(c, core, now, async (remember) => {
    await checkTarget(env, body.url, context.deadline);
    const id = newId(now);
    const secret = newSecret();
    const row: EndpointRow = {
      id,
      url: await seal(env, endpointPlace(id, "url"), body.url),
      targetHash: "",
      name: body.name,
      format: body.format,
      events: eventsText(body.Events),
      sourceId,
      authToken: await sealToken(env, id, body.authToken ?? null),
      secret: await seal(env, endpointPlace(id, "secret"), secret),
      previousSecret: null,
      previousSecretUntil: null,
      isActive: true,
      failureCount: 0,
      lastSuccessAt: null,
      disabledAt: null,
      disabledReason: null,
      createdById: context.caller.id,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    };
    row.targetHash = await targetHash(env, { ...row, url: body.url });
    const answer = { ...renderEndpoint(row, body.url), secret };
    const detail = { format: row.format, events: body.Events, paymentSourceId: sourceId };
    await refusingDuplicates(
      commitAudited(c, core, { action: "webhook.create", target: id, detail, now }, [
        ...(await remember(answer)),
        core.orm.insert(webhookEndpoint).values(row).toSQL(),
      ]),
    );
    return answer;
  });
}

/** @throws ApiError 404, 403 */
async function permitSource(c: AppContext, core: Database, sourceId: string): Promise<void> {
  const source = await activeSource(core, sourceId);
  if (!source) throw new ApiError(404, "paymentSourceId: there is no such payment source");
  permitNetwork(c.var.caller, source.network);
}

/**
 * Changes what the body names and keeps the rest. `isActive: true` revives a disabled endpoint and
 * forgets its failures; `false` pauses it and cancels what is open.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404, 409; 503 when the name resolver does not answer
 */
export async function updateEndpoint(
  c: AppContext,
  body: UpdateBody,
  now: number,
): Promise<WebhookRecord> {
  const { env } = c;
  const core = coreOf(c);
  const endpoint = await ownEndpoint(c, core, body.webhookId);
  const { id } = endpoint;
  if (body.url !== undefined) await checkTarget(env, body.url, c.var.deadline);
  const url = body.url ?? (await openUrl(env, endpoint));
  const format = body.format ?? endpoint.format;

  const changes: Partial<EndpointRow> = {
    updatedAt: now,
    format,
    targetHash: await targetHash(env, { ...endpoint, url, format }),
    ...(body.url !== undefined && { url: await seal(env, endpointPlace(id, "url"), url) }),
    ...(body.Events !== undefined && { events: eventsText(body.Events) }),
    ...(body.name !== undefined && { name: body.name }),
    ...(body.authToken !== undefined && { authToken: await sealToken(env, id, body.authToken) }),
    ...(body.isActive !== undefined && {
      isActive: body.isActive,
      failureCount: 0,
      disabledAt: null,
      disabledReason: null,
    }),
  };
  const detail = { changed: Object.keys(body).filter((field) => field !== "webhookId") };
  await refusingDuplicates(
    commitAudited(c, core, { action: "webhook.update", target: id, detail, now }, [
      updateRow(core, id, changes),
      cancelOpen({ sql: "e.id = ?", params: [id] }),
    ]),
  );
  return renderEndpoint({ ...endpoint, ...changes }, url);
}

/**
 * Deletes an endpoint with its secrets; its delivery log goes in the background.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404
 */
export async function deleteEndpoint(c: AppContext, webhookId: string, now: number) {
  const core = coreOf(c);
  const endpoint = await ownEndpoint(c, core, webhookId);
  const url = await openUrl(c.env, endpoint);
  await commitAudited(c, core, { action: "webhook.delete", target: webhookId, now }, [
    updateRow(core, webhookId, {
      deletedAt: now,
      isActive: false,
      url: "",
      authToken: null,
      secret: "",
      previousSecret: null,
    }),
    cancelOpen({ sql: "e.id = ?", params: [webhookId] }),
  ]);
  return { id: webhookId, url, name: endpoint.name, deletedAt: isoTime(now) };
}

/**
 * Gives an endpoint a new signing secret. The one before it signs too while the two overlap.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404; 409 while the last rotation overlaps, unless it is forced
 */
export async function rotateSecret(
  c: AppContext,
  body: { webhookId: string; overlapSeconds: number; force: boolean },
  now: number,
) {
  const core = coreOf(c);
  const endpoint = await ownEndpoint(c, core, body.webhookId);
  return idempotently(c, core, now, async (remember) => {
    const { id, previousSecretUntil } = endpoint;
    if (!body.force && previousSecretUntil !== null && now < previousSecretUntil)
      throw new ApiError(
        409,
        `webhookId: the secret before the last one signs until ${isoTime(previousSecretUntil)}; force drops it now`,
      );
    const secret = newSecret();
    const until = body.overlapSeconds === 0 ? null : now + body.overlapSeconds * 1000;
    const answer = {
      webhookId: id,
      secret,
      previousSecretValidUntil: until === null ? null : isoTime(until),
    };
    const detail = { overlapSeconds: body.overlapSeconds, force: body.force };
    await commitAudited(c, core, { action: "webhook.rotate-secret", target: id, detail, now }, [
      ...(await remember(answer)),
      updateRow(core, id, {
        secret: await seal(c.env, endpointPlace(id, "secret"), secret),
        previousSecret: until === null ? null : endpoint.secret,
        previousSecretUntil: until,
        updatedAt: now,
      }),
    ]);
    return answer;
  });
}

function updateRow(core: Database, id: string, changes: Partial<EndpointRow>): Statement {
  return core.orm
    .update(webhookEndpoint)
    .set(changes)
    .where(and(eq(webhookEndpoint.id, id), isNull(webhookEndpoint.deletedAt)))
    .toSQL();
}

/** Each kind once, as JSON text. */
const eventsText = (kinds: readonly string[]) => JSON.stringify([...new Set(kinds)]);

async function sealToken(env: Env, id: string, token: string | null): Promise<string | null> {
  return token === null ? null : seal(env, endpointPlace(id, "auth_token"), token);
}

async function refusingDuplicates(commit: Promise<void>): Promise<void> {
  try {
    await commit;
  } catch (error) {
    if (!violates(error, "webhook_endpoint.target_hash")) throw error;
    throw new ApiError(
      409,
      "url: is a webhook of this API key already, in this format and for this payment source",
    );
  }
}
