import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BudgetState,
  CALL_CLASSES,
  type CallClass,
  type CallRequest,
  createBudget,
  leaseCalls,
  type Quota,
  stopCalls,
} from "../../../src/chain/provider/budget.ts";
import { runs } from "../../support/effort.ts";

const MIDNIGHT = Date.UTC(2026, 0, 15);
const MIDDAY = Date.UTC(2026, 0, 15, 12);
const LAST_MS = Date.UTC(2026, 0, 16) - 1;

/** What hosted providers allow: a burst of 500. */
const HOSTED: Quota = { callsPerSecond: 10, callsPerDay: null };

/** Leases until nothing is granted without a wait. */
function drain(before: BudgetState, quota: Quota, by: CallClass, now: number, key?: string) {
  let [state, granted] = [before, 0];
  for (;;) {
    const { state: next, lease } = leaseCalls(state, quota, { calls: 50, by, key }, now);
    if (lease.granted === 0 || lease.waitMs > 0) return { state, granted, lease };
    granted += lease.granted;
    state = next;
  }
}

/** The same for callers with so many API keys. */
function drainByKeys(before: BudgetState, quota: Quota, by: CallClass, now: number, keys: number) {
  let [state, granted] = [before, 0];
  for (let key = 0; key < keys; key++) {
    const one = drain(state, quota, by, now, `key-${key}`);
    state = one.state;
    granted += one.granted;
  }
  return { state, granted };
}

describe("of a full burst", () => {
  it.each([
    ["deadline", 500],
    ["sync", 490],
    ["wallet", 375],
    ["begunRead", 250],
    ["read", 200],
    ["idle", 150],
  ] as const)("%s gets %i calls at once, and leaves the rest", (by, calls) => {
    expect(drainByKeys(createBudget(HOSTED, MIDDAY), HOSTED, by, MIDDAY, 20).granted).toBe(calls);
  });

  it("one API key gets a fifth, half of that for reads that begin", () => {
    const full = createBudget(HOSTED, MIDDAY);
    expect(drain(full, HOSTED, "read", MIDDAY, "a").granted).toBe(50);
    const { state, granted } = drain(full, HOSTED, "begunRead", MIDDAY, "a");
    expect(granted).toBe(100);
    expect(drain(state, HOSTED, "begunRead", MIDDAY, "b").granted).toBe(100);
    // A fifth of what comes back is the key's.
    expect(drain(state, HOSTED, "begunRead", MIDDAY + 5_000, "a").granted).toBe(10);
  });

  it("sync is promised what comes back in ten seconds, in turn", () => {
    let { state } = drain(createBudget(HOSTED, MIDDAY), HOSTED, "sync", MIDDAY);
    for (let turn = 1; turn <= 10; turn++) {
      const leased = leaseCalls(state, HOSTED, { calls: 50, by: "sync" }, MIDDAY);
      expect(leased.lease).toEqual({ granted: 10, waitMs: turn * 1_000, retryAt: null });
      state = leased.state;
    }
    const { lease } = leaseCalls(state, HOSTED, { calls: 50, by: "sync" }, MIDDAY);
    expect(lease).toEqual({ granted: 0, waitMs: 0, retryAt: MIDDAY + 100 });
    // What it left is there for a deadline all the same, and at once.
    const last = leaseCalls(state, HOSTED, { calls: 4, by: "deadline" }, MIDDAY);
    expect(last.lease).toEqual({ granted: 4, waitMs: 0, retryAt: null });
  });
});

