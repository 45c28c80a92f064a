import fc from "fast-check";
import { expect, it } from "vitest";
import { ProviderError } from "../../src/chain/provider/provider.ts";
import { computeProviderRetryAt, computeRetryDelay } from "../../src/wallets/queue/backoff.ts";
import { decideAttemptOutcome, findTaskDelay } from "../../src/wallets/queue/outcome.ts";

const NOW = Date.UTC(2026, 0, 1);
const SOON = NOW + 30_000;
const LATEST = NOW + 5 * 60_000;

it("a task waits twice as long after each failed try, and five minutes at most", () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 20].map(computeRetryDelay);
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1_000));
});

it("a task waits for a provider some minutes at the most, whatever it says", () => {
  const times = fc.option(fc.integer({ min: 0, max: 2 * NOW }));
  fc.assert(
    fc.property(times, (retryAt) => {
      const again = computeProviderRetryAt(retryAt, NOW);
      expect(again).toBe(Math.min(Math.max(retryAt ?? 0, SOON), LATEST));
    }),
  );
});

it("a quota that is over, or a ban, puts no task off beyond that", () => {
  const error = new ProviderError("status 402", { status: 402, retryAt: NOW + 86_400_000 });
  const waits = { attempts: 3, reasonCode: "provider", dueAt: LATEST };
  expect(decideAttemptOutcome(3, error, NOW)).toMatchObject({ task: waits });
  expect(findTaskDelay(error, NOW)?.dueAt).toBe(LATEST);
});
