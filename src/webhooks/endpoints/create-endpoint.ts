import { sql } from "drizzle-orm";
import { type Database, onViolation } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { seal } from "../../db/sealed.ts";
import { commitWithAudit } from "../../http/audit.ts";
import { listPermittedNetworks } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { isSourceInScope } from "../../wallets/managed/find-wallet.ts";
import type { CreateWebhookBody, WebhookRecord } from "../model/schemas.ts";
import { type EndpointRow, webhookEndpoint } from "../model/tables.ts";
import { checkTarget } from "./check-target.ts";
import { hashTarget, isWebhookVisible, toWebhookRecord } from "./find-endpoint.ts";
import { toEndpointEncryptionContext } from "./open-receiver.ts";
import { generateSecret } from "./signature.ts";
import {
  openCoreDatabase,
  rejectDuplicates,
  requirePermittedKinds,
  sealToken,
  toEventsJson,
  UNUSED_ENDPOINT,
} from "./update-endpoint.ts";

const DEFAULT_ENDPOINTS_PER_KEY = 20;

/**
 * Creates an endpoint with a signing secret, which only this answer shows.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a URL that we do not send to. 403 for event kinds that only Admins receive.
 *   404 for a source that is unknown, or that the key does not reach. 409 for a duplicate endpoint, for
 *   one endpoint too many, and for a repeated creation whose endpoint was deleted. 503 when the name
 *   resolver does not answer.
 */
export async function createEndpoint(
  c: AppContext,
  body: CreateWebhookBody,
  now: number,
): Promise<WebhookRecord & { secret: string }> {
  const { env, var: context } = c;
  const core = openCoreDatabase(c);
  requirePermittedKinds(context.caller, body.Events);
  const sourceId = body.paymentSourceId ?? null;
  if (sourceId !== null) await requirePermittedSource(c, core, sourceId);

  let isNew = false;
  const created = await runIdempotently(c, core, now, async (remember) => {
    await checkTarget(env, body.url, context.deadline);
    const id = newId(now);
    const secret = generateSecret();
    const row: EndpointRow = {
      id,
      url: await seal(env, toEndpointEncryptionContext(id, "url"), body.url),
      targetHash: "",
      name: body.name,
      format: body.format,
      events: toEventsJson(body.Events),
      sourceId,
      authToken: await sealToken(env, id, body.authToken ?? null),
      secret: await seal(env, toEndpointEncryptionContext(id, "secret"), secret),
      ...UNUSED_ENDPOINT,
      isActive: true,
      createdById: context.caller.id,
      createdAt: now,
      updatedAt: now,
    };
    row.targetHash = hashTarget(env, { ...row, url: body.url });
    const answer = { ...toWebhookRecord(row, body.url), secret };
    const detail = { format: row.format, events: body.Events, paymentSourceId: sourceId };
    const limit = Number(env.WEBHOOK_ENDPOINTS_PER_KEY) || DEFAULT_ENDPOINTS_PER_KEY;
    const createdById = creatorIdBelowLimitSql(row.createdById, limit);
    const message = `url: an API key has at most ${limit} webhooks; delete one first`;
    await commitWithAudit(c, core, { action: "webhook.create", target: id, detail, now }, [
      ...(await remember(answer)),
      core.orm
        .insert(webhookEndpoint)
        .values({ ...row, createdById })
        .toSQL(),
    ])
      .catch(rejectDuplicates)
      .catch(onViolation("webhook_endpoint.created_by_id", () => new ApiError(409, message)));
    isNew = true;
    return answer;
  });
  // The stored answer holds a secret, which ended with the endpoint.
  if (!isNew && !(await isWebhookVisible(core, context.caller, created.id)))
    throw new ApiError(
      409,
      "Idempotency-Key: the webhook of this request was deleted. Create another webhook with a new key.",
    );
  return created;
}

/** The API key that creates an endpoint; NULL, which aborts the batch, when it is at its limit. */
function creatorIdBelowLimitSql(apiKeyId: string, limit: number) {
  return sql<string>`iif((SELECT count(*) FROM webhook_endpoint
    WHERE created_by_id = ${apiKeyId} AND deleted_at IS NULL) < ${limit}, ${apiKeyId}, NULL)`;
}

/** @throws ApiError 404 for a source on another network or without a wallet that the key may use, too */
async function requirePermittedSource(
  c: AppContext,
  core: Database,
  sourceId: string,
): Promise<void> {
  const { caller } = c.var;
  const source = await findActiveSource(core, sourceId);
  const isOnNetwork = source && listPermittedNetworks(caller).includes(source.network);
  if (isOnNetwork && (await isSourceInScope(core, caller, sourceId))) return;
  throw new ApiError(404, "paymentSourceId: there is no such payment source");
}