describe("of a day's quota", () => {
  // So fast that the burst limits nothing.
  const quota: Quota = { callsPerSecond: 100_000, callsPerDay: 50_000 };

  it.each([
    ["deadline", 50_000, 50_000, 50_000],
    ["sync", 24_750, 37_125, 49_499],
    ["wallet", 11_250, 28_125, 44_999],
    ["begunRead", 1_125, 11_812, 22_499],
    ["read", 1_125, 11_812, 22_499],
    ["idle", 1_124, 11_812, 22_499],
  ] as const)(
    "%s may have used %i calls at midnight, %i at midday, %i in the end",
    (by, ...most) => {
      const times = [MIDNIGHT, MIDDAY, LAST_MS];
      expect(
        times.map((now) => drainByKeys(createBudget(quota, now), quota, by, now, 20).granted),
      ).toEqual(most);
    },
  );

  it("idle goes by the smallest plan where no quota is known, whoever made the calls", () => {
    const unknown: Quota = { ...quota, callsPerDay: null };
    const { state, granted } = drain(createBudget(unknown, MIDDAY), unknown, "idle", MIDDAY);
    expect(granted).toBe(11_812);
    const { lease } = leaseCalls(state, unknown, { calls: 1, by: "idle" }, MIDDAY);
    expect(lease.retryAt).toBeGreaterThan(MIDDAY);
    expect(leaseCalls(state, unknown, { calls: 50, by: "read" }, MIDDAY).lease.granted).toBe(50);
    const day = { ...state.day, used: 22_500 };
    const busy = { ...createBudget(unknown, LAST_MS), day };
    expect(leaseCalls(busy, unknown, { calls: 1, by: "idle" }, LAST_MS).lease.granted).toBe(0);
  });

  it("the last tenth is there for sync, and the very last calls for a deadline", () => {
    let { state } = drain(createBudget(quota, LAST_MS), quota, "wallet", LAST_MS);
    const drained = (by: CallClass) => {
      const one = drain(state, quota, by, LAST_MS);
      state = one.state;
      return one.granted;
    };
    expect([drained("read"), drained("sync"), drained("deadline")]).toEqual([0, 4_500, 501]);
    const { lease } = leaseCalls(state, quota, { calls: 1, by: "deadline" }, LAST_MS);
    expect(lease.retryAt).toBe(LAST_MS + 1);
    expect(drain(state, quota, "wallet", LAST_MS + 1).granted).toBe(11_250);
  });

  it("one API key gets back no more than a fifth of an even day", () => {
    const even: Quota = { callsPerSecond: 10, callsPerDay: 24 * 3_600 };
    const { state } = drain(createBudget(even, MIDDAY), even, "begunRead", MIDDAY, "a");
    expect(drain(state, even, "begunRead", MIDDAY + 50_000, "a").granted).toBe(10);
  });

  it("what sync used is not there for callers, who get half of the rest", () => {
    const used = { number: createBudget(quota, MIDDAY).day.number, used: 13_625, byCallers: 0 };
    const state = { ...createBudget(quota, MIDDAY), day: used };
    // Callers' line stands at 23,625 by midday.
    expect(drainByKeys(state, quota, "read", MIDDAY, 20).granted).toBe(5_000);
  });
});

describe("a stop", () => {
  it("holds for everybody, is never shortened, and lasts a day at most", () => {
    const until = MIDDAY + 3_600_000;
    const stopped = stopCalls(createBudget(HOSTED, MIDDAY), until, MIDDAY);
    const ask = (state: BudgetState, now: number) =>
      leaseCalls(state, HOSTED, { calls: 1, by: "deadline" }, now).lease;
    expect(ask(stopped, until - 1)).toEqual({ granted: 0, waitMs: 0, retryAt: until });
    expect(ask(stopped, until).granted).toBe(1);
    expect(ask(stopCalls(stopped, MIDDAY + 1_000, MIDDAY), MIDDAY).retryAt).toBe(until);
    const endless = stopCalls(stopped, MIDDAY + 1e12, MIDDAY);
    expect(ask(endless, MIDDAY).retryAt).toBe(MIDDAY + 24 * 3_600_000);
  });
});

const CLASSES = Object.keys(CALL_CLASSES) as CallClass[];

const request = fc.record({
  by: fc.constantFrom(...CLASSES),
  key: fc.constantFrom("a", "b", "c"),
  calls: fc.integer({ min: 1, max: 50 }),
  /** Milliseconds since the one before: most come at once, some an hour later. */
  after: fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.nat(2_000) },
    { weight: 1, arbitrary: fc.nat(3_600_000) },
  ),
});
const story = fc.record({
  quota: fc.record({
    callsPerSecond: fc.integer({ min: 1, max: 20 }),
    callsPerDay: fc.oneof(fc.constant(null), fc.integer({ min: 500, max: 5_000 })),
  }),
  begin: fc.integer({ min: MIDNIGHT, max: LAST_MS }),
  requests: fc.array(request, { minLength: 20, maxLength: 150 }),
});

