import { DurableObject } from "cloudflare:workers";
import {
  type BudgetReport,
  type BudgetState,
  type CallClass,
  type CallsByClass,
  countCallsToday,
  createBudget,
  createBudgetReport,
  type Lease,
  leaseCalls,
  type Quota,
  stopCalls,
} from "../src/chain/provider/budget.ts";
import {
  type CallFailure,
  type Outages,
  type ProviderPurpose,
  recordCall,
} from "../src/chain/provider/outage.ts";
import type { Env } from "../src/env.ts";
import type { BudgetObject } from "../src/sources/provider.ts";
import type { ProviderKind } from "../src/sources/provider-list.ts";

/** What hosted providers allow. */
const DEFAULT_CALLS_PER_SECOND = 10;
/** An operator's own server has no plan; it is not to be overrun. */
const OGMIOS_QUOTA: Quota = { callsPerSecond: 100, callsPerDay: null };

/**
 * The call budget of one provider key. It is stored, because calling on after a 402 or 429 gets the
 * address banned, restart or not. It also remembers whether the provider works, for all who use it.
 */
export class ProviderBudget extends DurableObject<Env> implements BudgetObject {
  /**
   * Grants up to `calls` calls, or returns the time to ask again.
   *
   * @param by - the class of the caller. Default: sync.
   * @param key - id of the API key for which a caller's read is made
   * @param kind - of the provider, whose rate it is. Default: Blockfrost.
   */
  async lease(
    calls: number,
    by: CallClass = "sync",
    key?: string,
    kind?: ProviderKind,
  ): Promise<Lease> {
    const now = Date.now();
    const quota = kind === "Ogmios" ? OGMIOS_QUOTA : this.#readQuota();
    const before = await this.#read(now, quota);
    const { state, lease } = leaseCalls(before, quota, { calls, by, key }, now);
    if (lease.granted > 0) await this.#write(state);
    return lease;
  }

  /**
   * Stops all calls until then; a shorter refusal never shortens a longer one.
   *
   * @param until - epoch milliseconds
   */
  async refuse(until: number): Promise<void> {
    const now = Date.now();
    await this.#write(stopCalls(await this.#read(now), until, now));
  }

  /** The calls granted in this UTC day, by class. */
  async usage(): Promise<CallsByClass> {
    const now = Date.now();
    return countCallsToday(await this.#read(now), now);
  }

  /** What is left, and for whom. */
  async report(): Promise<BudgetReport> {
    const now = Date.now();
    return createBudgetReport(await this.#read(now), this.#readQuota(), now);
  }

  async readOutages(): Promise<Outages> {
    return (await this.ctx.storage.get<Outages>("outages")) ?? {};
  }

  /**
   * Records what became of a call; see `recordCall`.
   *
   * @returns the outages after it
   */
  async recordCall(purpose: ProviderPurpose, failure: CallFailure | null): Promise<Outages> {
    const { [purpose]: before, ...others } = await this.readOutages();
    const after = recordCall(before, failure, Date.now());
    const outages = { ...others, ...(after && { [purpose]: after }) };
    await this.ctx.storage.put("outages", outages);
    return outages;
  }

  /** What the release before has stored lacks some members. */
  async #read(now: number, quota = this.#readQuota()): Promise<BudgetState> {
    const stored = await this.ctx.storage.get<Partial<BudgetState>>("state");
    return { ...createBudget(quota, now), ...stored };
  }

  #write(state: BudgetState): Promise<void> {
    return this.ctx.storage.put("state", state);
  }

  #readQuota(): Quota {
    const { PROVIDER_CALLS_PER_SECOND, PROVIDER_CALLS_PER_DAY } = this.env;
    return {
      callsPerSecond: parsePositiveNumber(PROVIDER_CALLS_PER_SECOND) ?? DEFAULT_CALLS_PER_SECOND,
      callsPerDay: parsePositiveNumber(PROVIDER_CALLS_PER_DAY),
    };
  }
}

/** Null for what is no number above zero. */
function parsePositiveNumber(text: string | undefined): number | null {
  const number = Number(text);
  return number > 0 ? number : null;
}
