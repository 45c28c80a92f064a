import { DurableObject } from "cloudflare:workers";
import { openDb } from "../src/db/client.ts";
import { type Env, readConfirmationThreshold } from "../src/env.ts";
import { listLoopbackOrigins } from "../src/http/outbound/loopback-origins.ts";
import { deleteRegistrations, endRegistrations } from "../src/inbox/end-registrations.ts";
import { undoInboxMints, writeInboxMints } from "../src/inbox/write-inbox-mints.ts";
import { forgetTip, recordFailure } from "../src/indexer/cursor.ts";
import { reportFailure } from "../src/indexer/report-failure.ts";
import { log } from "../src/log.ts";
import { checkService } from "../src/observability/check-service.ts";
import { reopenRegistrations } from "../src/registrations/store.ts";
import { checkAgentHealth } from "../src/registry/health/check-agents.ts";
import { indexChanges } from "../src/registry/search/index-changes.ts";
import { findActiveRegistrySource } from "../src/registry/sources/list-registry-sources.ts";
import { continueRemoval, loadRemovedSource } from "../src/registry/sync/continue-removal.ts";
import { REGISTRY_TABLES, readCursor } from "../src/registry/sync/cursor.ts";
import { listRecentMints } from "../src/registry/sync/list-mints.ts";
import type { MintListener } from "../src/registry/sync/mint-listener.ts";
import { syncRegistry } from "../src/registry/sync/sync-registry.ts";
import {
  type RegistryJob,
  type RegistryObject,
  wakeRegistryJob,
} from "../src/registry/sync/wake-registry.ts";
import { runAlarm } from "./alarm.ts";
import { ProviderPasses } from "./provider-passes.ts";

/** How long one alarm works before it yields and sets the next. */
const MAX_RUN_MS = 20_000;
/** A single statement of a pass may take this long, retries included. */
const DATABASE_TIMEOUT_MS = 30_000;
const DEFAULT_CHECK_INTERVAL_S = 1800;

type SourceJob = Extract<RegistryJob, { sourceId: string }>;

/**
 * Does one job of the registry: follows a source, checks its agents, or keeps the search index of a
 * network. The platform runs one alarm of an object at a time, so there is one run at a time. If two
 * objects ever run, the versions of the rows let only one of them write.
 */
export class RegistryCursor extends DurableObject<Env> implements RegistryObject {
  readonly #passes = new ProviderPasses();

  /** Requests a run and returns immediately, so that a slow source delays nobody. */
  async tick(job: RegistryJob, requestId: string): Promise<void> {
    await this.ctx.storage.put({ job, requestId });
    await this.ctx.storage.setAlarm(Date.now());
  }

  override async alarm(): Promise<void> {
    const job = await this.ctx.storage.get<RegistryJob>("job");
    const requestId = (await this.ctx.storage.get<string>("requestId")) ?? "";
    if (job === undefined) return;
    await runAlarm(
      this.ctx.storage,
      async () => ((await this.#run(job, requestId)) ? Date.now() : null),
      (error) =>
        reportFailure(error, {
          requestId,
          events: {
            failed: `registry.${job.kind}_failed`,
            unrecorded: "registry.failure_unrecorded",
          },
          logFields: { job },
          ...(job.kind === "sync" && {
            record: async (reason: string) => {
              await this.#recordFailure(job, reason);
              // The cron's check would find it a minute later.
              await checkService(this.env, requestId, Date.now());
            },
          }),
        }),
    );
  }

  /** @returns whether there is more to do now */
  async #run(job: RegistryJob, requestId: string): Promise<boolean> {
    const deadline = Date.now() + MAX_RUN_MS;
    if (job.kind === "health") return this.#checkHealth(job, deadline);
    if (job.kind === "search") return indexChanges(this.env, job.network, deadline);
    return this.#sync(job, requestId, deadline);
  }

  async #sync(job: SourceJob, requestId: string, deadline: number): Promise<boolean> {
    const { env } = this;
    const { sourceId, network } = job;
    const database = openDb(env, network, {
      writes: "idempotent",
      deadline: deadline + DATABASE_TIMEOUT_MS,
    });
    const removed = await loadRemovedSource(database, sourceId);
    if (removed !== null)
      return continueRemoval(database, removed, Date.now(), {
        end: (now) => endRegistrations(database, removed, now),
        deleteAll: () => deleteRegistrations(database, sourceId),
      });
    const hasMore = await this.#passes.run(env, "sync", requestId, async () => {
      const cursor = await readCursor(database, sourceId);
      const source = await findActiveRegistrySource(openDb(env), sourceId);
      if (source === null || cursor === null) return null;
      const context = {
        ...{ db: database, source, now: Date.now },
        threshold: readConfirmationThreshold(env),
        listener: {
          apply: (reads, now) => writeInboxMints(source, reads, now),
          undoAgents: (agents, above, now) => reopenRegistrations(network, agents, above, now),
          undo: (above, now) => undoInboxMints(database, source, above, now),
        } satisfies MintListener,
        onCommit: () => this.#wakeDependentJobs(job, requestId),
      };
      return {
        ...{ source, cursor },
        run: ({ provider, confirmRollback }) =>
          syncRegistry({ ...context, provider, confirmRollback }, cursor, deadline),
        listRecent: (provider) =>
          listRecentMints(provider, source.policyId, sourceId, cursor.recent),
        forgetTip: () => forgetTip(database, REGISTRY_TABLES, sourceId),
      };
    });
    return hasMore === true;
  }

  async #checkHealth({ sourceId, network }: SourceJob, deadline: number): Promise<boolean> {
    const { env } = this;
    const resolverUrl = env.DNS_OVER_HTTPS_URL;
    const seconds = Number(env.HEALTH_CHECK_INTERVAL_S) || DEFAULT_CHECK_INTERVAL_S;
    return checkAgentHealth(
      {
        // A counter written twice would be wrong; one not written is only late.
        db: openDb(env, network, { deadline: deadline + DATABASE_TIMEOUT_MS }),
        network,
        sourceId,
        fetchOptions: {
          loopbackOrigins: await listLoopbackOrigins(env, deadline),
          ...(resolverUrl && { resolverUrl }),
        },
        intervalMs: seconds * 1000,
        now: Date.now,
      },
      deadline,
    );
  }

  /** What sync found is checked and indexed immediately; if that fails, the cron does it. */
  async #wakeDependentJobs({ sourceId, network }: SourceJob, requestId: string): Promise<void> {
    try {
      await wakeRegistryJob(this.env, { kind: "health", network, sourceId }, requestId);
      await wakeRegistryJob(this.env, { kind: "search", network }, requestId);
    } catch (error) {
      log("warn", "registry.followers_not_woken", { sourceId, requestId, error: String(error) });
    }
  }

  async #recordFailure({ sourceId, network }: SourceJob, reason: string): Promise<void> {
    const database = openDb(this.env, network, { writes: "idempotent" });
    await recordFailure(database, REGISTRY_TABLES, sourceId, reason);
  }
}