interface Step {
  quota: Quota;
  asked: CallRequest;
  now: number;
  before: BudgetState;
  after: ReturnType<typeof leaseCalls>;
}

/** Holds at each request of any story, in whatever order the classes come. */
function always(check: (step: Step) => void) {
  fc.assert(
    fc.property(story, ({ quota, begin, requests }) => {
      let state = createBudget(quota, begin);
      let now = begin;
      for (const { after: pause, ...asked } of requests) {
        now += pause;
        const after = leaseCalls(state, quota, asked, now);
        check({ quota, asked, now, before: state, after });
        state = after.state;
      }
    }),
    runs(200, 5_000),
  );
}

/** Sums of fractions are not exact. */
const EPSILON = 1e-6;

describe("whatever is asked for, in whatever order", () => {
  it("what is granted comes back only with time, and what is promised is bounded", () => {
    always(({ quota, now, before, after: { state, lease } }) => {
      const back = ((now - before.at) / 1000) * quota.callsPerSecond;
      const given = before.calls - before.promised + back - (state.calls - state.promised);
      // More than was granted is missing only where the burst was full.
      expect(given).toBeGreaterThan(lease.granted - EPSILON);
      expect(state.calls).toBeGreaterThan(-EPSILON);
      expect(state.calls).toBeLessThanOrEqual(quota.callsPerSecond * 50);
      expect(state.promised).toBeLessThan(quota.callsPerSecond * 20 + EPSILON);
      expect(lease.waitMs).toBeLessThanOrEqual(20_000);
    });
  });

  it("no class touches what it leaves to those above it", () => {
    always(({ quota, asked, after: { state, lease } }) => {
      const {
        reservedBurstShare: leaves,
        reservedDayShare: leavesOfDay,
        burstSharePerKey: perKey,
      } = CALL_CLASSES[asked.by];
      if (lease.granted === 0) return;
      if (lease.waitMs === 0)
        expect(state.calls).toBeGreaterThan(quota.callsPerSecond * 50 * leaves - EPSILON);
      const { callsPerDay, callsPerSecond } = quota;
      if (callsPerDay !== null)
        expect(state.day.used).toBeLessThanOrEqual(callsPerDay * (1 - leavesOfDay) + EPSILON);
      if (perKey !== undefined)
        expect(state.byKey.get(asked.key ?? "")).toBeLessThan(
          callsPerSecond * 50 * perKey + EPSILON,
        );
    });
  });

  it("callers have at most half of what the others leave of the day", () => {
    always(({ quota: { callsPerDay }, asked: { by }, after: { state, lease } }) => {
      if (
        callsPerDay === null ||
        CALL_CLASSES[by].burstSharePerKey === undefined ||
        lease.granted === 0
      )
        return;
      const { used, byCallers } = state.day;
      const left = callsPerDay * 0.9 - (used - byCallers);
      expect(byCallers).toBeLessThanOrEqual(left / 2 + EPSILON);
    });
  });

  it("a class gets at least what any class below it would get, but for idle, which is nobody's", () => {
    const classes = CLASSES.filter((by) => by !== "idle");
    always(({ quota, asked, now, before }) => {
      const granted = classes.map(
        (by) => leaseCalls(before, quota, { ...asked, by }, now).lease.granted,
      );
      expect(granted).toEqual(granted.toSorted((a, b) => b - a));
    });
  });

  it("who gets nothing is told when there is something, no later and no earlier", () => {
    always(({ quota, asked, now, after: { state, lease } }) => {
      if (lease.retryAt === null) return;
      const grantedAt = (time: number) => leaseCalls(state, quota, asked, time).lease.granted;
      expect(lease.retryAt).toBeGreaterThan(now);
      expect(grantedAt(lease.retryAt + 1)).toBeGreaterThan(0);
      expect(grantedAt(Math.max(lease.retryAt - 1, now))).toBe(0);
    });
  });
});
