import { DurableObject } from "cloudflare:workers";
import { ProviderError } from "../src/chain/provider.ts";
import { DatabaseUnavailable, db } from "../src/db/client.ts";
import { open, SealError } from "../src/db/sealed.ts";
import type { Env } from "../src/env.ts";
import { StaleCursor } from "../src/escrow/commit.ts";
import { readCursor, recordFailure, syncSource } from "../src/escrow/sync.ts";
import { log } from "../src/log.ts";
import { activeSource } from "../src/sources/active.ts";
import { providerFor } from "../src/sources/provider.ts";
import { providerKeyPlace } from "../src/sources/record.ts";
import { wakeDispatcher } from "../src/webhooks/outbox.ts";

/** How long one alarm works before it lets go and sets the next. */
const WORK_MS = 20_000;
/**
 * The database is waited for this much longer: time for the calls of a last batch, even when each
 * takes almost as long as it may.
 */
const DATABASE_MS = 60_000;

/** Errors whose message is meant for operators; any other may hold what nobody should read. */
const REPORTED = [ProviderError, SealError, DatabaseUnavailable];

/**
 * Follows one payment source. The platform runs one alarm of an object at a time, so there is one
 * pass at a time; should two objects ever run, the cursor's version lets one of them write.
 */
export class SourceCursor extends DurableObject<Env> {
  /** Asks for a pass and returns at once, so that a slow source holds nobody up. */
  async tick(sourceId: string, requestId: string): Promise<void> {
    await this.ctx.storage.put({ sourceId, requestId });
    await this.ctx.storage.setAlarm(Date.now());
  }

  /**
   * Never throws: after six failures the platform forgets an alarm. What went wrong is kept for
   * operators, and the next tick of the cron tries again.
   */
  override async alarm(): Promise<void> {
    const sourceId = await this.ctx.storage.get<string>("sourceId");
    const requestId = (await this.ctx.storage.get<string>("requestId")) ?? "";
    if (sourceId === undefined) return;
    let again: number | null = null;
    try {
      if (await this.#pass(sourceId, requestId)) again = Date.now();
    } catch (error) {
      again = await this.#failed(sourceId, requestId, error);
    }
    if (again !== null) await this.ctx.storage.setAlarm(again);
  }

  async #pass(sourceId: string, requestId: string): Promise<boolean> {
    const { env } = this;
    const deadline = Date.now() + WORK_MS;
    const network = (await activeSource(db(env), sourceId))?.network;
    const ledger = db(env, network, { writes: "idempotent", deadline: deadline + DATABASE_MS });
    const cursor = await readCursor(ledger, sourceId);
    // After the cursor: see `syncSource`.
    const source = await activeSource(db(env), sourceId);
    if (source === null || cursor === null) return false;
    const apiKey = await open(env, providerKeyPlace(sourceId), source.rpcProviderApiKey);
    return syncSource(
      {
        db: ledger,
        provider: await providerFor(env, source.network, apiKey),
        source,
        threshold: Math.max(Number(env.CONFIRMATION_THRESHOLD) || 1, 1),
        now: Date.now,
        committed: () => wakeDispatcher(env, requestId),
      },
      cursor,
      deadline,
    );
  }

  /** @returns when to try again before the cron does, epoch milliseconds; null: leave it to the cron */
  async #failed(sourceId: string, requestId: string, error: unknown): Promise<number | null> {
    // Somebody else was faster: not a failure, read again.
    if (error instanceof StaleCursor) return Date.now();
    log("error", "sync.failed", { source: sourceId, requestId, error: String(error) });
    const reason = REPORTED.some((kind) => error instanceof kind)
      ? (error as Error).message
      : `internal error, see the log of request ${requestId}`;
    try {
      const source = await activeSource(db(this.env), sourceId);
      if (source === null) return null;
      const ledger = db(this.env, source.network, { writes: "idempotent" });
      await recordFailure(ledger, sourceId, reason);
    } catch (unrecorded) {
      log("error", "sync.failure_unrecorded", { source: sourceId, error: String(unrecorded) });
    }
    return error instanceof ProviderError ? error.retryAt : null;
  }
}
