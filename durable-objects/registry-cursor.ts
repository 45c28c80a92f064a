import { DurableObject } from "cloudflare:workers";
import { ProviderError } from "../src/chain/provider.ts";
import { DatabaseUnavailable, db } from "../src/db/client.ts";
import { open, SealError } from "../src/db/sealed.ts";
import type { Env } from "../src/env.ts";
import { undoInboxMints, writeInboxMints } from "../src/inbox/mints.ts";
import { endRegistrations, forgetRegistrations } from "../src/inbox/removal.ts";
import { log } from "../src/log.ts";
import { StaleRegistry } from "../src/registry/commit.ts";
import { checkHealth } from "../src/registry/health.ts";
import { type RegistryJob, type RegistryRpc, wakeJob } from "../src/registry/jobs.ts";
import { continueRemoval, readRemoved } from "../src/registry/removal.ts";
import { indexChanges } from "../src/registry/search-index.ts";
import { activeRegistrySource, providerKeyPlace } from "../src/registry/source-record.ts";
import { recordFailure, syncRegistry } from "../src/registry/sync.ts";
import { loopbackOrigins } from "../src/sources/development.ts";
import { providerFor } from "../src/sources/provider.ts";

/** How long one alarm works before it lets go and sets the next. */
const WORK_MS = 20_000;
/** A single statement of a pass may take this long, retries included. */
const DATABASE_MS = 30_000;
const DEFAULT_CHECK_INTERVAL_S = 1800;

/** Errors whose message is meant for operators; any other may hold what nobody should read. */
const REPORTED = [ProviderError, SealError, DatabaseUnavailable];

type SourceJob = Extract<RegistryJob, { sourceId: string }>;

/**
 * Does one job of the registry: follows a source, checks its agents, or keeps the search index of a
 * network. The platform runs one alarm of an object at a time, so there is one run at a time; should
 * two objects ever run, the versions of what they write let one of them.
 */
export class RegistryCursor extends DurableObject<Env> implements RegistryRpc {
  /** Asks for a run and returns at once, so that a slow source holds nobody up. */
  async tick(job: RegistryJob, requestId: string): Promise<void> {
    await this.ctx.storage.put({ job, requestId });
    await this.ctx.storage.setAlarm(Date.now());
  }

  /**
   * Never throws: after six failures the platform forgets an alarm. The next tick of the cron tries
   * again.
   */
  override async alarm(): Promise<void> {
    const job = await this.ctx.storage.get<RegistryJob>("job");
    const requestId = (await this.ctx.storage.get<string>("requestId")) ?? "";
    if (job === undefined) return;
    let again: number | null = null;
    try {
      if (await this.#run(job, requestId)) again = Date.now();
    } catch (error) {
      again = await this.#failed(job, requestId, error);
    }
    if (again !== null) await this.ctx.storage.setAlarm(again);
  }

  /** @returns whether there is more to do now */
  async #run(job: RegistryJob, requestId: string): Promise<boolean> {
    const deadline = Date.now() + WORK_MS;
    if (job.kind === "health") return this.#health(job, deadline);
    if (job.kind === "search") return indexChanges(this.env, job.network, deadline);
    return this.#sync(job, requestId, deadline);
  }

  async #sync(job: SourceJob, requestId: string, deadline: number): Promise<boolean> {
    const { env } = this;
    const { sourceId, network } = job;
    const ledger = db(env, network, { writes: "idempotent", deadline: deadline + DATABASE_MS });
    const removed = await readRemoved(ledger, sourceId);
    if (removed !== null)
      return continueRemoval(ledger, removed, Date.now(), {
        end: (now) => endRegistrations(ledger, removed, now),
        forget: () => forgetRegistrations(ledger, sourceId),
      });
    const source = await activeRegistrySource(db(env), sourceId);
    if (source === null) return false;
    const apiKey = await open(env, providerKeyPlace(sourceId), source.rpcProviderApiKey);
    return syncRegistry(
      {
        db: ledger,
        provider: await providerFor(env, network, apiKey),
        source,
        threshold: Math.max(Number(env.CONFIRMATION_THRESHOLD) || 1, 1),
        now: Date.now,
        follower: {
          apply: (reads, now) => writeInboxMints(source, reads, now),
          undo: (above, now) => undoInboxMints(ledger, source, above, now),
        },
        committed: () => this.#wakeFollowers(job, requestId),
      },
      deadline,
    );
  }

  async #health({ sourceId, network }: SourceJob, deadline: number): Promise<boolean> {
    const { env } = this;
    const resolverUrl = env.DNS_OVER_HTTPS_URL;
    const seconds = Number(env.HEALTH_CHECK_INTERVAL_S) || DEFAULT_CHECK_INTERVAL_S;
    return checkHealth(
      {
        // A counter that is written twice would be wrong, one that is not is only late.
        db: db(env, network, { deadline: deadline + DATABASE_MS }),
        network,
        sourceId,
        outbound: {
          loopbackOrigins: await loopbackOrigins(env, deadline),
          ...(resolverUrl && { resolverUrl }),
        },
        intervalMs: seconds * 1000,
        now: Date.now,
      },
      deadline,
    );
  }

  /** What sync found is checked and can be searched for at once; else the cron sees to it. */
  async #wakeFollowers({ sourceId, network }: SourceJob, requestId: string): Promise<void> {
    try {
      await wakeJob(this.env, { kind: "health", network, sourceId }, requestId);
      await wakeJob(this.env, { kind: "search", network }, requestId);
    } catch (error) {
      log("warn", "registry.followers_not_woken", { sourceId, requestId, error: String(error) });
    }
  }

  /** @returns when to try again before the cron does, epoch milliseconds; null: leave it to the cron */
  async #failed(job: RegistryJob, requestId: string, error: unknown): Promise<number | null> {
    // Somebody else was faster: not a failure, read again.
    if (error instanceof StaleRegistry) return Date.now();
    log("error", `registry.${job.kind}_failed`, { job, requestId, error: String(error) });
    if (job.kind !== "sync") return null;
    const reason = REPORTED.some((kind) => error instanceof kind)
      ? (error as Error).message
      : `internal error, see the log of request ${requestId}`;
    try {
      const ledger = db(this.env, job.network, { writes: "idempotent" });
      await recordFailure(ledger, job.sourceId, reason);
    } catch (unrecorded) {
      log("error", "registry.failure_unrecorded", { job, error: String(unrecorded) });
    }
    return error instanceof ProviderError ? error.retryAt : null;
  }
}
