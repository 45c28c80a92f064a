import { type Database, openDb } from "../db/client.ts";
import { firstIdAt } from "../db/id.ts";
import type { Env } from "../env.ts";
import { readSetAsideEvents } from "../events/set-aside.ts";
import { MAX_COUNTED_ROWS } from "../wallets/spending/task-queue.ts";
import type { MetricFamily } from "./open-metrics.ts";

const HOUR_MS = 60 * 60_000;

/**
 * How events get to their receivers, and how x402 payments settle.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailableError
 */
export async function collectOutboxMetrics(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<MetricFamily[]> {
  const core = openDb(env, undefined, { deadline });
  const [events, failedEvents, webhooks, open, ended, unsettled, settled] = await Promise.all([
    countUndispatchedEvents(core),
    readSetAsideEvents(core),
    countEndpoints(core, now),
    countOpenDeliveries(core, now),
    countEndedDeliveries(core, now),
    countOpenAttempts(core),
    countSettlements(core, now),
  ]);
  const computeAgeSeconds = (since: number | null) =>
    since === null ? 0 : Math.max(0, now - since) / 1000;
  return [
    {
      name: "events_undispatched",
      help: "Events that the service has not dispatched to webhooks yet.",
      samples: [{ labels: {}, value: events }],
    },
    {
      name: "events_set_aside",
      help: "Events that the service could not dispatch to webhooks.",
      samples: [{ labels: {}, value: failedEvents.count }],
    },
    {
      name: "webhooks",
      help: "Webhook endpoints. A disabled endpoint failed for too long.",
      samples: webhooks.map(({ state, count }) => ({ labels: { state }, value: count })),
    },
    {
      name: "deliveries_open",
      help: `Deliveries that are to be sent now, or later after a failure; at most ${MAX_COUNTED_ROWS}.`,
      samples: [
        { labels: { due: "now" }, value: open.due },
        { labels: { due: "later" }, value: open.count - open.due },
      ],
    },
    {
      name: "deliveries_oldest_due_seconds",
      help: "Time since the oldest open delivery became due.",
      samples: [{ labels: {}, value: computeAgeSeconds(open.oldest) }],
    },
    {
      name: "deliveries_last_hour",
      help: `Deliveries of the last hour's events by status, at most ${MAX_COUNTED_ROWS}.`,
      samples: ended.map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: "settlements_open",
      help: "x402 payments that are being settled.",
      samples: [{ labels: {}, value: unsettled.count }],
    },
    {
      name: "settlements_oldest_seconds",
      help: "Longest time since the last check of an open settlement.",
      samples: [{ labels: {}, value: computeAgeSeconds(unsettled.oldest) }],
    },
    {
      name: "settlements_last_hour",
      help: `x402 settlements of the last hour, at most ${MAX_COUNTED_ROWS}.`,
      samples: settled.map(({ success, count }) => ({
        labels: { success: success ? "true" : "false" },
        value: count,
      })),
    },
  ];
}

async function countUndispatchedEvents(core: Database): Promise<number> {
  const [row] = await core.all<{ n: number }>(
    `SELECT ifnull((SELECT max(seq) FROM event), 0)
       - ifnull((SELECT seq FROM event_cursor WHERE id = 1), 0) AS n`,
  );
  return Math.max(row?.n ?? 0, 0);
}

function countEndpoints(core: Database, now: number): Promise<{ state: string; count: number }[]> {
  return core.all(
    `SELECT CASE WHEN is_active THEN iif(ifnull(paused_until, 0) > ?, 'paused', 'active')
         ELSE iif(disabled_at IS NULL, 'stopped', 'disabled') END AS state, count(*) AS count
     FROM (SELECT is_active, paused_until, disabled_at FROM webhook_endpoint
           WHERE deleted_at IS NULL LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY state`,
    now,
  );
}

async function countOpenDeliveries(core: Database, now: number) {
  const [row] = await core.all<{ count: number; due: number; oldest: number | null }>(
    `SELECT count(*) AS count, ifnull(sum(due_at <= ?1), 0) AS due,
       min(iif(due_at <= ?1, due_at, NULL)) AS oldest
     FROM (SELECT d.due_at FROM webhook_endpoint e
             CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id AND d.due_at IS NOT NULL
           LIMIT ${MAX_COUNTED_ROWS})`,
    now,
  );
  return row ?? { count: 0, due: 0, oldest: null };
}

/** An id begins with the time of its event, so each endpoint's are a range of the primary key. */
function countEndedDeliveries(
  core: Database,
  now: number,
): Promise<{ status: string; count: number }[]> {
  return core.all(
    `SELECT status, count(*) AS count
     FROM (SELECT d.status FROM webhook_endpoint e
             CROSS JOIN webhook_delivery d ON d.endpoint_id = e.id AND d.event_id >= ?
           LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY status`,
    firstIdAt(now - HOUR_MS),
  );
}

async function countOpenAttempts(core: Database) {
  const [row] = await core.all<{ count: number; oldest: number | null }>(
    `SELECT count(*) AS count, min(updated_at) AS oldest
     FROM (SELECT updated_at FROM x402_payment_attempt
           WHERE direction = 'InboundSettle' AND status = 'Verified' LIMIT ${MAX_COUNTED_ROWS})`,
  );
  return row ?? { count: 0, oldest: null };
}

function countSettlements(
  core: Database,
  now: number,
): Promise<{ success: number; count: number }[]> {
  return core.all(
    `SELECT success, count(*) AS count
     FROM (SELECT success FROM x402_settlement AS settlement
             LEFT JOIN x402_payment_attempt AS attempt ON attempt.id = settlement.attempt_id
           WHERE settlement.id >= ? AND direction IS NOT 'OutboundPayment' LIMIT ${MAX_COUNTED_ROWS})
     GROUP BY success`,
    firstIdAt(now - HOUR_MS),
  );
}
