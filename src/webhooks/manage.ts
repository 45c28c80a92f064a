import { and, eq, isNull, sql } from "drizzle-orm";
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
import { openUrl, ownEndpoint, renderEndpoint, shownUrl, targetHash } from "./endpoints.ts";
import { cancelOpen } from "./outcome.ts";
import { endpointPlace } from "./receiver.ts";
import type { CreateBody, UpdateBody, WebhookRecord } from "./schemas.ts";
import { newSecret } from "./signature.ts";
import { type EndpointRow, webhookEndpoint } from "./tables.ts";
import { checkTarget } from "./target.ts";

/** How often a change is tried while others change the same endpoint. */
const CHANGE_ATTEMPTS = 5;

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
 * Changes what the body names and keeps the rest, which others may change at the same time.
 * `isActive: true` revives a disabled endpoint and forgets its failures; `false` pauses it and
 * cancels what is open.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404; 409 for a second endpoint for the same, or when others changed this
 *   one each time; 503 when the name resolver does not answer
 */
export async function updateEndpoint(
  c: AppContext,
  body: UpdateBody,
  now: number,
): Promise<WebhookRecord> {
  const core = coreOf(c);
  let endpoint = await ownEndpoint(c, core, body.webhookId);
  if (body.url !== undefined) await checkTarget(c.env, body.url, c.var.deadline);
  for (let attempt = 1; ; attempt++) {
    try {
      return await changeEndpoint(c, core, endpoint, body, now);
    } catch (error) {
      if (!isStale(error)) throw error;
      endpoint = await ownEndpoint(c, core, body.webhookId);
      if (attempt === CHANGE_ATTEMPTS) throw changedMeanwhile();
    }
  }
}

/** @throws what `isStale` knows when the endpoint is not as it was read any more */
async function changeEndpoint(
  c: AppContext,
  core: Database,
  endpoint: EndpointRow,
  body: UpdateBody,
  now: number,
): Promise<WebhookRecord> {
  const { env } = c;
  const { id } = endpoint;
  const url = body.url ?? (await openUrl(env, endpoint));
  const format = body.format ?? endpoint.format;

  const changes = {
    updatedAt: Math.max(now, endpoint.updatedAt + 1),
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
      changeRow(core, endpoint, changes),
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
  const url = await shownUrl(c.env, endpoint);
  await commitAudited(c, core, { action: "webhook.delete", target: webhookId, now }, [
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
    cancelOpen({ sql: "e.id = ?", params: [webhookId] }),
  ]);
  return { id: webhookId, url, name: endpoint.name, deletedAt: isoTime(now) };
}

/**
 * Gives an endpoint a new signing secret. The one before it signs too while the two overlap.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404; 409 while the last rotation overlaps, unless it is forced, and when
 *   another rotation or change was first
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
    const changes = {
      secret: await seal(c.env, endpointPlace(id, "secret"), secret),
      previousSecret: until === null ? null : endpoint.secret,
      previousSecretUntil: until,
      updatedAt: Math.max(now, endpoint.updatedAt + 1),
    };
    const detail = { overlapSeconds: body.overlapSeconds, force: body.force };
    try {
      await commitAudited(c, core, { action: "webhook.rotate-secret", target: id, detail, now }, [
        ...(await remember(answer)),
        changeRow(core, endpoint, changes),
      ]);
    } catch (error) {
      if (!isStale(error)) throw error;
      await ownEndpoint(c, core, id);
      throw changedMeanwhile();
    }
    return answer;
  });
}

/**
 * Writes onto an endpoint as it was read. The batch aborts when it was changed or deleted since; see
 * `isStale`. `updatedAt` tells, for the secrets are also sealed again where nothing has changed.
 */
function changeRow(
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

const isStale = (error: unknown) => violates(error, "webhook_endpoint.updated_at");

function changedMeanwhile(): ApiError {
  return new ApiError(409, "webhookId: the webhook was changed at the same time; try again");
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
