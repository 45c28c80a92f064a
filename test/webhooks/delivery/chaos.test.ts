import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import { emptyTables } from "../../support/app.ts";
import { runs, sized } from "../../support/effort.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";
import { Chaos } from "../../support/webhooks/chaos.ts";
import {
  arrivals,
  freshPath,
  planAnswers,
  takeArrivals,
  verified,
} from "../../support/webhooks/receivers.ts";

const MINUTE = 60_000;
const TIMEOUT_MS = 200;
/** Each burst is one commit that changes every record: 600 changes, 5,000 in a long run. */
const [BURSTS, PURCHASES, PAYMENTS] = sized([12, 30, 20], [20, 200, 50]);
const KINDS = {
  payment: "PAYMENT_ON_CHAIN_STATUS_CHANGED",
  purchase: "PURCHASE_ON_CHAIN_STATUS_CHANGED",
} as const;
/** On another server, where nothing may arrive. */
const ELSEWHERE = freshPath();

const REFUSALS = fc.constantFrom(
  "answer=500",
  "answer=404",
  `answer=307&location=${encodeURIComponent(env.BYSTANDER_URL + ELSEWHERE)}`,
);
const LATER = fc
  .tuple(fc.constantFrom(429, 503), fc.integer({ min: 1, max: 900 }))
  .map(([status, seconds]) => `answer=${status}&retryAfter=${seconds}`);
const LOST = [`answer=late&ms=${50 * TIMEOUT_MS}`, "answer=hang", "answer=stall", "answer=reset"];
const MISBEHAVIOUR = fc.oneof(
  { weight: 60, arbitrary: REFUSALS },
  { weight: 30, arbitrary: LATER },
  // Each takes its time, or some lines in the runtime's own log.
  { weight: 1, arbitrary: fc.constantFrom(...LOST) },
);

/** Answers that fail a message three times at most, so that no delivery runs out of attempts. */
function planOf(failures: fc.Arbitrary<string>, seed: number): string[][] {
  const answers = fc.oneof(
    { weight: 4, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.array(failures, { minLength: 1, maxLength: 3 }) },
  );
  return fc.sample(answers, { seed, numRuns: BURSTS * (PURCHASES + PAYMENTS) });
}

interface Endpoint {
  id: string;
  secret: string;
  path: string;
  sides: readonly Side[];
}

async function subscribe(
  { service }: Chaos,
  sides: readonly Side[],
  query = "",
): Promise<Endpoint> {
  const path = freshPath();
  const Events = sides.map((side) => KINDS[side]);
  return { ...(await service.create(`${path}${query}`, { Events })), path, sides };
}

interface Left {
  events: number;
  deliveries: number;
  /** When the next of them is due, epoch milliseconds. */
  next: number | null;
}

/** What is still to be dispatched and delivered. */
async function left(): Promise<Left> {
  const row = await env.DB.prepare(
    `SELECT (SELECT count(*) FROM event WHERE seq > ifnull((SELECT seq FROM event_cursor), 0))
         AS events,
       count(*) AS deliveries, min(due_at) AS next
     FROM webhook_delivery WHERE status IN ('Pending', 'Retrying') OR due_at IS NOT NULL`,
  ).first<Left>();
  if (!row) throw new Error("a count without a row");
  return row;
}

/** How many deliveries of an endpoint have each status. */
async function statuses({ id }: Endpoint): Promise<Record<string, number>> {
  const { results } = await env.DB.prepare(
    "SELECT status, count(*) AS n FROM webhook_delivery WHERE endpoint_id = ? GROUP BY status",
  )
    .bind(id)
    .all<{ status: string; n: number }>();
  return Object.fromEntries(results.map(({ status, n }) => [status, n]));
}

/** How the requests for each change were answered, by its kind, record and sequence. */
type Answers = Map<string, string[]>;

/** Of an answer that stalls the status has arrived. */
const isTaken = (answer: string) => answer === "200" || answer === "stall";

/** What arrived at an endpoint: all of it signed, and each change with one id and one body. */
async function received({ path, secret }: Endpoint): Promise<Answers> {
  const answers: Answers = new Map();
  const bodies = new Map<string, string>();
  for (const arrival of await takeArrivals(path)) {
    const { id, type, sequence, data } = verified(arrival, secret);
    const change = `${type} ${(data as { id: string }).id} ${sequence}`;
    expect(arrival.headers["webhook-id"]).toBe(id);
    expect(arrival.body).toBe(bodies.get(change) ?? arrival.body);
    bodies.set(change, arrival.body);
    const answer = new URLSearchParams(arrival.answered).get("answer") ?? "200";
    answers.set(change, [...(answers.get(change) ?? []), answer]);
  }
  return answers;
}

