import fc from "fast-check";
import { expect, it } from "vitest";
import { ProviderError } from "../../src/chain/provider/provider.ts";
import { providerAgainAt } from "../../src/wallets/pauses.ts";
import { afterFailure } from "../../src/wallets/transfers/outcome.ts";
import type { TransferRow } from "../../src/wallets/transfers/tables.ts";
import { waitOf } from "../../src/wallets/waits.ts";

const NOW = Date.UTC(2026, 0, 1);
const SOON = NOW + 30_000;
const LATEST = NOW + 5 * 60_000;

it("a task waits for a provider some minutes at the most, whatever it says", () => {
  const times = fc.option(fc.integer({ min: 0, max: 2 * NOW }));
  fc.assert(
    fc.property(times, (retryAt) => {
      const again = providerAgainAt(retryAt, NOW);
      expect(again).toBe(Math.min(Math.max(retryAt ?? 0, SOON), LATEST));
    }),
  );
});

it("a quota that is over, or a ban, puts no task off beyond that", () => {
  const error = new ProviderError("status 402", { status: 402, retryAt: NOW + 86_400_000 });
  expect(afterFailure({ failures: 0, tx: null } as TransferRow, error, NOW).dueAt).toBe(LATEST);
  expect(waitOf(error, NOW)?.dueAt).toBe(LATEST);
});
