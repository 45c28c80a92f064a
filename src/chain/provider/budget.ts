/**
 * Decides who may call the provider now. All users of a key share its allowance: a burst that refills
 * evenly, and calls for each UTC day if the key has a quota. The classes above a class may use what it
 * leaves.
 */

/** On whose behalf calls are made; who may use the last one comes first. */
export type CallClass =
  /** A step that has to be done before a deadline. */
  | "deadline"
  /** Following the chain, and transactions under way. */
  | "sync"
  /** Wallets and agents, and what Admins set up. */
  | "wallet"
  /** A caller's read that has made calls already: it ends before others begin. */
  | "begunRead"
  /** A caller's read. */
  | "read"
  /** Following the chain where nobody waits for it, more often than the cron does. */
  | "idle";

interface ClassRules {
  /** Part of the burst that it never touches. */
  reservedBurstShare: number;
  /** Seconds whose calls are promised to it before they are back. Default 0: it has to ask again. */
  maxAdvanceS?: number;
  /** Part of the day's quota that it never touches. */
  reservedDayShare: number;
  /**
   * Part of the rest that all together may have used when the day begins, for it to get more. That
   * grows evenly to the whole rest when the day ends.
   */
  initialDayShare: number;
  /**
   * For callers: part of the burst that one API key may have at once. Of the day, all keys together
   * get at most half of what the other classes left. Left out: not a caller's.
   */
  burstSharePerKey?: number;
  /** The day's quota that it goes by where none is known; left out: none. */
  assumedPerDay?: number;
}

/** What the smallest plan of a hosted provider allows in a day. */
const MIN_PLAN_CALLS = 50_000;

export const CALL_CLASSES: Readonly<Record<CallClass, ClassRules>> = {
  deadline: { reservedBurstShare: 0, reservedDayShare: 0, initialDayShare: 1, maxAdvanceS: 20 },
  sync: {
    reservedBurstShare: 0.02,
    reservedDayShare: 0.01,
    initialDayShare: 0.5,
    maxAdvanceS: 10,
  },
  wallet: { reservedBurstShare: 0.25, reservedDayShare: 0.1, initialDayShare: 0.25 },
  begunRead: {
    reservedBurstShare: 0.5,
    reservedDayShare: 0.1,
    initialDayShare: 0.05,
    burstSharePerKey: 0.2,
  },
  read: {
    reservedBurstShare: 0.6,
    reservedDayShare: 0.1,
    initialDayShare: 0.05,
    burstSharePerKey: 0.1,
  },
  idle: {
    reservedBurstShare: 0.7,
    reservedDayShare: 0.55,
    initialDayShare: 0.05,
    // What nobody waits for never uses up a plan of which nobody told us.
    assumedPerDay: MIN_PLAN_CALLS,
  },
};

/** Hosted providers allow a burst of fifty seconds' calls. */
const BURST_DURATION_S = 50;
/** Part of what comes back that is one API key's. */
const KEY_REFILL_SHARE = 0.2;
/** With fewer calls left, leases are small, so that those who share a key take turns. */
const SCARCE_CALLS = 50;
const MAX_SCARCE_LEASE = 10;
const DAY_MS = 24 * 60 * 60_000;
/** Even if a provider names a later time, it is asked again after a day. */
const MAX_STOP_MS = DAY_MS;

/** What a provider key allows. */
export interface Quota {
  callsPerSecond: number;
  /** Calls in a UTC day; null: as many as the seconds allow. */
  callsPerDay: number | null;
}

/** What is left of a provider key's calls. Numbers of calls may be fractions. */
export interface BudgetState {
  /** When this was so, epoch milliseconds. */
  at: number;
  /** Calls that may be made now. */
  calls: number;
  /** Calls granted before they are back: what comes back is theirs first. */
  promised: number;
  /** No calls are made before this, epoch milliseconds. */
  stoppedUntil: number;
  /** Calls that API keys have had and that are not back yet, by the keys' ids. */
  byKey: ReadonlyMap<string, number>;
  /** The UTC day since 1970, and the calls granted in it: all, those of callers, and of each class. */
  day: { number: number; used: number; byCallers: number; byClass?: CallsByClass };
}

/** Calls granted to the classes that had any. */
export type CallsByClass = Readonly<Partial<Record<CallClass, number>>>;

export interface CallRequest {
  calls: number;
  by: CallClass;
  /** Id of the API key of a caller's read. */
  key?: string | undefined;
}

