import * as z from "zod";
import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { SERVICE_EVENT_KINDS } from "../events/event-kinds.ts";
import { readOpenIncidents } from "../events/incidents.ts";
import { described, named, recordId } from "../http/openapi/fields.ts";
import { network } from "../http/openapi/ledger.ts";
import { wholeNumber } from "../http/openapi/parameters.ts";
import {
  computeLag,
  isSourceStuck,
  listFollowedSources,
  SILENT_MS,
  toPublicError,
} from "./followed-sources.ts";

const DAY_MS = 24 * 60 * 60_000;

const sourceHealth = named(
  "SourceHealth",
  "How well a payment source is followed.",
  z.object({
    id: recordId("the payment source", "01m80ydym8b5krj5k5mrnn0w9r"),
    network,
    lastSyncAgeMs: described(
      z.number().nullable(),
      "Milliseconds since the chain was last read for it; null before the first sync.",
      2155,
    ),
    error: described(
      z.string().nullable(),
      "Why the last sync did not complete; null when it did.",
      "The chain provider failed",
    ),
  }),
);

const reason = named(
  "HealthReason",
  "Something that an operator has to look at.",
  z.object({
    kind: described(
      named(
        "Trouble",
        "What may be wrong; docs/operating.md says what to do.",
        z.enum(SERVICE_EVENT_KINDS),
      ),
      "What is wrong.",
      "SOURCE_STUCK",
    ),
    count: described(z.number(), "With how many sources, wallets, webhooks or queues.", 1),
  }),
);

export const health = named(
  "Health",
  "How the service does.",
  z.object({
    status: described(
      named("HealthStatus", "Whether something has to be looked at.", z.enum(["ok", "degraded"])),
      "`degraded` when something is wrong that does not keep the service from answering.",
      "ok",
    ),
    reasons: described(z.array(reason), "What is wrong; none while the status is `ok`."),
    sources: described(z.array(sourceHealth), "The payment sources."),
  }),
);
export type Health = z.input<typeof health>;

export const readyQuery = z.object({
  maxLagMs: described(
    wholeNumber({ min: 1_000, max: DAY_MS, default: SILENT_MS }),
    "Milliseconds after which a payment source that was not synced makes the service unready.",
    SILENT_MS,
  ),
  network: described(network.optional(), "Only payment sources of this network count.", "Preprod"),
});

/** How the service does, and the longest that a payment source was not synced, by network. */
export interface HealthReport {
  health: Health;
  /** Milliseconds, of each payment source. */
  lags: { network: Network; lag: number }[];
}

/**
 * Looks at the service. What it tells is for everyone: it has no key and no address.
 *
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailable
 */
export async function checkHealth(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<HealthReport> {
  const followed = await listFollowedSources(env, deadline, now);
  const incidents = await readOpenIncidents(db(env, undefined, { deadline }));
  // Looked at now: should the cron not run, nobody else tells of it.
  const stuck = followed.filter((source) => isSourceStuck(source, now)).length;
  const payment = followed
    .filter(({ kind }) => kind === "payment")
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const reasons = SERVICE_EVENT_KINDS.map((kind) => ({
    kind,
    count: kind === "SOURCE_STUCK" ? stuck : (incidents.get(kind)?.length ?? 0),
  })).filter(({ count }) => count > 0);
  return {
    health: {
      status: reasons.length > 0 ? "degraded" : "ok",
      reasons,
      sources: payment.map((source) => ({
        id: source.id,
        network: source.network,
        lastSyncAgeMs: source.lastCheckedAt === null ? null : computeLag(source, now),
        error: toPublicError(source),
      })),
    },
    lags: payment.map((source) => ({ network: source.network, lag: computeLag(source, now) })),
  };
}
