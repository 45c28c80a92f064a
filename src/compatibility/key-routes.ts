import * as z from "zod";
import { listKeys } from "../api-keys/api-key-record.ts";
import { createKey } from "../api-keys/create-key.ts";
import { findKeyId } from "../api-keys/find-key.ts";
import {
  API_KEY_ENDPOINTS,
  isSpendingLimited,
  openPrimaryDb,
  readOwnKey,
} from "../api-keys/routes.ts";
import { type ApiKeyRecord, apiKeyRecord } from "../api-keys/schemas.ts";
import { readSpendingByKey } from "../api-keys/spending-limits.ts";
import { changeKey, deleteKey, updateKey } from "../api-keys/update-key.ts";
import type { AppContext } from "../http/context.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { pageParametersWithTake } from "../http/openapi/parameters.ts";
import { readBudgetRemainders } from "../x402/pay/budgets.ts";
import { createKeyBody, deleteKeyBody, updateKeyBody } from "./key-bodies.ts";
import { createdExternalKey, externalKey, toExternalKey, toRegistryKey } from "./key-record.ts";
import { toKeyChanges, toNewKey } from "./to-key-changes.ts";

const { create, list, update, delete: deletion, getStatus } = API_KEY_ENDPOINTS;

/** Keys as clients of the payment service and of the registry service know them, beside our form. */
export function registerKeyRoutes(router: Router): void {
  serve(
    router,
    {
      ...create,
      description: "Fields of two forms in one request are refused.",
      body: createKeyBody,
      data: createdExternalKey,
      errors: { 404: "There is no such wallet." },
    },
    async (c, { body: { form, body } }) => {
      if (form === "own") return toRegistryKey(await createKey(c, body, Date.now()));
      return toExternalKey(await createKey(c, toNewKey(body), Date.now()));
    },
  );

  serve(
    router,
    {
      ...list,
      query: z.object(pageParametersWithTake),
      data: z.object({
        ApiKeys: described(z.array(externalKey), "The API keys."),
        apiKeys: described(z.array(apiKeyRecord), "The API keys, with our names of their rights."),
      }),
    },
    async (c, { query: { take, limit, ...query } }) => {
      const keys = await listKeys(c.env, openPrimaryDb(c), { ...query, limit: take ?? limit });
      return { ApiKeys: keys.map(await readUses(c, keys, toExternalKey)), apiKeys: keys };
    },
  );

  serve(
    router,
    {
      ...update,
      description: `${update.description} With \`id\`, \`token\` is the new token. Without \`id\`, \`token\` names the key.`,
      body: updateKeyBody,
      data: externalKey,
      errors: { ...update.errors, 404: "There is no such API key. Or there is no such wallet." },
    },
    async (c, { body: sent }) => {
      const now = Date.now();
      if (sent.form === "own") return render(c, await updateKey(c, sent.body, now), toExternalKey);
      if (sent.form === "registry") {
        const id = await findKeyId(c.env, sent.token, c.var.deadline);
        return render(c, await updateKey(c, { id, ...sent.body }, now), toRegistryKey);
      }
      const { id, status, name, returnAddresses, newToken, ...settings } = sent.body;
      const shared = { status, name, returnAddresses, newToken };
      const key = await changeKey(
        c,
        id,
        (present) => ({ ...shared, ...toKeyChanges(settings, present) }),
        now,
      );
      return render(c, key, toExternalKey);
    },
  );

  serve(router, { ...deletion, body: deleteKeyBody, data: externalKey }, async (c, { body }) => {
    if ("id" in body) return render(c, await deleteKey(c, body.id, Date.now()), toExternalKey);
    const id = await findKeyId(c.env, body.token, c.var.deadline);
    return render(c, await deleteKey(c, id, Date.now()), toRegistryKey);
  });

  serve(router, { ...getStatus, data: externalKey }, async (c) =>
    render(c, await readOwnKey(c), toExternalKey),
  );
}

async function render(c: AppContext, key: ApiKeyRecord, toAnswer: typeof toExternalKey) {
  return (await readUses(c, [key], toAnswer))(key);
}

/** Reads what keys have used of their limits, for their answers. */
async function readUses(c: AppContext, keys: ApiKeyRecord[], toAnswer: typeof toExternalKey) {
  const ids = keys.filter(isSpendingLimited).map(({ id }) => id);
  if (ids.length === 0) return (key: ApiKeyRecord) => toAnswer(key);
  const database = openPrimaryDb(c);
  const reads = [readSpendingByKey(database, ids), readBudgetRemainders(database, ids)] as const;
  const [spending, x402] = await Promise.all(reads);
  return (key: ApiKeyRecord) => toAnswer(key, spending.get(key.id), x402.get(key.id));
}