/** The answer to a request for calls. */
export interface Lease {
  /** Calls granted, fewer than asked for if not all are there; 0 when there are none. */
  granted: number;
  /** Milliseconds to wait before the first of them. */
  waitMs: number;
  /** Epoch milliseconds; set when nothing was granted. */
  retryAt: number | null;
}

/** The budget of a key that nobody has used. @param now - epoch milliseconds */
export function createBudget(quota: Quota, now: number): BudgetState {
  return {
    at: now,
    calls: computeBurst(quota),
    promised: 0,
    stoppedUntil: 0,
    byKey: new Map(),
    day: { number: toDayNumber(now), used: 0, byCallers: 0 },
  };
}

/**
 * Grants calls, or says when to ask again.
 *
 * @param now - epoch milliseconds
 * @returns the lease, and the budget without what it grants
 */
export function leaseCalls(
  before: BudgetState,
  quota: Quota,
  request: CallRequest,
  now: number,
): { state: BudgetState; lease: Lease } {
  const state = refillBudget(before, quota, now);
  const rules = CALL_CLASSES[request.by];
  const limits = [
    { free: now < state.stoppedUntil ? 0 : Number.POSITIVE_INFINITY, freeAt: state.stoppedUntil },
    computeBurstLimit(state, quota, rules),
    computeKeyLimit(state, quota, rules, request.key),
    computeDayLimit(state, quota, rules),
  ];
  const here = Math.max(state.calls - computeBurst(quota) * rules.reservedBurstShare, 0);
  const most = here < SCARCE_CALLS ? MAX_SCARCE_LEASE : request.calls;
  const free = Math.min(request.calls, most, ...limits.map((one) => one.free));
  const granted = Math.max(Math.floor(free), 0);
  if (granted === 0) {
    const times = limits.filter((one) => one.free < 1).map(({ freeAt }) => Math.ceil(freeAt));
    // What lacks no more than a rounding would be there now by these times.
    const retryAt = Math.max(now + 1, ...times);
    return { state, lease: { granted, waitMs: 0, retryAt } };
  }
  const promised = Math.max(granted - here, 0);
  const taken = recordGrant(state, request, granted, promised);
  const waitMs = promised > 0 ? Math.ceil(computeRefillMs(taken.promised, quota)) : 0;
  return { state: taken, lease: { granted, waitMs, retryAt: null } };
}

/**
 * Stops all calls until a time; a shorter stop never shortens a longer one.
 *
 * @param until - epoch milliseconds, as `now`
 */
export function stopCalls(state: BudgetState, until: number, now: number): BudgetState {
  const bounded = Math.min(until, now + MAX_STOP_MS);
  return { ...state, stoppedUntil: Math.max(state.stoppedUntil, bounded) };
}

/** The calls granted in the UTC day of a time, by class. @param now - epoch milliseconds */
export function countCallsToday({ day }: BudgetState, now: number): CallsByClass {
  return day.number === toDayNumber(now) ? (day.byClass ?? {}) : {};
}

/** What is left of a provider key's calls, and for whom. Times are epoch milliseconds. */
export interface BudgetReport extends Quota {
  /** Calls granted in this UTC day. */
  usedToday: number;
  /** No calls are made before this; null: they are. */
  stoppedUntil: number | null;
  classes: {
    class: CallClass;
    usedToday: number;
    /** Calls that it would be given at once; as a caller's, an API key that had none lately. */
    availableNow: number;
    /** When it would be given one, if the others asked for nothing; null: now. */
    availableAt: number | null;
  }[];
}

/** More than any burst. */
const UNBOUNDED_CALLS = 1_000_000;
/** No API key has this id. */
const NO_KEY_ID = "";

/** Asks the budget as each class would, and takes nothing. @param now - epoch milliseconds */
export function createBudgetReport(state: BudgetState, quota: Quota, now: number): BudgetReport {
  const used = countCallsToday(state, now);
  const classes = (Object.keys(CALL_CLASSES) as CallClass[]).map((by) => {
    const { lease } = leaseCalls(state, quota, { calls: UNBOUNDED_CALLS, by, key: NO_KEY_ID }, now);
    return {
      class: by,
      usedToday: used[by] ?? 0,
      availableNow: lease.granted,
      availableAt: lease.retryAt,
    };
  });
  return {
    ...quota,
    usedToday: classes.reduce((sum, { usedToday }) => sum + usedToday, 0),
    stoppedUntil: state.stoppedUntil > now ? state.stoppedUntil : null,
    classes,
  };
}

