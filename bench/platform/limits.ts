/**
 * Limits of the medians that `npm run bench -- platform` counts: a figure above its limit fails the bench.
 * Each limit is just above what was measured. A commit that makes a kind cheaper also lowers its limits.
 * A commit that raises a limit says why.
 */
import type { Row } from "../support/table.ts";
import type { Counts } from "./invocation.ts";

/** By stage and kind of invocation. */
export const LIMITS: Record<string, Partial<Counts>> = {
  "poll, caught up: GET /api/v1/purchase/diff/onchain-state-or-result, caught up": {
    "D1 calls": 1,
    "in series": 1,
    primary: 0,
    "rows read": 5,
    "log lines": 0,
  },
  "poll, 10 changes: GET /api/v1/purchase/diff/onchain-state-or-result, 10 changes": {
    "D1 calls": 1,
    primary: 0,
    "rows read": 24,
  },
  "poll, If-None-Match: GET /api/v1/purchase/diff/onchain-state-or-result, If-None-Match": {
    "D1 calls": 1,
    primary: 0,
    "rows read": 5,
    "answer bytes": 0,
  },
  "payment: POST /api/v1/payment": {
    "in series": 8,
    primary: 8,
    "rows read": 18,
    "rows written": 30,
  },
  "payment: POST /api/v1/payment/submit-result": {
    "in series": 8,
    primary: 8,
    "rows read": 30,
    "rows written": 26,
  },
  "purchase: POST /api/v1/purchase": {
    "in series": 8,
    primary: 8,
    // The purchase's row of `escrow_identity` is read as it is written.
    "rows read": 19,
    "rows written": 33,
    connections: 3,
  },
  "purchase: HotWallet.alarm": {
    "D1 calls": 12,
    "in series": 9,
    "rows read": 90,
    "rows written": 30,
    waits: 0,
  },
  "minute: cron": {
    "D1 calls": 60,
    // The shares of sources are read before their rules, in portions.
    "in series": 17,
    "rows read": 300,
    "rows written": 2,
    waits: 10,
  },
  "minute: SourceCursor.alarm": {
    "D1 calls": 8,
    "in series": 8,
    "rows read": 18,
    "rows written": 2,
    "object rows written": 3,
  },
  "settlement: POST /api/v1/x402/settle": {
    "D1 calls": 2,
    "object calls": 1,
  },
  "settlement: PaymentPayload.settle": {
    // All that is read before the claim is one batch.
    "D1 calls": 4,
    "in series": 3,
    "rows written": 6,
    "object rows read": 2,
    "object rows written": 5,
    "object bytes": 20480,
  },
  "settlement: FacilitatorWallet.submit": {
    "D1 calls": 3,
    "object rows written": 6,
  },
  "event, few endpoints: queue events": {
    "in series": 1,
    "rows read": 24,
    "rows written": 4,
    "queue ops": 4,
  },
  "event, many endpoints: queue events": {
    "in series": 1,
    "rows read": 24,
    "rows written": 4,
    "queue ops": 4,
  },
  "event, many endpoints: queue deliveries": {
    "in series": 3,
    "rows read": 66,
    "rows written": 4,
    connections: 2,
  },
};

/** What is above its limit, or was not measured. */
export function excessesOf(
  rows: readonly Row[],
  limits: Record<string, Partial<Counts>> = LIMITS,
): string[] {
  const measured = new Map(rows.map((row) => [`${row.stage}: ${row.kind}`, row]));
  return Object.entries(limits).flatMap(([kind, counts]) => {
    const row = measured.get(kind);
    if (!row) return [`platform: ${kind} was not measured`];
    return Object.entries(counts).flatMap(([count, limit]) =>
      Number(row[count]) > limit
        ? [`platform: ${kind}: ${row[count]} ${count}, at most ${limit}`]
        : [],
    );
  });
}
