import { NETWORKS } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { DeliveryMessage, Env } from "../env.ts";
import { log } from "../log.ts";
import { loopbackOrigins } from "../sources/development.ts";
import { type Claim, claimDeliveries, type EventRow, readEvents } from "./claim.ts";
import { enqueue } from "./messages.ts";
import { type Outcome, recordOutcomes } from "./outcome.ts";
import { openReceiver } from "./receiver.ts";
import { type Attempt, type SendOptions, sendEvent } from "./send.ts";

/** As many connections as the platform opens for one invocation. */
const AT_ONCE = 6;
const DEFAULT_TIMEOUT_MS = 15_000;
/** Two rounds of attempts must end, and be written, before their claims do. */
const MAX_TIMEOUT_MS = 25_000;
/** A retry that is due sooner gets a message of its own; the sweep wakes the others. */
const SWEPT_EVERY_MS = 60_000;

/**
 * Sends the deliveries that messages name: claims them, tries each once, six at a time, and writes
 * what became of them. A message for a delivery that is not due, or that somebody else holds, does
 * nothing. Stopped anywhere, the claims run out and the sweep asks again, so a receiver may get the
 * same event twice, but never not at all.
 *
 * @throws when the database fails; the messages are then to be delivered again
 */
export async function deliver(env: Env, messages: readonly DeliveryMessage[]): Promise<void> {
  const claims = await claimDeliveries(env, messages, Date.now());
  if (claims.length === 0) return;
  const events = await eventsOf(env, claims);
  const options = {
    timeoutMs: Math.min(Number(env.WEBHOOK_TIMEOUT_MS) || DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
    loopbackOrigins: await loopbackOrigins(env, Date.now() + DEFAULT_TIMEOUT_MS),
    resolverUrl: env.DNS_OVER_HTTPS_URL,
  };
  const outcomes = await atMost(AT_ONCE, claims, async (claim) => ({
    claim,
    attempt: await attemptOnce(env, claim, events.get(claim), options),
  }));
  await settle(env, outcomes, messages[0]?.requestId ?? "");
}

/**
 * Counts a failed attempt for deliveries whose messages the queue has given up: the schedule goes
 * on, and a delivery that breaks the consumer each time ends with it.
 */
export async function giveUp(env: Env, messages: readonly DeliveryMessage[]): Promise<void> {
  const claims = await claimDeliveries(env, messages, Date.now());
  for (const { endpointId, eventId, attempt } of claims)
    log("error", "delivery.given_up", { endpoint: endpointId, eventId, attempt });
  const outcomes = claims.map((claim) => ({ claim, attempt: failure("could not be sent") }));
  await settle(env, outcomes, messages[0]?.requestId ?? "");
}

async function settle(env: Env, outcomes: Outcome[], requestId: string): Promise<void> {
  const now = Date.now();
  for (const { endpointId, eventId, dueAt } of await recordOutcomes(env, outcomes, now))
    if (dueAt - now < SWEPT_EVERY_MS)
      await enqueue(
        env,
        [{ v: 1, requestId, endpointId, eventId }],
        Math.ceil((dueAt - now) / 1000),
      );
}

/** The event of each claim, from the ledger it was written to. */
async function eventsOf(env: Env, claims: Claim[]): Promise<Map<Claim, EventRow>> {
  const found = new Map<Claim, EventRow>();
  for (const network of new Set(claims.map((claim) => claim.network))) {
    const own = claims.filter((claim) => claim.network === network);
    const rows = await readEvents(
      outboxOf(env, network),
      own.map(({ eventSeq }) => eventSeq),
    );
    for (const claim of own) {
      const row = rows.get(claim.eventSeq);
      if (row) found.set(claim, row);
    }
  }
  return found;
}

/** Where the events of a network are: its ledger, or for an EVM chain the core. */
function outboxOf(env: Env, network: string): Database {
  return db(
    env,
    NETWORKS.find((one) => one === network),
  );
}

async function attemptOnce(
  env: Env,
  { endpointId, eventId, receiver }: Claim,
  event: EventRow | undefined,
  options: SendOptions,
): Promise<Attempt | null> {
  if (receiver === null) return null;
  if (!event) return failure("the event is not kept any more");
  try {
    return await sendEvent(await openReceiver(env, receiver, Date.now()), event, options);
  } catch (error) {
    log("error", "delivery.failed", { endpoint: endpointId, eventId, error: String(error) });
    return failure("could not be sent");
  }
}

function failure(error: string): Attempt {
  return { result: "failed", status: null, error, retryAfterMs: null, durationMs: 0 };
}

/** Does the work for each item, for no more than `limit` of them at the same time. */
async function atMost<Item, Result>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const run = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: limit }, run));
  return results;
}
