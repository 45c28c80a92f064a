import { DurableObject } from "cloudflare:workers";
import type { Env } from "../src/env.ts";
import type { BudgetRpc, Lease } from "../src/sources/provider.ts";

/** Hosted providers refill ten calls a second, up to a burst of 500. */
const DEFAULT_CALLS_PER_SECOND = 10;
const BURST_SECONDS = 50;
/** Below this many calls left, leases are small, so that sources sharing a key take turns. */
const SCARCE = 50;
const SCARCE_LEASE = 10;
const LONGEST_WAIT_MS = 10_000;

/** A provider that names a later time is asked again after a day all the same. */
const LONGEST_STOP_MS = 24 * 60 * 60_000;

interface State {
  /** Calls left at `at`; negative when calls are promised for later. */
  calls: number;
  /** Epoch milliseconds. */
  at: number;
  /** Nobody calls before this, in epoch milliseconds. */
  stoppedUntil: number;
}

/**
 * The call budget of one provider key: a token bucket, and the memory of a refusal. Both are
 * stored, because going on after a 402 or 429 gets the address banned, restart or not.
 */
export class ProviderBudget extends DurableObject<Env> implements BudgetRpc {
  /** Grants up to `calls` calls, or says when to come back. */
  async lease(calls: number): Promise<Lease> {
    const now = Date.now();
    const state = await this.#read(now);
    if (now < state.stoppedUntil) return { granted: 0, waitMs: 0, retryAt: state.stoppedUntil };

    const granted = Math.min(calls, state.calls < SCARCE ? SCARCE_LEASE : calls);
    const left = state.calls - granted;
    const waitMs = left < 0 ? Math.ceil((-left / this.#callsPerSecond()) * 1000) : 0;
    if (waitMs > LONGEST_WAIT_MS)
      return { granted: 0, waitMs: 0, retryAt: now + waitMs - LONGEST_WAIT_MS };

    await this.ctx.storage.put<State>("state", { ...state, calls: left });
    return { granted, waitMs, retryAt: null };
  }

  /** Stops everyone until then; a shorter refusal never shortens a longer one. */
  async refuse(until: number): Promise<void> {
    const now = Date.now();
    const state = await this.#read(now);
    const bounded = Math.min(until, now + LONGEST_STOP_MS);
    await this.ctx.storage.put<State>("state", {
      ...state,
      stoppedUntil: Math.max(state.stoppedUntil, bounded),
    });
  }

  /** The state with the calls that came back since it was written. */
  async #read(now: number): Promise<State> {
    const rate = this.#callsPerSecond();
    const burst = rate * BURST_SECONDS;
    const state = await this.ctx.storage.get<State>("state");
    if (!state) return { calls: burst, at: now, stoppedUntil: 0 };
    const refilled = ((now - state.at) / 1000) * rate;
    return { ...state, calls: Math.min(burst, state.calls + refilled), at: now };
  }

  #callsPerSecond(): number {
    return Number(this.env.PROVIDER_CALLS_PER_SECOND) || DEFAULT_CALLS_PER_SECOND;
  }
}
