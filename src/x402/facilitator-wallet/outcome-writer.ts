/** Writes the first outcomes of payments to D1, one batch per round. */
import { db } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { toOutcome } from "../attempts/attempt-row.ts";
import { type EndedAttempt, recordFirstOutcomes } from "../attempts/record-outcomes.ts";
import type { AttemptOrder, JobStatus } from "../model/messages.ts";

/** Payers wait for the write. After this time, each payment writes its own outcome. */
const WRITE_MS = 3_000;

/**
 * What the wallet has to write, and what it is known to have written. Only in memory: a payment
 * writes its outcome itself unless it is told that the wallet has.
 */
export class OutcomeWriter {
  readonly #expected = new Map<string, { order: AttemptOrder; payer: string }>();
  readonly #beingWritten = new Set<string>();
  readonly #written = new Map<string, string>();

  /** Registers an attempt whose first outcome the wallet writes. */
  expect(order: AttemptOrder, payer: string): void {
    this.#expected.set(order.attemptId, { order, payer });
  }

  isBeingWritten(jobId: string): boolean {
    return this.#beingWritten.has(jobId);
  }

  /** Whether D1 has this outcome. From now on, the payment records outcomes itself. */
  takeRecorded(jobId: string, status: JobStatus): boolean {
    const isWritten = this.#written.get(jobId) === mark(status);
    this.#expected.delete(jobId);
    this.#written.delete(jobId);
    return isWritten;
  }

  /** Writes the outcomes that exist now. Never throws. */
  async write(env: Env, statuses: ReadonlyMap<string, JobStatus>): Promise<void> {
    const ended: EndedAttempt[] = [];
    for (const [jobId, status] of statuses) {
      const expected = this.#expected.get(jobId);
      const { state } = status;
      if (!expected || (state !== "settled" && state !== "failed")) continue;
      this.#expected.delete(jobId);
      const { order, payer } = expected;
      ended.push({ order, outcome: toOutcome(state, status, payer) });
      this.#beingWritten.add(jobId);
    }
    const [first] = ended;
    if (!first) return;
    const now = Date.now();
    try {
      const core = db(env, undefined, { writes: "idempotent", deadline: now + WRITE_MS });
      await recordFirstOutcomes(core, ended, now);
      for (const { order } of ended) {
        const status = statuses.get(order.attemptId);
        if (status) this.#written.set(order.attemptId, mark(status));
      }
      await wakeDispatcher(env, first.order.requestId);
    } catch (error) {
      log("warn", "x402.outcomes_unwritten", { outcomes: ended.length, error: String(error) });
    }
    for (const { order } of ended) this.#beingWritten.delete(order.attemptId);
  }
}

function mark({ state, transaction }: JobStatus): string {
  return `${state} ${transaction}`;
}
