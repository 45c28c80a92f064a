import * as z from "zod";
import type { AppContext } from "../../http/context.ts";
import { createRouter, serve } from "../../http/endpoint.ts";
import { described, PROVIDER_FAILURES } from "../../http/openapi/fields.ts";
import { pageParameters } from "../../http/openapi/parameters.ts";
import { log } from "../../log.ts";
import { wakeRegistryJob } from "../sync/wake-registry.ts";
import {
  createRegistrySource,
  removeRegistrySource,
  updateRegistrySource,
} from "./change-registry-source.ts";
import { listRegistrySources, type RegistrySourceRecord } from "./list-registry-sources.ts";
import {
  createSourceBody,
  deleteSourceBody,
  registrySourceRecord,
  updateSourceBody,
} from "./schemas.ts";

const NOT_FOUND_ERROR = { 404: "There is no such registry source." };
const commonOptions = {
  path: "/registry-source",
  access: "Admin",
  scope: "admin",
  tag: "Registry sources",
} as const;

/** `/registry-source` of the interface. */
export function createRegistrySourceRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      ...commonOptions,
      method: "get",
      operationId: "listRegistrySources",
      isConditional: true,
      summary: "Lists registry sources, newest first",
      query: z.object(pageParameters),
      data: z.object({ sources: described(z.array(registrySourceRecord), "The sources.") }),
    },
    async (c, { query }) => ({
      sources: await listRegistrySources(c.env, query, c.var.deadline),
    }),
  );

  serve(
    router,
    {
      ...commonOptions,
      method: "post",
      operationId: "createRegistrySource",
      summary: "Creates a registry source",
      description: "The sync starts at the first transaction of the minting policy.",
      body: createSourceBody,
      idempotent: true,
      data: registrySourceRecord,
      errors: {
        ...PROVIDER_FAILURES,
        409: "A registry source already has the policy, or the network does not fit the environment.",
      },
    },
    (c, { body }) => wakeAfter(c, createRegistrySource(c, body, Date.now())),
  );

  serve(
    router,
    {
      ...commonOptions,
      method: "patch",
      operationId: "updateRegistrySource",
      summary: "Updates a registry source",
      description: "Omitted fields keep their values.",
      body: updateSourceBody,
      data: registrySourceRecord,
      errors: { ...PROVIDER_FAILURES, ...NOT_FOUND_ERROR },
    },
    (c, { body }) => wakeAfter(c, updateRegistrySource(c, body, Date.now())),
  );

  serve(
    router,
    {
      ...commonOptions,
      method: "delete",
      operationId: "deleteRegistrySource",
      summary: "Removes a registry source",
      description:
        "The service stops the sync at once and destroys the provider key. The entries become `Deregistered`, and disappear after thirty days.",
      body: deleteSourceBody,
      data: registrySourceRecord,
      errors: NOT_FOUND_ERROR,
    },
    (c, { body }) => wakeAfter(c, removeRegistrySource(c, body.id, Date.now())),
  );

  return router;
}

/** Wakes the sync of a source after a change. If the object cannot be woken, the cron does it within a minute. */
async function wakeAfter(
  c: AppContext,
  change: Promise<RegistrySourceRecord>,
): Promise<RegistrySourceRecord> {
  const source = await change;
  const { requestId } = c.var;
  try {
    const job = { kind: "sync", network: source.network, sourceId: source.id } as const;
    await wakeRegistryJob(c.env, job, requestId);
  } catch (error) {
    log("warn", "registry.not_woken", { requestId, source: source.id, error: String(error) });
  }
  return source;
}
