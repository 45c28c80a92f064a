import type * as z from "zod";
import { onViolation, openDb, statement } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { seal } from "../../db/sealed.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { refuseMixingWithDevelopment } from "../../sources/contracts/local-contracts.ts";
import {
  buildProviderListUpdate,
  validateFurtherProviders,
} from "../../sources/further-providers.ts";
import { createProvider } from "../../sources/open-source-provider.ts";
import { sealFurtherProviders } from "../../sources/provider-list.ts";
import { toProviderKeyEncryptionContext } from "../../sources/source-row.ts";
import { checkProviderKey, requirePolicyHistory } from "../../sources/validate-request.ts";
import { registrySource } from "../entries/tables.ts";
import { endCursor, insertCursor } from "../sync/cursor.ts";
import {
  findActiveRegistrySource,
  type RegistrySourceRecord,
  type RegistrySourceRow,
  toRegistrySourceRecord,
} from "./list-registry-sources.ts";
import type { createSourceBody, updateSourceBody } from "./schemas.ts";

/**
 * Creates a registry source and its cursor, in one batch.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 409, 422; ProviderError when the provider cannot be asked
 */
export async function createRegistrySource(
  c: AppContext,
  body: z.output<typeof createSourceBody>,
  now: number,
): Promise<RegistrySourceRecord> {
  const { network, policyId, rpcProviderApiKey } = body;
  refuseMixingWithDevelopment(c.env, { network, scriptHash: policyId }, "policyId");
  const id = newId(now);
  const draft: RegistrySourceRow = {
    ...{ id, network, policyId, table: "registry_source", rpcProviders: null },
    url: body.url,
    note: body.note,
    rpcProviderApiKey: await seal(
      c.env,
      toProviderKeyEncryptionContext(id, "registry_source"),
      rpcProviderApiKey,
    ),
    createdById: c.var.caller.id,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    await checkKey(c, draft, rpcProviderApiKey);
    const further = await validateFurtherProviders(
      c,
      { network, policyId },
      body.RpcProviders ?? [],
      [],
    );
    const row = { ...draft, rpcProviders: await sealFurtherProviders(c.env, draft, further) };
    const record = await toRegistrySourceRecord(c.env, row, c.var.deadline);
    const detail = { network, policyId };
    const entry = { action: "registry-source.create", target: id, detail, now } as const;
    await commitWithAudit(c, database, entry, [
      ...(await remember(record)),
      database.orm.insert(registrySource).values(row).toSQL(),
      insertCursor(row),
    ]).catch(
      onViolation(
        "registry_source.policy_id",
        () => new ApiError("already_exists", "policyId: a registry source already has this policy"),
      ),
    );
    return record;
  });
}

/**
 * Changes what the body names and keeps the rest.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404; ProviderError when the provider cannot be asked
 */
export async function updateRegistrySource(
  c: AppContext,
  body: z.output<typeof updateSourceBody>,
  now: number,
): Promise<RegistrySourceRecord> {
  const { deadline } = c.var;
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const source = await requireRegistrySource(c, body.id);
  const newKey = body.rpcProviderApiKey;
  if (newKey !== undefined) await checkKey(c, source, newKey);
  const { policyId } = source;
  const further = await buildProviderListUpdate(c, source, { policyId }, body.RpcProviders);
  const sealed =
    newKey === undefined
      ? null
      : await seal(c.env, toProviderKeyEncryptionContext(body.id, source.table), newKey);
  const detail = { changed: Object.keys(body).filter((field) => field !== "id") };
  const entry = { action: "registry-source.update", target: body.id, detail, now } as const;
  await commitWithAudit(c, database, entry, [
    statement(
      `UPDATE registry_source SET updated_at = ?2, note = iif(?3, ?4, note),
         rpc_provider_api_key = ifnull(?5, rpc_provider_api_key)
       WHERE id = ?1 AND deleted_at IS NULL`,
      body.id,
      now,
      body.note === undefined ? 0 : 1,
      body.note ?? null,
      sealed,
    ),
    ...further,
  ]);
  return toRegistrySourceRecord(c.env, await requireRegistrySource(c, body.id), deadline);
}

/**
 * Removes a source: its sync stops at once and its provider key is destroyed. Its entries become
 * `Deregistered` with new stamps right after, and are hidden later; see `continue-removal.ts`.
 *
 * @param now - epoch milliseconds
 * @returns the source as it was
 * @throws ApiError 404
 */
export async function removeRegistrySource(
  c: AppContext,
  id: string,
  now: number,
): Promise<RegistrySourceRecord> {
  const source = await requireRegistrySource(c, id);
  const { type: _, ...record } = await toRegistrySourceRecord(c.env, source, c.var.deadline);
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const detail = { network: source.network, policyId: source.policyId };
  const entry = { action: "registry-source.remove", target: id, detail, now } as const;
  await commitWithAudit(c, database, entry, [
    statement(
      `UPDATE registry_source SET deleted_at = ?2, rpc_provider_api_key = '', rpc_providers = NULL
       WHERE id = ?1 AND deleted_at IS NULL`,
      id,
      now,
    ),
    endCursor(id, now),
  ]);
  return record;
}

async function requireRegistrySource(c: AppContext, id: string): Promise<RegistrySourceRow> {
  const source = await findActiveRegistrySource(
    openDb(c.env, undefined, { deadline: c.var.deadline }),
    id,
  );
  if (!source) throw new ApiError(404, "id: there is no such registry source");
  return source;
}

/** @throws ApiError 400 when the provider refuses the key, or lacks what the registry is read from */
async function checkKey(
  c: AppContext,
  { network, policyId }: Pick<RegistrySourceRow, "network" | "policyId">,
  key: string,
): Promise<void> {
  const provider = await createProvider(c.env, network, key, "wallet");
  await checkProviderKey(provider, "rpcProviderApiKey");
  await requirePolicyHistory(provider, policyId);
}
