/** What a provider is used for. Each purpose fails and recovers alone. */
export const PROVIDER_PURPOSES = ["reads", "evaluate", "submit"] as const;
export type ProviderPurpose = (typeof PROVIDER_PURPOSES)[number];

/** That a provider's calls for a purpose fail. Times are epoch milliseconds. */
export interface Outage {
  since: number;
  failures: number;
  /** The provider is not probed before this time. */
  probeAt: number;
  /** Since when its calls succeed again; null: they fail. */
  recoveredAt: number | null;
  reason: string;
  /** Whether the provider does not serve such calls at all. */
  isLack?: true;
}

export type Outages = Partial<Record<ProviderPurpose, Outage>>;

/** Why a call failed. `retryAt`: when the provider allows the next one, epoch milliseconds. */
export interface CallFailure extends Pick<Outage, "reason" | "isLack"> {
  retryAt: number | null;
}

/** How long calls must succeed before a provider that failed comes first again. */
const MIN_RECOVERY_MS = 60_000;
const INITIAL_PROBE_DELAY_MS = 15_000;
const MAX_PROBE_DELAY_MS = 5 * 60_000;
/** How long a provider is not asked for what it lacks: its next release may have it. */
const LACK_PROBE_DELAY_MS = 60 * 60_000;
const MAX_REASON_LENGTH = 200;

/**
 * The outage after a call.
 *
 * @param failure - null: the call succeeded
 * @param now - epoch milliseconds
 * @returns undefined when there is none, or none any more
 */
export function recordCall(
  outage: Outage | undefined,
  failure: CallFailure | null,
  now: number,
): Outage | undefined {
  if (failure === null) {
    if (outage === undefined || outage.isLack) return undefined;
    const recoveredAt = outage.recoveredAt ?? now;
    return now - recoveredAt >= MIN_RECOVERY_MS ? undefined : { ...outage, recoveredAt };
  }
  const failures = (outage?.failures ?? 0) + 1;
  const longest = Math.min(INITIAL_PROBE_DELAY_MS * 2 ** (failures - 1), MAX_PROBE_DELAY_MS);
  const delay = failure.isLack ? LACK_PROBE_DELAY_MS : longest;
  return {
    since: outage?.since ?? now,
    failures,
    probeAt: Math.max(now + delay, failure.retryAt ?? 0),
    recoveredAt: null,
    reason: failure.reason.slice(0, MAX_REASON_LENGTH),
    ...(failure.isLack && { isLack: true }),
  };
}

/** Whether a provider need not be asked, since it does not serve such calls. */
export function isLacking(outage: Outage | undefined, now: number): boolean {
  return outage?.isLack === true && now < outage.probeAt;
}

/** Whether it matters that a call succeeded: to begin the recovery, or to end the outage. */
export function isSuccessWanted(outage: Outage | undefined, now: number): boolean {
  if (outage === undefined) return false;
  return outage.recoveredAt === null || now - outage.recoveredAt >= MIN_RECOVERY_MS;
}

/** Whether a provider that failed should be asked again. */
export function isProbeDue(outage: Outage | undefined, now: number): boolean {
  return outage !== undefined && outage.probeAt <= now && isSuccessWanted(outage, now);
}
