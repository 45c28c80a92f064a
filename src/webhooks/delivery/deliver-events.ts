import { NETWORKS } from "../../chain/network.ts";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, openDb } from "../../db/client.ts";
import type { DeliveryMessage, Env } from "../../env.ts";
import { log } from "../../log.ts";
import { withTimeout } from "../../timeout.ts";
import { openReceiver } from "../endpoints/open-receiver.ts";
import {
  type Claim,
  type ClaimedReceiver,
  claimDeliveries,
  type EventRow,
  readEvents,
} from "./claim-deliveries.ts";
import { MAX_CLAIMS_PER_ENDPOINT } from "./claimable-deliveries.ts";
import { enqueueEndpoints } from "./enqueue-endpoints.ts";
import {
  type DeliveryOutcome,
  recordAndClaim,
  recordOutcomes,
  releaseClaims,
  type ScheduledWake,
} from "./record-outcomes.ts";
import {
  type DeliveryAttempt,
  readSendOptions,
  type SendOptions,
  sendEvent,
  toFailedAttempt,
} from "./send-event.ts";

/** Wait for the receivers of a wave. The next wave does not wait for slower receivers. */
const WAVE_TIMEOUT_MS = 200;
/** Waves of one invocation, which may make a thousand requests: two for each delivery, and some to D1. */
const MAX_WAVES = 30;
/** Attempts that end within this time are recorded together. */
const BATCH_WINDOW_MS = 50;
/** A retry due sooner gets its own message; the sweep wakes the others. */
const SWEEP_INTERVAL_MS = 60_000;

/**
 * Sends what is due for the endpoints that messages name, in waves. A wave claims deliveries, tries
 * each delivery once, and records the outcomes together with the claims of the next wave. It sends
 * `MAX_CONCURRENT_FETCHES` requests concurrently. The waves end when nothing is left to claim.
 *
 * A wave that waits for a receiver is the last one. Its open requests end in the background, and its
 * unsent claims are released for the next consumer. An endpoint that is named twice is enqueued at once, for another
 * consumer. When an endpoint has its whole share in flight, the consumer that frees a part of the share
 * claims the next delivery.
 *
 * The run may stop at any point: the claims expire, and the sweep enqueues their endpoints again. A
 * receiver may therefore get an event twice, but never misses one.
 *
 * @param inBackground - keeps the invocation alive for receivers that the batch does not wait for
 * @throws when the database fails; the messages must then be redelivered
 */
export async function deliverEvents(
  env: Env,
  messages: readonly DeliveryMessage[],
  inBackground: (work: Promise<void>) => void,
): Promise<void> {
  const requestId = messages[0]?.requestId ?? "";
  const byEndpoint = Map.groupBy(messages, ({ endpointId }) => endpointId);
  const endpointIds = [...byEndpoint.keys()];
  const repeated = [...byEndpoint].flatMap(([id, { length }]) =>
    Array<string>(length - 1).fill(id),
  );
  let claims = await claimDeliveries(env, endpointIds, Date.now());
  if (claims.length === 0) return;
  const [firstEvents, options] = await Promise.all([
    readEventsOfClaims(env, claims),
    readSendOptions(env),
    enqueueEndpoints(env, claims.length < MAX_CLAIMS_PER_ENDPOINT ? [] : repeated, requestId),
  ]);
  let events = firstEvents;
  for (let wave = 1; claims.length > 0; wave++) {
    const sending = sendConcurrently(claims, async (claim) => ({
      claim,
      attempt: await attemptDelivery(env, claim, events.get(claim), options),
    }));
    const outcomes = await withTimeout(WAVE_TIMEOUT_MS, sending.outcomes, () => null);
    const next =
      wave < MAX_WAVES && outcomes && (await claimNextWave(env, outcomes, endpointIds, requestId));
    if (!next) {
      const unsent = sending.stop();
      inBackground(recordFinishedAttempts(env, sending.begun, requestId));
      await releaseClaims(env, unsent);
      const released = new Set(unsent.map(({ endpointId }) => endpointId));
      const mayHaveMore = claims.length >= MAX_CLAIMS_PER_ENDPOINT;
      await enqueueEndpoints(env, mayHaveMore ? endpointIds : [...released], requestId);
      return;
    }
    claims = next;
    events = await readEventsOfClaims(env, claims);
  }
}

/** Sends claims in their order, `MAX_CONCURRENT_FETCHES` concurrently, until it is stopped. */
function sendConcurrently(
  claims: readonly Claim[],
  send: (claim: Claim) => Promise<DeliveryOutcome>,
) {
  const waiting = [...claims];
  const begun: Promise<DeliveryOutcome>[] = [];
  const runConnection = async () => {
    for (let claim = waiting.shift(); claim; claim = waiting.shift()) {
      const outcome = send(claim);
      begun.push(outcome);
      await outcome;
    }
  };
  const ended = Promise.all(Array.from({ length: MAX_CONCURRENT_FETCHES }, runConnection));
  return {
    begun,
    outcomes: ended.then(() => Promise.all(begun)),
    /** @returns the claims that were not sent */
    stop: () => waiting.splice(0),
  };
}

