import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  computeDefaultPerDay,
  DAY_MS,
  decideTopUp,
  PAUSE_MS,
  type PastTopUp,
  type TopUpBounds,
} from "../../../src/wallets/top-ups/decide.ts";
import { runs } from "../../support/effort.ts";

const MINUTE_MS = 60_000;

const bounds = fc
  .record({
    below: fc.bigInt({ min: 0n, max: 100n }),
    by: fc.bigInt({ min: 2n, max: 100n }),
    times: fc.option(fc.bigInt({ min: 1n, max: 8n })),
    minAmount: fc.bigInt({ min: 1n, max: 2n }),
  })
  .map(({ below, by, times, minAmount }): TopUpBounds => {
    const rule = { below, upTo: below + by };
    return { ...rule, perDay: times === null ? computeDefaultPerDay(rule) : times * by, minAmount };
  });

/** Minutes that pass, and what the wallet loses or what becomes of its top-up meanwhile. */
const step = fc.record({
  minutes: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 60, max: 1500 })),
  spent: fc.bigInt({ min: 0n, max: 120n }),
  end: fc.constantFrom("none", "landed", "failed"),
  /** The provider shows the balance from before the last top-up. */
  isLate: fc.boolean(),
});

/** Plays a story. @returns all top-ups of it */
function play(
  rule: TopUpBounds,
  steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[],
): PastTopUp[] {
  const all: PastTopUp[] = [];
  let [now, balance, shown] = [DAY_MS, 0n, 0n];
  for (const { minutes, spent, end, isLate } of steps) {
    now += minutes * MINUTE_MS;
    const open = all.at(-1);
    if (open && open.endedAt === null && end !== "none") {
      open.endedAt = now - MINUTE_MS / 2;
      open.hasFailed = end === "failed";
      if (end === "landed") balance += open.amount;
    }
    balance = balance > spent ? balance - spent : 0n;
    if (!isLate) shown = balance;
    const decision = decideTopUp(rule, shown, all, now);
    if (!("send" in decision)) continue;
    expect(decision.send).toBeLessThanOrEqual(rule.upTo - shown);
    expect(decision.send).toBeGreaterThanOrEqual(rule.minAmount);
    expect(shown).toBeLessThan(rule.below);
    all.push({ amount: decision.send, createdAt: now, endedAt: null, hasFailed: false });
  }
  return all;
}

describe("top-ups of one wallet and unit", () => {
  const story = fc.tuple(bounds, fc.array(step, { maxLength: 60 }));

  it("never have two under way, and ten minutes between one and the next", () => {
    fc.assert(
      fc.property(story, ([rule, steps]) => {
        const all = play(rule, steps);
        for (const [i, { createdAt }] of all.entries()) {
          const former = all[i - 1];
          if (former === undefined) continue;
          expect(former.endedAt).not.toBeNull();
          expect(createdAt - (former.endedAt ?? createdAt)).toBeGreaterThanOrEqual(PAUSE_MS);
        }
      }),
      runs(300, 20_000),
    );
  });

  it("keep to what may be sent in any 24 hours", () => {
    fc.assert(
      fc.property(story, ([rule, steps]) => {
        const paid = play(rule, steps).filter(({ hasFailed }) => !hasFailed);
        for (const { createdAt: end } of paid) {
          const sum = paid
            .filter(({ createdAt }) => createdAt > end - DAY_MS && createdAt <= end)
            .reduce((total, { amount }) => total + amount, 0n);
          expect(sum).toBeLessThanOrEqual(rule.perDay);
        }
      }),
      runs(300, 20_000),
    );
  });
});

describe("decideTopUp", () => {
  const rule = { below: 50n, upTo: 80n, perDay: 150n, minAmount: 2n };
  const now = 10 * DAY_MS;
  const past = (amount: bigint, minutesAgo: number, rest: Partial<PastTopUp> = {}): PastTopUp => {
    const createdAt = now - minutesAgo * MINUTE_MS;
    return { amount, createdAt, endedAt: createdAt + MINUTE_MS, hasFailed: false, ...rest };
  };

  it("fills up to the mark, five times what one brings at the least in a day by default", () => {
    expect(computeDefaultPerDay(rule)).toBe(150n);
    expect(decideTopUp(rule, 49n, [], now)).toEqual({ send: 31n });
    expect(decideTopUp(rule, 50n, [], now)).toEqual({ waitsFor: "Nothing", until: null });
  });

  it("waits for the one that is under way, however old it is", () => {
    const open = past(31n, 5_000, { endedAt: null });
    expect(decideTopUp(rule, 0n, [open], now)).toEqual({ waitsFor: "Itself", until: null });
  });

  it("waits ten minutes after the last has ended, also when it has failed", () => {
    const failed = past(31n, 10, { hasFailed: true });
    const until = now + MINUTE_MS;
    expect(decideTopUp(rule, 0n, [failed], now)).toEqual({ waitsFor: "Pause", until });
    expect(decideTopUp(rule, 0n, [failed], until)).toEqual({ send: 80n });
  });

  it("sends what the day leaves, and then waits until the oldest is a day old", () => {
    const [old, young] = [past(80n, 1_000), past(40n, 100)];
    expect(decideTopUp(rule, 0n, [old, young], now)).toEqual({ send: 30n });
    const rest = past(29n, 50);
    const until = old.createdAt + DAY_MS;
    expect(decideTopUp(rule, 0n, [old, young, rest], now)).toEqual({ waitsFor: "Day", until });
    expect(decideTopUp(rule, 0n, [old, young, rest], until)).toEqual({ send: 80n });
  });
});