beforeEach(() => {
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Lets time pass, with its cron, until nothing is left to do. */
async function untilDone(chaos: Chaos): Promise<void> {
  for (let rounds = 0; ; rounds++) {
    await chaos.minute();
    const { events, deliveries, next } = await left();
    if (events === 0 && deliveries === 0) return;
    expect(rounds, `${events} events and ${deliveries} deliveries are stuck`).toBeLessThan(300);
    vi.setSystemTime(Math.max(Date.now() + 60 * MINUTE, (next ?? 0) + 2 * MINUTE));
  }
}

/**
 * One run, from changes to verdict. What a seed decides comes again with it, by `examples: [[seed]]`
 * of `fc.assert`; what the network decides does not.
 */
async function survive(seed: number): Promise<void> {
  // First of all, for a run that hangs says nothing at its end.
  console.info(`seed ${seed}`);
  await emptyTables();
  // A run ends weeks ahead, and the database refuses stamps that are.
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["Date"] });
  const chaos = new Chaos(seed, TIMEOUT_MS);
  const flaky = await subscribe(chaos, ["payment", "purchase"]);
  await planAnswers(flaky.path, [...LOST.map((lost) => [lost]), ...planOf(MISBEHAVIOUR, seed)]);
  const busy = await subscribe(chaos, ["payment"]);
  await planAnswers(busy.path, planOf(LATER, seed));
  const living = [flaky, busy, await subscribe(chaos, ["payment"])];
  const leaving = await subscribe(chaos, ["payment"]);

  const records = [
    ...Array.from({ length: PURCHASES }, () => makeRecord("purchase")),
    ...Array.from({ length: PAYMENTS }, () => makeRecord("payment")),
  ];
  const writer = await Writer.create(env.DB);
  const change = async (bursts: number) => {
    for (let burst = 0; burst < bursts; burst++) {
      await writer.change(records);
      vi.setSystemTime(Date.now() + 500);
      await chaos.wake();
    }
  };
  await change(BURSTS / 2);
  await planAnswers(leaving.path, [["answer=410"]]);
  await change(BURSTS / 2 - 1);
  // So late, since each of its deliveries takes ten attempts.
  const broken = await subscribe(chaos, ["payment"], "?answer=500");
  await change(1);
  await untilDone(chaos);

  expect(await arrivals(ELSEWHERE, env.BYSTANDER_URL)).toEqual([]);
  const tally: Record<string, number> = {};
  let duplicates = 0;
  for (const endpoint of [...living, leaving, broken]) {
    const answers = await received(endpoint);
    for (const answer of [...answers.values()].flat()) tally[answer] = (tally[answer] ?? 0) + 1;
    if (!living.includes(endpoint)) continue;
    const changes = records
      .filter(({ side }) => endpoint.sides.includes(side))
      .flatMap(({ id, side }) =>
        Array.from({ length: BURSTS }, (_, i) => `${KINDS[side]} ${id} ${i + 1}`),
      );
    const missed = changes.filter((change) => !answers.get(change)?.some(isTaken));
    expect(missed.map((change) => [change, answers.get(change)])).toEqual([]);
    expect(answers.size).toBe(changes.length);
    expect(await statuses(endpoint)).toEqual({ Success: changes.length });
    for (const own of answers.values()) duplicates += own.filter(isTaken).length - 1;
  }
  console.info(`${duplicates} duplicates, ${chaos.kills} kills, ${JSON.stringify(tally)}`);
  expect(Object.keys(tally).sort().join(" ")).toBe(
    "200 307 404 410 429 500 503 hang late reset stall",
  );
  expect(chaos.kills).toBeGreaterThan(0);
  expect(await chaos.service.listed(leaving.id)).toMatchObject({
    isActive: false,
    disabledReason: "the receiver answered 410",
  });
  expect(await chaos.service.listed(broken.id)).toMatchObject({
    isActive: false,
    disabledReason: "10 deliveries in a row failed",
  });
}

describe("hundreds of changes, whatever the receivers, the queue and the consumers do", () => {
  it("reach every endpoint that is subscribed and lives, at least once, and nothing is stuck", async () => {
    const property = fc.asyncProperty(fc.noBias(fc.nat()), survive);
    await fc.assert(property, { ...runs(1, 3), endOnFailure: true });
  });
});
