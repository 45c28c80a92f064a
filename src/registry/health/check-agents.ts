import pMap from "p-map";
import type { Network } from "../../chain/network.ts";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { reserveStamps, stamp } from "../../db/clock.ts";
import { log } from "../../log.ts";
import type { Health } from "../entry.ts";
import { type Availability, askAvailability, judge, type Outbound } from "./availability.ts";

/** What a run of health checks works with. */
export interface HealthContext {
  db: Database;
  network: Network;
  sourceId: string;
  outbound: Outbound;
  /** How often an agent is checked that answers as before. */
  intervalMs: number;
  /** Epoch milliseconds. */
  now(): number;
}

/** An agent that is due. */
interface DueAgent {
  id: string;
  agent_identifier: string;
  api_base_url: string;
  health: Health;
  rev: number;
  failures: number;
  /** Epoch milliseconds. */
  due_at: number;
}

interface Outcome {
  agent: DueAgent;
  /** Null: the check itself failed, which says nothing of the agent. */
  result: Health | null;
}

/** Agents checked between two writes. */
const CHUNK = 60;
/** Failed checks in a row after which an agent that was online no longer is. */
const STRIKES = 3;
/** The pause before a failed check is repeated. */
const RETRY_MS = 60_000;
/** How much longer the pause grows for an agent that stays `Invalid`: up to 32 intervals, 16 h. */
const MAX_BACK_OFF = 5;

/**
 * Checks the agents of a source that are due, healthy ones first, so that those that do not answer
 * cannot delay them. Every agent is checked again, whatever it answered.
 *
 * @param deadline - epoch milliseconds after which no further agent is asked
 * @returns whether more are due
 */
export async function checkHealth(context: HealthContext, deadline: number): Promise<boolean> {
  for (;;) {
    const agents = await dueAgents(context);
    const outcomes = await checkAll(agents, context, deadline);
    if (outcomes.length > 0) await writeOutcomes(context, outcomes);
    if (outcomes.length < agents.length) return true;
    if (agents.length < CHUNK) return false;
  }
}

function dueAgents({ db, sourceId, now }: HealthContext): Promise<DueAgent[]> {
  return db.all<DueAgent>(
    `SELECT e.id, e.agent_identifier, e.api_base_url, e.health, e.rev, h.failures, h.due_at
     FROM (SELECT entry_id, failures, due_at FROM registry_health
           WHERE source_id = ?1 AND due_at <= ?2
           ORDER BY failures >= ${STRIKES}, due_at LIMIT ${CHUNK}) AS h
     JOIN registry_entry AS e ON e.id = h.entry_id`,
    sourceId,
    now(),
  );
}

/**
 * Asks agents until the time is over, those that share an address once. Agents that hang take the
 * time of others, so the results so far must not wait for the rest.
 */
async function checkAll(
  agents: DueAgent[],
  context: HealthContext,
  deadline: number,
): Promise<Outcome[]> {
  const answers = new Map<string, Availability | null>();
  const ask = async (url: string) => {
    if (context.now() < deadline) answers.set(url, await askOne(url, context));
  };
  await pMap(new Set(agents.map((agent) => agent.api_base_url)), ask, {
    concurrency: MAX_CONCURRENT_FETCHES,
  });
  return agents.flatMap((agent) => {
    const answer = answers.get(agent.api_base_url);
    if (answer === undefined) return [];
    return [{ agent, result: answer && judge(answer, agent.agent_identifier) }];
  });
}

/** One check that fails must not lose what the others found. */
async function askOne(
  url: string,
  { outbound, sourceId }: HealthContext,
): Promise<Availability | null> {
  try {
    return await askAvailability(url, outbound);
  } catch (error) {
    log("error", "registry.check_failed", { source: sourceId, url, error: String(error) });
    return null;
  }
}

/**
 * Writes counters, and the status of agents whose health changed. What a transaction did to an
 * agent meanwhile wins: of that agent only the counters are written.
 */
async function writeOutcomes(context: HealthContext, outcomes: Outcome[]): Promise<void> {
  const { db } = context;
  const now = context.now();
  const checks = outcomes.map(({ agent, result }) => judged(agent, result, now, context));
  const changed = checks.filter(({ before, health }) => health !== before);
  await db.batch([...writeHealth(context.network, changed, now), writeCounters(checks, now)]);
}

interface Judged {
  sourceId: string;
  entryId: string;
  rev: number;
  before: Health;
  health: Health;
  isJudged: boolean;
  isSuccess: boolean;
  failures: number;
  /** Epoch milliseconds. */
  wasDueAt: number;
  dueAt: number;
}

/**
 * One success makes an agent Online; three failures in a row make it Offline. A check that failed
 * itself is not counted, and is repeated after a pause.
 */
function judged(
  agent: DueAgent,
  result: Health | null,
  now: number,
  { sourceId, intervalMs }: HealthContext,
): Judged {
  const isJudged = result !== null;
  const isSuccess = result === "Online";
  const failures = isSuccess ? 0 : agent.failures + (isJudged ? 1 : 0);
  const health = isJudged && (isSuccess || failures >= STRIKES) ? result : agent.health;
  return {
    sourceId,
    entryId: agent.id,
    rev: agent.rev,
    before: agent.health,
    health,
    isJudged,
    isSuccess,
    failures,
    wasDueAt: agent.due_at,
    dueAt: now + (isJudged ? pauseAfter(health, failures, intervalMs) : RETRY_MS),
  };
}

/** Milliseconds until the next check; a little random, so that checks spread over time. */
function pauseAfter(health: Health, failures: number, intervalMs: number): number {
  const isUnclear = failures > 0 && failures < STRIKES;
  const backOff =
    health === "Invalid" ? 2 ** Math.min(Math.max(failures - STRIKES, 0), MAX_BACK_OFF) : 1;
  const longest = isUnclear ? Math.min(RETRY_MS, intervalMs) : intervalMs * backOff;
  return Math.round(longest * (0.9 + 0.1 * Math.random()));
}

function writeHealth(network: Network, changed: Judged[], now: number): Statement[] {
  if (changed.length === 0) return [];
  const at = stamp("registry", network, changed.length, "item.key");
  return [
    reserveStamps("registry", network, changed.length, now),
    statement(
      `UPDATE registry_entry SET rev = rev + 1, health = v->>'health', status = v->>'health',
         updated_at = ?, status_updated_at = at
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE registry_entry.id = v->>'entryId' AND registry_entry.rev = v->>'rev'`,
      now,
      ...at.params,
      JSON.stringify(changed),
    ),
  ];
}

/**
 * An agent that was burned or moved while it was asked has another next check by now, and keeps it.
 * The source's id comes with each item: so the items lead to the rows, and not every row to all items.
 */
function writeCounters(checks: Judged[], now: number): Statement {
  return statement(
    `UPDATE registry_health SET checks = checks + (v->>'isJudged'),
       successes = successes + (v->>'isSuccess'),
       last_check_at = iif(v->>'isJudged', ?, last_check_at), failures = iif(due_at = v->>'wasDueAt', v->>'failures', failures),
       due_at = iif(due_at = v->>'wasDueAt', v->>'dueAt', due_at)
     FROM (SELECT item.value AS v FROM json_each(?) AS item)
     WHERE source_id = v->>'sourceId' AND entry_id = v->>'entryId'`,
    now,
    JSON.stringify(checks),
  );
}
