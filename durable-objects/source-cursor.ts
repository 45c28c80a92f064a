import { DurableObject } from "cloudflare:workers";
import { openArchives } from "../src/archive/open-archives.ts";
import { type Block, CallBudgetExhaustedError } from "../src/chain/provider/provider.ts";
import { type Database, openDb } from "../src/db/client.ts";
import {
  type Env,
  readConfirmationThreshold,
  readDeadlineWarningMs,
  readSyncIntervalMs,
} from "../src/env.ts";
import { ESCROW_TABLES, readCursor } from "../src/escrow/sync/cursor.ts";
import type { SyncContext } from "../src/escrow/sync/follower.ts";
import { syncSource } from "../src/escrow/sync/sync-source.ts";
import { createEscrowWalletFinder } from "../src/escrow/tasks/wallets-with-escrows.ts";
import { wakeDispatcher } from "../src/events/outbox.ts";
import { forgetTip, recordFailure } from "../src/indexer/cursor.ts";
import { LISTING_PAGE_SIZE } from "../src/indexer/list-pending.ts";
import { reportFailure } from "../src/indexer/report-failure.ts";
import { log } from "../src/log.ts";
import { checkService } from "../src/observability/check-service.ts";
import { resolveChainClock } from "../src/sources/chain-clock.ts";
import type { SourceObject } from "../src/sources/cursor.ts";
import { findActiveSource } from "../src/sources/find-source.ts";
import { listActiveWallets } from "../src/wallets/managed/find-wallet.ts";
import { findWalletsToResend } from "../src/wallets/queue/due-wallets.ts";
import { wakeWalletsOfFeatures } from "../src/wallets/queue/wake-wallet.ts";
import { runAlarm } from "./alarm.ts";
import { ProviderPasses } from "./provider-passes.ts";

/** How long one alarm works before it yields and sets the next. */
const MAX_RUN_MS = 20_000;
/** How long a tip that another reader has read is good enough. */
const TIP_MAX_AGE_MS = 2_000;
/**
 * Extra time for the database: enough for the calls of a last batch, even if each takes almost its
 * limit.
 */
const DATABASE_TIMEOUT_MS = 60_000;

/**
 * Follows one payment source: on request, and in between as often as the budget has calls for it. The
 * platform runs one alarm of an object at a time, so there is one pass at a time. If two objects ever
 * run, the cursor's version lets only one of them write.
 */
export class SourceCursor extends DurableObject<Env> implements SourceObject {
  #tip: { block: Block; at: number } | null = null;
  readonly #passes = new ProviderPasses();

  /**
   * Requests a pass and returns immediately, so that a slow source delays nobody.
   *
   * @param tip - of its provider, if that was asked just now
   */
  async tick(sourceId: string, requestId: string, tip: Block | null = null): Promise<void> {
    this.#tip = tip && { block: tip, at: Date.now() };
    await this.ctx.storage.put({ sourceId, requestId, isAsked: true });
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Runs a pass; an error is kept for operators. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    const sourceId = await storage.get<string>("sourceId");
    const requestId = (await storage.get<string>("requestId")) ?? "";
    if (sourceId === undefined) return;
    // The release before asks without saying so.
    const isAsked = (await storage.get<boolean>("isAsked")) ?? true;
    if (isAsked) await storage.put({ isAsked: false });
    await runAlarm(
      storage,
      () => this.#runPass(sourceId, requestId, isAsked ? "sync" : "idle"),
      async (error) => {
        // This pass was not requested. The cron requests one, and has separate calls.
        if (!isAsked && error instanceof CallBudgetExhaustedError) return null;
        return reportFailure(error, {
          requestId,
          events: { failed: "sync.failed", unrecorded: "sync.failure_unrecorded" },
          logFields: { source: sourceId },
          record: async (reason) => {
            await this.#recordFailure(sourceId, reason);
            // The cron's check would find it a minute later.
            await checkService(this.env, requestId, Date.now());
          },
        });
      },
    );
  }

  /** @returns when to make the next, epoch milliseconds; null: when it is asked for */
  async #runPass(
    sourceId: string,
    requestId: string,
    use: "sync" | "idle",
  ): Promise<number | null> {
    const { env } = this;
    const deadline = Date.now() + MAX_RUN_MS;
    const network = (await findActiveSource(openDb(env), sourceId))?.network;
    const database = openDb(env, network, {
      writes: "idempotent",
      deadline: deadline + DATABASE_TIMEOUT_MS,
    });
    const known = this.#tip;
    this.#tip = null;
    let hasCommitted = false;
    try {
      const hasMore = await this.#passes.run(env, use, requestId, async () => {
        const cursor = await readCursor(database, sourceId);
        // After the cursor: see `syncSource`.
        const source = await findActiveSource(openDb(env), sourceId);
        if (source === null || cursor === null) return null;
        const wallets = await listActiveWallets(openDb(env), [sourceId]);
        const context: Omit<SyncContext, "provider" | "tip"> = {
          db: database,
          source: { ...source, wallets },
          archives: openArchives(env),
          threshold: readConfirmationThreshold(env),
          warnBeforeMs: readDeadlineWarningMs(env),
          now: Date.now,
          onCommit: () => {
            hasCommitted = true;
            return wakeDispatcher(env, requestId);
          },
        };
        return {
          ...{ source, cursor },
          run({ isListed, provider, confirmRollback }) {
            // Of several providers, one is read from the tip on.
            const isFresh = known && !isListed && Date.now() - known.at < TIP_MAX_AGE_MS;
            const tip = isFresh ? known.block : null;
            const all = { ...context, provider, confirmRollback, tip };
            return syncSource(all, cursor, deadline);
          },
          listRecent: (provider, from) =>
            provider.addressTransactions(source.contractAddress, {
              ...(from !== undefined && { from }),
              ...{ page: 1, count: LISTING_PAGE_SIZE },
            }),
          forgetTip: () => forgetTip(database, ESCROW_TABLES, sourceId),
        };
      });
      if (hasMore !== false) return hasMore && Date.now();
    } finally {
      if (hasCommitted) await this.#wakeWallets(database, sourceId, requestId);
    }
    const interval = readSyncIntervalMs(env);
    return interval && Date.now() + interval;
  }

  /** Has wallets do at once what the records are due for by now. Never throws: the cron wakes them too. */
  async #wakeWallets(database: Database, sourceId: string, requestId: string): Promise<void> {
    const { env } = this;
    try {
      const clock = await resolveChainClock(env, Date.now() + DATABASE_TIMEOUT_MS);
      const features = [createEscrowWalletFinder(clock, sourceId), findWalletsToResend];
      await wakeWalletsOfFeatures(env, database, features, requestId);
    } catch (error) {
      log("warn", "wallet.wake_failed", { source: sourceId, requestId, error: String(error) });
    }
  }

  async #recordFailure(sourceId: string, reason: string): Promise<void> {
    const source = await findActiveSource(openDb(this.env), sourceId);
    if (source === null) return;
    const database = openDb(this.env, source.network, { writes: "idempotent" });
    await recordFailure(database, ESCROW_TABLES, sourceId, reason);
  }
}