/** The state with what came back since. */
function refillBudget(state: BudgetState, quota: Quota, now: number): BudgetState {
  const passedS = Math.max(now - state.at, 0) / 1000;
  const back = passedS * quota.callsPerSecond;
  const paid = Math.min(state.promised, back);
  const ofKeys = passedS * computeKeyRefillRate(quota);
  const number = toDayNumber(now);
  return {
    ...state,
    at: now,
    calls: Math.min(computeBurst(quota), state.calls + back - paid),
    promised: state.promised - paid,
    byKey: new Map(
      [...state.byKey]
        .map(([key, had]) => [key, had - ofKeys] as const)
        .filter(([, had]) => had > 0),
    ),
    day: number === state.day.number ? state.day : { number, used: 0, byCallers: 0 },
  };
}

function recordGrant(
  state: BudgetState,
  { by, key = "" }: CallRequest,
  granted: number,
  promised: number,
): BudgetState {
  const { byKey, day } = state;
  const isCaller = CALL_CLASSES[by].burstSharePerKey !== undefined;
  return {
    ...state,
    calls: state.calls - (granted - promised),
    promised: state.promised + promised,
    byKey: isCaller ? new Map([...byKey, [key, (byKey.get(key) ?? 0) + granted]]) : byKey,
    day: {
      ...day,
      used: day.used + granted,
      byCallers: day.byCallers + (isCaller ? granted : 0),
      byClass: { ...day.byClass, [by]: (day.byClass?.[by] ?? 0) + granted },
    },
  };
}

/** What one of the limits allows, and the time (epoch milliseconds) at which it allows one call. */
interface CallLimit {
  free: number;
  freeAt: number;
}

function computeBurstLimit(
  state: BudgetState,
  quota: Quota,
  { reservedBurstShare, maxAdvanceS = 0 }: ClassRules,
): CallLimit {
  const here = state.calls - computeBurst(quota) * reservedBurstShare;
  const free = here + maxAdvanceS * quota.callsPerSecond - state.promised;
  return { free, freeAt: state.at + computeRefillMs(1 - free, quota) };
}

const UNLIMITED: CallLimit = { free: Number.POSITIVE_INFINITY, freeAt: 0 };

function computeKeyLimit(
  state: BudgetState,
  quota: Quota,
  { burstSharePerKey }: ClassRules,
  key = "",
): CallLimit {
  if (burstSharePerKey === undefined) return UNLIMITED;
  const free = computeBurst(quota) * burstSharePerKey - (state.byKey.get(key) ?? 0);
  return { free, freeAt: state.at + ((1 - free) / computeKeyRefillRate(quota)) * 1000 };
}

function computeDayLimit(
  { at, day }: BudgetState,
  quota: Quota,
  { reservedDayShare, initialDayShare, burstSharePerKey, assumedPerDay }: ClassRules,
): CallLimit {
  const callsPerDay = quota.callsPerDay ?? assumedPerDay;
  if (callsPerDay === undefined) return UNLIMITED;
  const begin = day.number * DAY_MS;
  const rest = callsPerDay * (1 - reservedDayShare);
  const passed = initialDayShare + (1 - initialDayShare) * ((at - begin) / DAY_MS);
  const byOthers = day.used - day.byCallers;
  const isCaller = burstSharePerKey !== undefined;
  const free = isCaller ? (rest * passed - byOthers) / 2 - day.byCallers : rest * passed - day.used;
  const needed = isCaller ? byOthers + 2 * (day.byCallers + 1) : day.used + 1;
  const neededPart = (needed / rest - initialDayShare) / (1 - initialDayShare);
  return { free, freeAt: begin + DAY_MS * (neededPart <= 1 ? neededPart : 1) };
}

/** Milliseconds in which so many calls come back. */
function computeRefillMs(calls: number, { callsPerSecond }: Quota): number {
  return (calls / callsPerSecond) * 1000;
}

function computeBurst({ callsPerSecond }: Quota): number {
  return callsPerSecond * BURST_DURATION_S;
}

/** What one API key gets back in a second: no more than its part of an even day. */
function computeKeyRefillRate({ callsPerSecond, callsPerDay }: Quota): number {
  const even = callsPerDay === null ? Number.POSITIVE_INFINITY : callsPerDay / (DAY_MS / 1000);
  return Math.min(callsPerSecond, even) * KEY_REFILL_SHARE;
}

function toDayNumber(now: number): number {
  return Math.floor(now / DAY_MS);
}
