import { describe, expect, it } from "vitest";
import { BURST_CALLS, RateLimiter } from "../../src/http/rate-limit.ts";

const START = 1_700_000_000_000;

function takeMany(limiter: RateLimiter, calls: number, perMinute: number, now: number): number {
  let passed = 0;
  for (let call = 0; call < calls; call++) if (limiter.take("key", perMinute, now) === 0) passed++;
  return passed;
}

describe("RateLimiter", () => {
  it("lets through the calls of a minute and no more", () => {
    expect(takeMany(new RateLimiter(), 5000, 3000, START)).toBe(3000);
  });

  it("lets 300 calls through in any ten seconds, however few the minute allows", () => {
    const limiter = new RateLimiter();
    for (let second = 0; second < 60; second += 10)
      expect(takeMany(limiter, 400, 10, START + second * 1000)).toBe(BURST_CALLS);
  });

  it("lets 300 calls through after the minute was used up at once", () => {
    const limiter = new RateLimiter();
    takeMany(limiter, 3000, 3000, START);
    expect(takeMany(limiter, 400, 3000, START + 10_000)).toBe(BURST_CALLS);
  });

  it("says how long to wait until the next call passes", () => {
    const limiter = new RateLimiter();
    takeMany(limiter, 3000, 3000, START);
    const wait = limiter.take("key", 3000, START + 4_000);
    expect(wait).toBe(6_000);
    expect(limiter.take("key", 3000, START + 4_000 + wait)).toBe(0);
  });

  it("counts every key for itself", () => {
    const limiter = new RateLimiter();
    takeMany(limiter, 3000, 3000, START);
    expect(limiter.take("another", 3000, START)).toBe(0);
  });

  it("begins anew with the next minute", () => {
    const limiter = new RateLimiter();
    takeMany(limiter, 3000, 3000, START);
    expect(takeMany(limiter, 3000, 3000, START + 60_000)).toBe(3000);
  });
});
