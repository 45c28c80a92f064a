import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { RegistryCursor } from "../../../durable-objects/registry-cursor.ts";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { seal } from "../../../src/db/sealed.ts";
import type { Env } from "../../../src/env.ts";
import { registrySource } from "../../../src/registry/entries/tables.ts";
import { insertCursor } from "../../../src/registry/sync/cursor.ts";
import type { RegistryJob } from "../../../src/registry/sync/wake-registry.ts";
import { toProviderKeyEncryptionContext } from "../../../src/sources/source-row.ts";
import { call } from "../app.ts";
import type { TestChain } from "../chain.ts";
import { ASLEEP } from "../objects.ts";

/** An entry as `POST /registry-diff` shows it, as far as the tests look. */
export interface ShownEntry {
  id: string;
  name: string;
  status: string;
  statusUpdatedAt: string;
  statusReason: string | null;
  agentIdentifier: string;
  apiBaseUrl: string;
  uptimeCheckCount: number;
  uptimeCount: number;
  lastUptimeCheck: string | null;
  lastUptimeCheckError: string | null;
}

export const V1 = "Web3ChainV1";
export const V2 = "Web3ChainV2";

/** Metadata of an agent, version 1, as a registry writes it. */
export function metadataOf(name: string, overrides: Record<string, unknown> = {}) {
  return {
    name: [name],
    description: ["Answers questions ", "of any kind"],
    api_base_url: [`https://${name}.agents.example.com`],
    example_output: [
      { name: ["sample"], mime_type: ["text/plain"], url: ["https://example.com/sample"] },
    ],
    capability: { name: ["answering"], version: ["1.0.0"] },
    author: { name: ["An author"], contact_email: ["author@example.com"] },
    legal: { terms: ["https://example.com/terms"] },
    tags: ["answers", "text"],
    agentPricing: { pricingType: "Fixed", fixedPricing: [{ unit: [], amount: "5000000" }] },
    image: ["ipfs://image"],
    metadata_version: "1",
    ...overrides,
  };
}

/** A registry source on a chain, of a contract's policy or of the open one, written straight to D1. */
export async function createRegistrySource(
  chain: TestChain,
  policy: "Web3ChainV1" | "Web3ChainV2" | "open" = V1,
): Promise<string> {
  const { contracts, open } = await chain.wallets();
  if (policy === "open") return insertRegistrySource(open.policyId);
  const contract = contracts.find((one) => one.type === policy);
  if (!contract) throw new Error(`the local chain has no ${policy} contract`);
  return insertRegistrySource(contract.policyId);
}

/** A registry source of a policy, written straight to D1. */
export async function insertRegistrySource(policyId: string): Promise<string> {
  const now = Date.now();
  const id = newId(now);
  const core = openDb(env);
  await core.batch([
    core.orm
      .insert(registrySource)
      .values({
        id,
        network: "Preprod",
        policyId,
        url: null,
        note: null,
        rpcProviderApiKey: await seal(
          env,
          toProviderKeyEncryptionContext(id, "registry_source"),
          "local",
        ),
        createdById: "env-admin",
        createdAt: now,
        updatedAt: now,
      })
      .toSQL(),
    insertCursor({ id, network: "Preprod" }),
  ]);
  return id;
}

/** The object's dependencies that a test replaces. */
export interface Overrides {
  env?: Partial<Env>;
  /** Runs around every call of the object's storage. */
  storage?: <T>(run: () => Promise<T>) => Promise<T>;
}

/**
 * Runs one alarm of a job's object, without the platform's delay. Code, D1, storage and provider
 * are real. The test wakes what the job would wake.
 *
 * @returns the time of the next alarm; null: the cron does the rest
 */
export function runJob(
  job: RegistryJob,
  chainUrl: string,
  overrides: Overrides = {},
): Promise<number | null> {
  const { REGISTRY_CURSOR } = env;
  const name = job.kind === "search" ? "search" : `${job.kind}:${job.sourceId}`;
  const stub = REGISTRY_CURSOR.get(REGISTRY_CURSOR.idFromName(`test ${name}`));
  return runInDurableObject(stub, async (_, state) => {
    let alarm: number | null = null;
    const around = overrides.storage ?? ((run) => run());
    const storage = {
      get: (key: string) => around(() => state.storage.get(key)),
      getAlarm: () => around(async () => alarm),
      setAlarm: (at: number) =>
        around(async () => {
          alarm = at;
        }),
    };
    await state.storage.put({ job, requestId: "test" });
    const instance = new RegistryCursor(state, {
      ...env,
      BLOCKFROST_URL_PREPROD: chainUrl,
      REGISTRY_CURSOR: ASLEEP.REGISTRY_CURSOR,
      ...overrides.env,
    });
    Object.defineProperty(instance, "ctx", { value: { storage } });
    await instance.alarm();
    return alarm;
  });
}

/** Syncs until the object asks for no more, as the platform would. */
export async function settleRegistry(
  chain: TestChain,
  sourceId: string,
  overrides?: Overrides,
): Promise<void> {
  const job = { kind: "sync", network: "Preprod", sourceId } as const;
  for (let passes = 0; passes < 100; passes++)
    if ((await runJob(job, chain.url, overrides)) === null) return;
  throw new Error("the sync does not come to rest");
}

/** A page of the diff; the beginning unless told otherwise. */
export async function diff(body: Record<string, unknown> = {}): Promise<ShownEntry[]> {
  return ask("/registry-diff/", { statusUpdatedAfter: "1970-01-01", limit: 50, ...body });
}

/** The entries that a POST of the registry answers with. */
export async function ask(path: string, body: Record<string, unknown>): Promise<ShownEntry[]> {
  const answer = await call(`/api/v1${path}`, {
    method: "POST",
    body: JSON.stringify({ network: "Preprod", ...body }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
  return (JSON.parse(text) as { data: { entries: ShownEntry[] } }).data.entries;
}

/**
 * Reads what a sync stored of all tokens that were ever minted. It omits what differs between two
 * syncs of the same chain: ids, times, stamps and counters.
 */
export async function registryLeft(sourceId: string): Promise<unknown> {
  const entries = await openDb(env).all(
    `SELECT agent_identifier, status, json(state) AS state, api_base_url, payment_type, tags,
       capability_id, h.due_at IS NOT NULL AS checked
     FROM registry_entry AS e JOIN registry_health AS h ON h.entry_id = e.id
     WHERE e.source_id = ? AND EXISTS (SELECT 1 FROM registry_step AS s WHERE s.entry_id = e.id)
     ORDER BY agent_identifier`,
    sourceId,
  );
  const steps = await openDb(env).all(
    `SELECT agent_identifier, block_height, tx_index, tx_hash, before
     FROM registry_step JOIN registry_entry AS e ON e.id = entry_id
     WHERE e.source_id = ? ORDER BY block_height, tx_index, agent_identifier`,
    sourceId,
  );
  const cursor = await openDb(env).all(
    "SELECT recent, tip_hash, error FROM registry_cursor WHERE source_id = ?",
    sourceId,
  );
  return { entries, steps, cursor };
}

/**
 * What `registryLeft` returns, less what a token that is not minted says: more, where a rollback took
 * its mint before it was made again.
 */
export function asMinted(left: unknown): unknown {
  return JSON.parse(JSON.stringify(left), (key, value) => {
    if (key !== "before") return value;
    const before = JSON.parse(value) as { supply: string };
    return before.supply === "0" ? "not minted" : before;
  });
}