/** Records outcomes and claims the next wave. Null: the write failed. */
async function claimNextWave(
  env: Env,
  outcomes: readonly DeliveryOutcome[],
  endpointIds: readonly string[],
  requestId: string,
): Promise<Claim[] | null> {
  const now = Date.now();
  try {
    const { claims, later } = await recordAndClaim(env, outcomes, endpointIds, now);
    await enqueueScheduledWakes(env, later, now, requestId);
    return claims;
  } catch (error) {
    log("warn", "deliveries.wave_failed", { requestId, error: String(error) });
    return null;
  }
}

/** Records outcomes as attempts end. An attempt without a recorded outcome is repeated. */
async function recordFinishedAttempts(
  env: Env,
  attempts: readonly Promise<DeliveryOutcome>[],
  requestId: string,
): Promise<void> {
  const ended: DeliveryOutcome[] = [];
  const open = new Set<Promise<void>>();
  for (const attempt of attempts) {
    const end: Promise<void> = attempt.then((outcome) => {
      ended.push(outcome);
      open.delete(end);
    });
    open.add(end);
  }
  while (open.size + ended.length > 0) {
    if (ended.length === 0) await Promise.race(open);
    await withTimeout(BATCH_WINDOW_MS, Promise.all(open), () => undefined);
    const outcomes = ended.splice(0);
    try {
      await recordAndEnqueue(env, outcomes, requestId);
    } catch (error) {
      const deliveries = outcomes.length;
      log("error", "deliveries.outcomes_lost", { requestId, deliveries, error: String(error) });
    }
  }
}

/** Records outcomes, and enqueues their endpoints again when there is more to send, now or soon. */
async function recordAndEnqueue(
  env: Env,
  outcomes: DeliveryOutcome[],
  requestId: string,
): Promise<void> {
  const now = Date.now();
  const { unfinished, later } = await recordOutcomes(env, outcomes, now);
  await enqueueEndpoints(env, unfinished, requestId);
  await enqueueScheduledWakes(env, later, now, requestId);
}

/** Enqueues endpoints for their next delivery if the delivery is due before the next sweep. */
async function enqueueScheduledWakes(
  env: Env,
  later: readonly ScheduledWake[],
  now: number,
  requestId: string,
): Promise<void> {
  const delays = Map.groupBy(
    later.filter(({ at }) => at - now < SWEEP_INTERVAL_MS),
    ({ at }) => Math.ceil((at - now) / 1000),
  );
  for (const [delaySeconds, due] of delays) {
    const endpointIds = new Set(due.map(({ endpointId }) => endpointId));
    await enqueueEndpoints(env, [...endpointIds], requestId, delaySeconds);
  }
}

/** Reads the event of each claim. */
async function readEventsOfClaims(env: Env, claims: Claim[]): Promise<Map<Claim, EventRow>> {
  const found = new Map<Claim, EventRow>();
  for (const network of new Set(claims.map((claim) => claim.network))) {
    const own = claims.filter((claim) => claim.network === network);
    const rows = await readEvents(
      openOutbox(env, network),
      own.map(({ eventSeq }) => eventSeq),
    );
    for (const claim of own) {
      const row = rows.get(claim.eventSeq);
      if (row) found.set(claim, row);
    }
  }
  return found;
}

/** Opens the database that has the events of a network. */
function openOutbox(env: Env, network: string): Database {
  return openDb(
    env,
    NETWORKS.find((one) => one === network),
  );
}

async function attemptDelivery(
  env: Env,
  { endpointId, eventId, receiver }: Claim,
  event: EventRow | undefined,
  options: SendOptions,
): Promise<DeliveryAttempt | null> {
  if (receiver === null) return null;
  if (!event) return toFailedAttempt("the event has expired");
  try {
    return await sendEvent(
      await openReceiver(env, receiver, Date.now()),
      { ...event, data: selectVisibleData(receiver, event) },
      options,
    );
  } catch (error) {
    log("error", "delivery.failed", { endpoint: endpointId, eventId, error: String(error) });
    return toFailedAttempt("the event could not be sent");
  }
}

/** Data of an event, with notes if the receiver's key may see them. */
function selectVisibleData(
  { createdById, seesNotes }: ClaimedReceiver,
  { data, noted, notedById }: EventRow,
): string {
  return noted !== null && (seesNotes || createdById === notedById) ? noted : data;
}
