/** Writes the first outcomes of payments to D1, one batch per round. */
import { openDb } from "../../db/client.ts";
import { trackPrimaryBookmark } from "../../db/primary-bookmark.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { toAttemptOutcome } from "../attempts/attempt-row.ts";
import { type EndedAttempt, recordFirstOutcomes } from "../attempts/record-outcomes.ts";
import type { AttemptOrder, JobStatus } from "../model/messages.ts";

/** Payers wait for the write. After this time, each payment writes its own outcome. */
const WRITE_TIMEOUT_MS = 3_000;

/**
 * What the wallet has to write, and what it is known to have written. Only in memory: a payment
 * writes its outcome itself unless it is told that the wallet has.
 */
export class OutcomeWriter {
  readonly #expectedOutcomes = new Map<string, { order: AttemptOrder; payer: string }>();
  readonly #jobIdsInProgress = new Set<string>();
  readonly #writtenOutcomes = new Map<string, { outcome: string; bookmark: string | null }>();

  /** Registers an attempt whose first outcome the wallet writes. */
  expectOutcome(order: AttemptOrder, payer: string): void {
    this.#expectedOutcomes.set(order.attemptId, { order, payer });
  }

  isBeingWritten(jobId: string): boolean {
    return this.#jobIdsInProgress.has(jobId);
  }

  /** Adds whether D1 has this outcome. From now on, the payment records outcomes itself. */
  confirmRecorded(jobId: string, status: JobStatus): JobStatus {
    const recorded = this.#writtenOutcomes.get(jobId);
    this.#expectedOutcomes.delete(jobId);
    this.#writtenOutcomes.delete(jobId);
    if (recorded?.outcome !== toOutcomeKey(status)) return { ...status, isRecorded: false };
    return { ...status, isRecorded: true, bookmark: recorded.bookmark };
  }

  /** Writes the outcomes that exist now. Never throws. */
  async write(env: Env, statuses: ReadonlyMap<string, JobStatus>): Promise<void> {
    const ended: EndedAttempt[] = [];
    for (const [jobId, status] of statuses) {
      const expected = this.#expectedOutcomes.get(jobId);
      const { state } = status;
      if (!expected || (state !== "settled" && state !== "failed")) continue;
      this.#expectedOutcomes.delete(jobId);
      const { order, payer } = expected;
      ended.push({ order, outcome: toAttemptOutcome(state, status, payer) });
      this.#jobIdsInProgress.add(jobId);
    }
    const [first] = ended;
    if (!first) return;
    const now = Date.now();
    try {
      const core = openDb(env, undefined, {
        writes: "idempotent",
        deadline: now + WRITE_TIMEOUT_MS,
      });
      const { result: hasEvent, bookmark } = await trackPrimaryBookmark(() =>
        recordFirstOutcomes(core, ended, now),
      );
      for (const { order } of ended) {
        const status = statuses.get(order.attemptId);
        if (status)
          this.#writtenOutcomes.set(order.attemptId, { outcome: toOutcomeKey(status), bookmark });
      }
      // No payer waits for the dispatcher.
      if (hasEvent) void wakeDispatcher(env, first.order.requestId);
    } catch (error) {
      log("warn", "x402.outcomes_unwritten", { outcomes: ended.length, error: String(error) });
    }
    for (const { order } of ended) this.#jobIdsInProgress.delete(order.attemptId);
  }
}

function toOutcomeKey({ state, transaction }: JobStatus): string {
  return `${state} ${transaction}`;
}
